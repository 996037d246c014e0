//! Finds the library file and passes it to the dynamic loader. Reads the environment and the file system.

use crate::elf::{self, ElfMetadata};
use crate::error::{LoadFailedSnafu, MuslSnafu, NotFoundSnafu, OpenError, ReadSnafu, SymbolMissingSnafu};
use snafu::{OptionExt, ResultExt};
use std::ffi::{CStr, CString, c_int, c_void};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

/// Library that a crate has bindings for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Definition {
    /// Name of the project that provides the library, for error messages.
    pub project: &'static str,
    /// File name of the library, which is also its `DT_SONAME`.
    pub file_name: &'static str,
    /// Oldest release that is accepted, for error messages.
    pub oldest: &'static str,
    /// Directories used by installers that do not configure the dynamic loader.
    pub installer_directories: &'static [&'static str],
    /// Visibility of the library's symbols to libraries that are loaded later.
    pub scope: Scope,
}

/// Visibility of a library's symbols to libraries that are loaded later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// `RTLD_LOCAL`.
    Local,
    /// `RTLD_GLOBAL`, for libraries that load plug-ins that need their symbols.
    Global,
}

/// Library to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The library that the dynamic loader finds (in `LD_LIBRARY_PATH`, its cache or its default directories), or else
    /// the library in the directory of a known installer.
    Search,
    /// The file at this path, or the library in the directory at this path. No other location is tried.
    Path(PathBuf),
}

/// Loaded library, which stays loaded until the process exits.
#[derive(Debug)]
pub struct LoadedLibrary {
    definition: Definition,
    handle: *mut c_void,
    /// Name or path that was passed to the loader.
    name: String,
}

/// File that a library was loaded from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedFile {
    /// Path of the file, with symbolic links resolved.
    pub path: PathBuf,
    /// `DT_SONAME` of the file.
    pub soname: Option<String>,
    /// `build-id:...` if the file has a GNU build ID, otherwise `sha256:...` of the file.
    pub build: String,
}

impl Definition {
    /// Finds the library, checks that it can be loaded into this process, and loads it.
    ///
    /// # Errors
    ///
    /// Returns any [`OpenError`] except `SymbolMissing` and `TooOld`.
    pub fn open(&self, source: &Source) -> Result<LoadedLibrary, OpenError> {
        match source {
            Source::Path(path) if path.is_dir() => self.open_file(&path.join(self.file_name)),
            Source::Path(path) => self.open_file(path),
            Source::Search => self.search(),
        }
    }

    /// Opens the file at `path`. Checks its ELF metadata first, because the loader's messages about unsuitable files
    /// are hard to understand.
    fn open_file(&self, path: &Path) -> Result<LoadedLibrary, OpenError> {
        if !path.exists() {
            return self.not_found(vec![path.display().to_string()]);
        }
        if elf::read_elf(path)?.is_musl() {
            return MuslSnafu {
                library: path.display().to_string(),
            }
            .fail();
        }
        let name = path.display().to_string();
        // dlopen treats a name without a slash as a name to search for, so the path must be absolute.
        let path = path.canonicalize().context(ReadSnafu { path })?;
        self.dlopen(path.as_os_str().as_bytes(), &name)
    }

    fn search(&self) -> Result<LoadedLibrary, OpenError> {
        match self.dlopen(self.file_name.as_bytes(), self.file_name) {
            Err(OpenError::LoadFailed { message, .. }) if is_absent(self.file_name, &message) => {}
            other => return other,
        }
        for directory in self.installer_directories {
            let path = Path::new(directory).join(self.file_name);
            if path.exists() {
                return self.open_file(&path);
            }
        }
        let library_path = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
        self.not_found(searched_locations(&library_path, self.installer_directories))
    }

    fn not_found<T>(&self, searched: Vec<String>) -> Result<T, OpenError> {
        NotFoundSnafu {
            file_name: self.file_name,
            project: self.project,
            searched,
        }
        .fail()
    }

    fn dlopen(&self, name: &[u8], display_name: &str) -> Result<LoadedLibrary, OpenError> {
        let Ok(c_name) = CString::new(name) else {
            return LoadFailedSnafu {
                library: display_name,
                message: "its name contains a NUL byte",
            }
            .fail();
        };
        // SAFETY: the name is a C string. The library's constructors run, which the user accepts by selecting the
        // library.
        let handle = unsafe { libc::dlopen(c_name.as_ptr(), self.scope.flags()) };
        if !handle.is_null() {
            return Ok(LoadedLibrary {
                definition: *self,
                handle,
                name: display_name.to_owned(),
            });
        }
        let message = last_error();
        if message.contains("libc.musl") {
            return MuslSnafu { library: message }.fail();
        }
        LoadFailedSnafu {
            library: display_name,
            message,
        }
        .fail()
    }
}

impl Scope {
    fn flags(self) -> c_int {
        libc::RTLD_NOW
            | match self {
                Self::Local => libc::RTLD_LOCAL,
                Self::Global => libc::RTLD_GLOBAL,
            }
    }
}

impl LoadedLibrary {
    /// Name or path that was passed to the loader, for error messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Address of a symbol in the library or in one of its dependencies; `None` if it does not exist. If a version is
    /// given, only a symbol with this version is found.
    pub fn find(&self, symbol: &CStr, version: Option<&CStr>) -> Option<NonNull<c_void>> {
        let address = match version {
            // SAFETY: the handle is open, because a loaded library is never closed, and both strings are C strings.
            Some(version) => unsafe { libc::dlvsym(self.handle, symbol.as_ptr(), version.as_ptr()) },
            // SAFETY: as above.
            None => unsafe { libc::dlsym(self.handle, symbol.as_ptr()) },
        };
        NonNull::new(address)
    }

    /// Like [`Self::find`], for symbols that every accepted release has.
    ///
    /// # Errors
    ///
    /// Returns `SymbolMissing` if the symbol does not exist.
    pub fn require(&self, symbol: &CStr, version: Option<&CStr>) -> Result<NonNull<c_void>, OpenError> {
        self.find(symbol, version).with_context(|| {
            let version = version.map(|version| format!("@{}", version.to_string_lossy()));
            SymbolMissingSnafu {
                library: self.name.clone(),
                symbol: format!("{}{}", symbol.to_string_lossy(), version.unwrap_or_default()),
                project: self.definition.project,
                required: self.definition.oldest,
            }
        })
    }

    /// Identifies the file that contains a symbol.
    ///
    /// # Errors
    ///
    /// Returns an error if the loader does not report the file, or the file cannot be read.
    pub fn file_of(&self, symbol: NonNull<c_void>) -> Result<LoadedFile, OpenError> {
        let path = path_of(symbol.as_ptr(), &self.name)?;
        let ElfMetadata { soname, build, .. } = elf::read_elf(&path)?;
        Ok(LoadedFile { path, soname, build })
    }
}

/// Whether the loader's message reports that the library itself is missing.
///
/// glibc reports "libfabric.so.1: cannot open shared object file: No such file or directory", or the name of a
/// different file if a dependency is missing.
fn is_absent(file_name: &str, message: &str) -> bool {
    message.starts_with(file_name) && message.contains("cannot open shared object file")
}

fn searched_locations(library_path: &str, installer_directories: &[&str]) -> Vec<String> {
    library_path
        .split(':')
        .filter(|directory| !directory.is_empty())
        .map(|directory| format!("{directory} (LD_LIBRARY_PATH)"))
        .chain(["the loader's cache and default directories".to_owned()])
        .chain(
            installer_directories
                .iter()
                .map(|directory| (*directory).to_owned()),
        )
        .collect()
}

fn last_error() -> String {
    // SAFETY: dlerror takes no arguments; its string is valid until the next dl call by this thread.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "the loader reported no reason".to_owned();
    }
    // SAFETY: the pointer is not null, and dlerror returns C strings.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Path of the file that an address was loaded from, with symbolic links resolved.
///
/// The path can differ from the requested path: if a library with the same name is already loaded, the loader returns
/// that library.
fn path_of(address: *const c_void, name: &str) -> Result<PathBuf, OpenError> {
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr accepts any address and writes only to the struct that its second argument points to.
    let known = unsafe { libc::dladdr(address, found.as_mut_ptr()) };
    // SAFETY: the fields are integers and pointers, which are zero or were written by dladdr.
    let found = unsafe { found.assume_init() };
    if known == 0 || found.dli_fname.is_null() {
        return LoadFailedSnafu {
            library: name,
            message: "the loader does not report which file it was loaded from",
        }
        .fail();
    }
    // SAFETY: the pointer is not null, and the C string lives as long as the library.
    let path = unsafe { CStr::from_ptr(found.dli_fname) };
    let path = Path::new(std::ffi::OsStr::from_bytes(path.to_bytes()));
    path.canonicalize().context(ReadSnafu { path })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFINITION: Definition = Definition {
        project: "libfabric",
        file_name: "libfabric.so.1",
        oldest: "1.17",
        installer_directories: &["/opt/amazon/efa/lib"],
        scope: Scope::Local,
    };

    #[test]
    fn tries_only_the_given_path() {
        let error = DEFINITION
            .open(&Source::Path("/nowhere/libfabric.so.1".into()))
            .unwrap_err();
        let OpenError::NotFound { searched, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!(searched, &["/nowhere/libfabric.so.1"]);
        assert!(error.to_string().contains("Install libfabric"), "{error}");
    }

    #[test]
    fn reports_the_path_of_a_missing_file() {
        let directory = tempfile::tempdir().unwrap();
        let error = DEFINITION
            .open(&Source::Path(directory.path().into()))
            .unwrap_err();
        assert!(
            error
                .to_string()
                .contains(&format!("{}/libfabric.so.1", directory.path().display())),
            "{error}"
        );
    }

    #[test]
    fn reports_a_missing_function() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(DEFINITION.file_name);
        let libc = path_of(libc::getpid as *const c_void, "libc").unwrap();
        std::os::unix::fs::symlink(libc, &path).unwrap();
        let loaded = DEFINITION.open(&Source::Path(path)).unwrap();
        assert!(loaded.find(c"getpid", None).is_some());
        let error = loaded.require(c"fi_getinfo", Some(c"FABRIC_1.3")).unwrap_err();
        let message = error.to_string();
        let expected = "has no function fi_getinfo@FABRIC_1.3: it is not libfabric 1.17 or later";
        assert!(message.ends_with(expected), "{message}");
    }

    #[test]
    fn distinguishes_a_missing_dependency_from_a_missing_library() {
        assert!(is_absent(
            "libfabric.so.1",
            "libfabric.so.1: cannot open shared object file: No such file or directory"
        ));
        assert!(!is_absent(
            "libfabric.so.1",
            "libefa.so.1: cannot open shared object file: No such file or directory"
        ));
    }

    #[test]
    fn lists_every_searched_location() {
        let locations = searched_locations("/a::/b", DEFINITION.installer_directories);
        assert_eq!(locations[..2], ["/a (LD_LIBRARY_PATH)", "/b (LD_LIBRARY_PATH)"]);
        assert!(locations.contains(&"/opt/amazon/efa/lib".to_owned()));
    }
}

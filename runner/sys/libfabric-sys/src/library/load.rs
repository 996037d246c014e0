//! Finds the library file and passes it to the dynamic loader. Reads the environment and the file system.

use super::elf;
use super::error::{LoadFailedSnafu, MuslSnafu, NotFoundSnafu, OpenError, ReadSnafu};
use snafu::ResultExt;
use std::ffi::{CStr, CString, c_void};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// File name of every release since 1.0.
const FILE_NAME: &str = "libfabric.so.1";

/// Directories used by installers that do not configure the dynamic loader. The EFA installer uses one of them,
/// depending on the distribution.
const INSTALLER_DIRECTORIES: [&str; 2] = ["/opt/amazon/efa/lib", "/opt/amazon/efa/lib64"];

/// Library to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The library that the dynamic loader finds (in `LD_LIBRARY_PATH`, its cache or its default directories), or else
    /// the library in the directory of a known installer.
    Search,
    /// The file at this path, or `libfabric.so.1` in the directory at this path. No other location is tried.
    Path(PathBuf),
}

/// Handle of a loaded library, and the name or path that was passed to the loader.
pub(super) struct Loaded {
    pub handle: *mut c_void,
    pub name: String,
}

pub(super) fn open(source: &Source) -> Result<Loaded, OpenError> {
    match source {
        Source::Path(path) if path.is_dir() => open_file(&path.join(FILE_NAME)),
        Source::Path(path) => open_file(path),
        Source::Search => search(),
    }
}

/// Opens the file at `path`. Checks its ELF metadata first, because the loader's messages about unsuitable files are
/// hard to understand.
fn open_file(path: &Path) -> Result<Loaded, OpenError> {
    if !path.exists() {
        return NotFoundSnafu {
            searched: vec![path.display().to_string()],
        }
        .fail();
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
    dlopen(path.as_os_str().as_bytes(), &name)
}

fn search() -> Result<Loaded, OpenError> {
    match dlopen(FILE_NAME.as_bytes(), FILE_NAME) {
        Err(OpenError::LoadFailed { message, .. }) if is_absent(&message) => {}
        other => return other,
    }
    for directory in INSTALLER_DIRECTORIES {
        let path = Path::new(directory).join(FILE_NAME);
        if path.exists() {
            return open_file(&path);
        }
    }
    let library_path = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
    NotFoundSnafu {
        searched: searched_locations(&library_path),
    }
    .fail()
}

/// Whether the loader's message reports that the library itself is missing.
///
/// glibc reports "libfabric.so.1: cannot open shared object file: No such file or directory", or the name of another
/// file if a dependency is missing.
fn is_absent(message: &str) -> bool {
    message.starts_with(FILE_NAME) && message.contains("cannot open shared object file")
}

fn searched_locations(library_path: &str) -> Vec<String> {
    library_path
        .split(':')
        .filter(|directory| !directory.is_empty())
        .map(|directory| format!("{directory} (LD_LIBRARY_PATH)"))
        .chain(["the loader's cache and default directories".to_owned()])
        .chain(INSTALLER_DIRECTORIES.map(str::to_owned))
        .collect()
}

fn dlopen(name: &[u8], display_name: &str) -> Result<Loaded, OpenError> {
    let Ok(c_name) = CString::new(name) else {
        return LoadFailedSnafu {
            library: display_name,
            message: "its name contains a NUL byte",
        }
        .fail();
    };
    // SAFETY: the name is a C string. The library's constructors run, which the user accepts by selecting it.
    let handle = unsafe { libc::dlopen(c_name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if !handle.is_null() {
        return Ok(Loaded {
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

fn last_error() -> String {
    // SAFETY: dlerror takes no arguments; its string is valid until the next dl call by this thread.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "the loader reported no reason".to_owned();
    }
    // SAFETY: the pointer is not null, and dlerror returns C strings.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Path of the file that a code address was loaded from, with symbolic links resolved.
///
/// The path can differ from the requested one, because if a library with the same name is already loaded, the loader
/// returns that library.
pub(super) fn path_of(address: *const c_void, name: &str) -> Result<PathBuf, OpenError> {
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

    #[test]
    fn tries_only_the_given_path() {
        let error = crate::Library::open(&Source::Path("/nowhere/libfabric.so.1".into())).unwrap_err();
        let OpenError::NotFound { searched } = &error else {
            panic!("{error}")
        };
        assert_eq!(searched, &["/nowhere/libfabric.so.1"]);
    }

    #[test]
    fn reports_the_path_of_a_missing_file() {
        let directory = tempfile::tempdir().unwrap();
        let error = crate::Library::open(&Source::Path(directory.path().into())).unwrap_err();
        assert!(
            error
                .to_string()
                .contains(&format!("{}/libfabric.so.1", directory.path().display())),
            "{error}"
        );
    }

    #[test]
    fn rejects_another_library_with_the_same_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FILE_NAME);
        let libc = path_of(libc::getpid as *const c_void, "libc").unwrap();
        std::os::unix::fs::symlink(libc, &path).unwrap();
        let error = crate::Library::open(&Source::Path(path)).unwrap_err();
        let OpenError::SymbolMissing { symbol, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!(symbol, "fi_getinfo@FABRIC_1.3");
    }

    #[test]
    fn distinguishes_a_missing_dependency_from_a_missing_library() {
        assert!(is_absent(
            "libfabric.so.1: cannot open shared object file: No such file or directory"
        ));
        assert!(!is_absent(
            "libefa.so.1: cannot open shared object file: No such file or directory"
        ));
    }

    #[test]
    fn lists_every_searched_location() {
        let locations = searched_locations("/a::/b");
        assert_eq!(locations[..2], ["/a (LD_LIBRARY_PATH)", "/b (LD_LIBRARY_PATH)"]);
        assert!(locations.contains(&"/opt/amazon/efa/lib".to_owned()));
    }
}

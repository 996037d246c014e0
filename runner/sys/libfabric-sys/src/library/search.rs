//! Finds the file and hands it to the dynamic loader. Reads the environment and the file system.

use super::error::{MuslSnafu, NotFoundSnafu, OpenError, ReadSnafu, RefusedSnafu};
use super::identity;
use snafu::ResultExt;
use std::ffi::{CStr, CString, c_void};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The name under which every release since 1.0 is installed.
const FILE_NAME: &str = "libfabric.so.1";

/// Where installers put libfabric without telling the loader: the EFA installer, by distribution.
const KNOWN_FOLDERS: [&str; 2] = ["/opt/amazon/efa/lib", "/opt/amazon/efa/lib64"];

/// Which library to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// What the dynamic loader finds (`LD_LIBRARY_PATH`, its cache, its default folders), then the
    /// folders of known installers.
    Search,
    /// This file, or `libfabric.so.1` in this folder; nothing else is tried.
    Path(PathBuf),
}

/// A library that the loader took, and the name it was asked for by.
pub(super) struct Opened {
    pub handle: *mut c_void,
    pub name: String,
}

pub(super) fn open(source: &Source) -> Result<Opened, OpenError> {
    match source {
        Source::Path(path) if path.is_dir() => open_file(&path.join(FILE_NAME)),
        Source::Path(path) => open_file(path),
        Source::Search => search(),
    }
}

/// The header is read first: the loader's own words for a foreign file are hard to understand.
fn open_file(path: &Path) -> Result<Opened, OpenError> {
    if !path.exists() {
        return NotFoundSnafu {
            looked_in: vec![path.display().to_string()],
        }
        .fail();
    }
    if identity::read_elf(path)?.is_musl() {
        return MuslSnafu {
            library: path.display().to_string(),
        }
        .fail();
    }
    let name = path.display().to_string();
    // dlopen searches for a name without a slash, which is not what a path means.
    let path = path.canonicalize().context(ReadSnafu { path })?;
    dlopen(path.as_os_str().as_bytes(), &name)
}

fn search() -> Result<Opened, OpenError> {
    match dlopen(FILE_NAME.as_bytes(), FILE_NAME) {
        Err(OpenError::Refused { message, .. }) if is_absent(&message) => {}
        other => return other,
    }
    for folder in KNOWN_FOLDERS {
        let path = Path::new(folder).join(FILE_NAME);
        if path.exists() {
            return open_file(&path);
        }
    }
    let environment = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
    NotFoundSnafu {
        looked_in: looked_in(&environment),
    }
    .fail()
}

/// glibc says "libfabric.so.1: cannot open shared object file: No such file or directory", and names
/// another file where it is a dependency that is missing.
fn is_absent(message: &str) -> bool {
    message.starts_with(FILE_NAME) && message.contains("cannot open shared object file")
}

fn looked_in(environment: &str) -> Vec<String> {
    environment
        .split(':')
        .filter(|folder| !folder.is_empty())
        .map(|folder| format!("{folder} (LD_LIBRARY_PATH)"))
        .chain(["the loader's cache and default folders".to_owned()])
        .chain(KNOWN_FOLDERS.map(str::to_owned))
        .collect()
}

fn dlopen(name: &[u8], shown: &str) -> Result<Opened, OpenError> {
    let Ok(c_name) = CString::new(name) else {
        return RefusedSnafu {
            library: shown,
            message: "its name holds a zero byte",
        }
        .fail();
    };
    // SAFETY: a C string. Constructors of the library run; running it is what opening it is for.
    let handle = unsafe { libc::dlopen(c_name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if !handle.is_null() {
        return Ok(Opened {
            handle,
            name: shown.to_owned(),
        });
    }
    let message = last_error();
    if message.contains("libc.musl") {
        return MuslSnafu { library: message }.fail();
    }
    RefusedSnafu {
        library: shown,
        message,
    }
    .fail()
}

fn last_error() -> String {
    // SAFETY: dlerror takes nothing; its string is good until the next dl call of this thread.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "it gave no reason".to_owned();
    }
    // SAFETY: not null, and a C string by its contract.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The file that a code address was loaded from, with links resolved. What was asked for may be another
/// file: the loader answers a second request for the same name with the library it already has.
pub(super) fn path_of(address: *const c_void, name: &str) -> Result<PathBuf, OpenError> {
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr takes any address and fills in what it is given.
    let known = unsafe { libc::dladdr(address, found.as_mut_ptr()) };
    // SAFETY: integers and pointers, zero or as dladdr wrote them.
    let found = unsafe { found.assume_init() };
    if known == 0 || found.dli_fname.is_null() {
        return RefusedSnafu {
            library: name,
            message: "it does not say which file it was loaded from",
        }
        .fail();
    }
    // SAFETY: not null, and a C string that lives as long as the library.
    let path = unsafe { CStr::from_ptr(found.dli_fname) };
    let path = Path::new(std::ffi::OsStr::from_bytes(path.to_bytes()));
    path.canonicalize().context(ReadSnafu { path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_does_not_exist_is_named_and_nothing_else_is_tried() {
        let error = crate::Library::open(&Source::Path("/nowhere/libfabric.so.1".into())).unwrap_err();
        let OpenError::NotFound { looked_in } = &error else {
            panic!("{error}")
        };
        assert_eq!(looked_in, &["/nowhere/libfabric.so.1"]);
    }

    #[test]
    fn a_folder_without_the_library_names_the_file_it_lacks() {
        let folder = tempfile::tempdir().unwrap();
        let error = crate::Library::open(&Source::Path(folder.path().into())).unwrap_err();
        assert!(
            error
                .to_string()
                .contains(&format!("{}/libfabric.so.1", folder.path().display())),
            "{error}"
        );
    }

    #[test]
    fn another_library_by_that_name_lacks_the_functions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        let libc = path_of(libc::getpid as *const c_void, "libc").unwrap();
        std::os::unix::fs::symlink(libc, &path).unwrap();
        let error = crate::Library::open(&Source::Path(path)).unwrap_err();
        let OpenError::SymbolMissing { symbol, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!(symbol, "fi_getinfo@FABRIC_1.3");
    }

    #[test]
    fn a_missing_dependency_is_not_a_missing_library() {
        assert!(is_absent(
            "libfabric.so.1: cannot open shared object file: No such file or directory"
        ));
        assert!(!is_absent(
            "libefa.so.1: cannot open shared object file: No such file or directory"
        ));
    }

    #[test]
    fn says_every_place_that_was_searched() {
        let places = looked_in("/a::/b");
        assert_eq!(places[..2], ["/a (LD_LIBRARY_PATH)", "/b (LD_LIBRARY_PATH)"]);
        assert!(places.contains(&"/opt/amazon/efa/lib".to_owned()));
    }
}

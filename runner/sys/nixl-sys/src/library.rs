//! Opens `libnixl_capi.so` and identifies it. Opening loads code into the process; plug-ins are loaded when an agent is
//! created.

use crate::functions::Functions;
use shared_library::{Definition, LoadedFile, OpenError, Scope, Source};
use std::fs;
use std::path::{Path, PathBuf};

/// Where to find NIXL. The local scope is sufficient, because NIXL loads its plug-ins by path, and the dependencies of
/// each plug-in provide the symbols that the plug-in needs.
const DEFINITION: Definition = Definition {
    project: "NIXL",
    file_name: "libnixl_capi.so",
    oldest: "1.4",
    installer_directories: &[
        "/opt/nvidia/nvda_nixl/lib/x86_64-linux-gnu",
        "/opt/nvidia/nvda_nixl/lib/aarch64-linux-gnu",
        "/usr/local/nixl/lib/x86_64-linux-gnu",
        "/usr/local/nixl/lib/aarch64-linux-gnu",
    ],
    scope: Scope::Local,
};

/// Suffix of the directory that contains a wheel's libraries, next to its package: `.nixl_cu12.mesonpy.libs`.
const WHEEL_DIRECTORY: &str = ".mesonpy.libs";

/// Identity of the loaded library, as recorded with every result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Path of the library file, with symbolic links resolved.
    pub path: PathBuf,
    /// `build-id:...` if the file has a GNU build ID, otherwise `sha256:...` of the file.
    pub build: String,
    /// Version of the Python package that contains the file; `None` if the file is not part of a package. The interface
    /// does not report a version.
    pub version: Option<String>,
}

/// An open library. Several threads may use it, because it contains only code addresses and immutable data.
#[derive(Debug)]
pub struct Library {
    functions: Functions,
    identity: Identity,
}

impl Library {
    /// Opens the library, rejects it if it lacks a function, and reads its identity. A directory must contain the
    /// library or be the directory into which a wheel was installed.
    ///
    /// # Errors
    ///
    /// Returns any [`OpenError`] except `TooOld`.
    pub fn open(source: &Source) -> Result<Self, OpenError> {
        let loaded = DEFINITION.open(&resolve_wheel(source))?;
        let functions = Functions::resolve(&loaded)?;
        let LoadedFile { path, build, .. } = loaded.file_of(loaded.require(c"nixl_capi_is_stub", None)?)?;
        // SAFETY: the function has no parameters and returns a constant.
        if unsafe { (functions.is_stub)() } {
            return Err(OpenError::LoadFailed {
                library: loaded.name().to_owned(),
                message:
                    "it is the NIXL stub, which terminates the process on the first call: install NIXL itself"
                        .to_owned(),
            });
        }
        let version = path.parent().and_then(wheel_version);
        Ok(Self {
            functions,
            identity: Identity { path, build, version },
        })
    }

    /// Identity of this library.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Functions of this library.
    #[inline]
    pub fn functions(&self) -> &Functions {
        &self.functions
    }
}

/// Returns the directory that contains a wheel's libraries, if `source` is a directory that contains a wheel instead of
/// the library. Otherwise, returns `source`.
fn resolve_wheel(source: &Source) -> Source {
    if let Source::Path(directory) = source
        && directory.is_dir()
        && !directory.join(DEFINITION.file_name).exists()
        && let Some(libraries) = entries(directory).find(|name| name.ends_with(WHEEL_DIRECTORY))
    {
        return Source::Path(directory.join(libraries));
    }
    source.clone()
}

/// Returns the version in the name of the `nixl_cu12-1.5.1.dist-info` directory next to the directory that contains the
/// libraries.
fn wheel_version(libraries: &Path) -> Option<String> {
    let name = libraries.file_name()?.to_str()?;
    let package = name.strip_suffix(WHEEL_DIRECTORY)?.trim_start_matches('.');
    let prefix = format!("{package}-");
    entries(libraries.parent()?).find_map(|name| {
        let version = name.strip_prefix(&prefix)?.strip_suffix(".dist-info")?;
        Some(version.to_owned())
    })
}

/// Names of the entries in a directory; empty if it cannot be read.
fn entries(directory: &Path) -> impl Iterator<Item = String> {
    fs::read_dir(directory)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_libraries_and_version_of_a_wheel() {
        let directory = tempfile::tempdir().unwrap();
        let libraries = directory.path().join(".nixl_cu12.mesonpy.libs");
        fs::create_dir(&libraries).unwrap();
        fs::create_dir(directory.path().join("nixl_cu12-1.5.1.dist-info")).unwrap();
        fs::create_dir(directory.path().join("numpy-2.0.dist-info")).unwrap();
        let source = Source::Path(directory.path().into());
        assert_eq!(resolve_wheel(&source), Source::Path(libraries.clone()));
        assert_eq!(wheel_version(&libraries).as_deref(), Some("1.5.1"));
        assert_eq!(wheel_version(directory.path()), None);
        fs::write(directory.path().join(DEFINITION.file_name), "").unwrap();
        assert_eq!(resolve_wheel(&source), source);
    }

    /// A library that lacks the last function is rejected before any call, and the error names the function.
    #[test]
    fn rejects_a_library_that_lacks_a_function() {
        let directory = tempfile::tempdir().unwrap();
        let Some((last, others)) = Functions::NAMES.split_last() else {
            panic!("no functions")
        };
        let source: String = others
            .iter()
            .map(|name| format!("int {name}(void) {{ return 0; }}\n"))
            .collect();
        let Some(path) = compile(directory.path(), &source) else {
            return;
        };
        let error = Library::open(&Source::Path(path)).unwrap_err().to_string();
        assert!(
            error.ends_with(&format!("has no function {last}: it is not NIXL 1.4 or later")),
            "{error}"
        );
    }

    #[test]
    fn rejects_the_stub() {
        let directory = tempfile::tempdir().unwrap();
        let stub = |name: &&str| {
            format!(
                "int {name}(void) {{ return {}; }}\n",
                i32::from(name.ends_with("is_stub"))
            )
        };
        let source: String = Functions::NAMES.iter().map(stub).collect();
        let Some(path) = compile(directory.path(), &source) else {
            return;
        };
        let error = Library::open(&Source::Path(path)).unwrap_err().to_string();
        assert!(error.contains("it is the NIXL stub"), "{error}");
    }

    /// Compiles a shared object in `directory`. Prints a message and returns `None` if there is no C compiler.
    fn compile(directory: &Path, source: &str) -> Option<PathBuf> {
        let (input, output) = (directory.join("library.c"), directory.join("libfake.so"));
        fs::write(&input, source).unwrap();
        let mut command = std::process::Command::new("cc");
        command.args(["-shared", "-fPIC", "-o"]).arg(&output).arg(&input);
        match command.status() {
            Ok(status) => {
                assert!(status.success());
                Some(output)
            }
            Err(error) => {
                println!("skipped: there is no C compiler: {error}");
                None
            }
        }
    }
}

//! Opens `libucp.so.0` and identifies it. Opening loads code into the process and runs the library's constructors, which
//! read the environment (log, signals, memory hooks); devices are opened when a context is created.

mod functions;
mod settings;
mod version;

pub use functions::Functions;
pub use settings::SettingsFunctions;
pub use version::Version;

use crate::bindings::{
    UCP_API_MAJOR, UCP_API_MINOR, ucp_config_t, ucp_context_h, ucp_params_t, ucs_status_t,
};
use shared_library::{Definition, LoadedFile, OpenError, Scope, Source, TooOldSnafu};
use std::ffi::{CStr, c_uint};
use std::path::PathBuf;

/// Where to find UCX. UCX's own plug-ins need its symbols. It must not be opened with `RTLD_DEEPBIND`: libucs imports
/// `environ` through a copy relocation, and creating a worker would crash.
const DEFINITION: Definition = Definition {
    project: "UCX",
    file_name: "libucp.so.0",
    oldest: "1.13",
    installer_directories: &[],
    scope: Scope::Global,
};

/// Release of the headers that the bindings were generated from. An older library is rejected.
const OLDEST: Version = Version::new(1, 13, 0);

/// Identity of the loaded library, as recorded with every result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Path of the library file, with symbolic links resolved.
    pub path: PathBuf,
    /// `DT_SONAME` of the file.
    pub soname: Option<String>,
    /// `build-id:...` if the file has a GNU build ID, otherwise `sha256:...` of the file.
    pub build: String,
    /// Release of the library, from `ucp_get_version`.
    pub version: Version,
}

/// An open UCX library. Several threads may use it, because it contains only code addresses and immutable data.
#[derive(Debug)]
pub struct Library {
    functions: Functions,
    settings: Option<SettingsFunctions>,
    identity: Identity,
}

impl Library {
    /// Opens the library, rejects it if it is incompatible with these bindings, and reads its identity.
    ///
    /// # Errors
    ///
    /// Returns any [`OpenError`]: the library was not found, is built for a different CPU architecture or for musl, was
    /// rejected by the dynamic loader, lacks a function, is older than 1.13, or was mixed with the libraries of another
    /// UCX installation.
    pub fn open(source: &Source) -> Result<Self, OpenError> {
        let loaded = DEFINITION.open(source)?;
        let functions = Functions::resolve(&loaded)?;
        let settings = SettingsFunctions::resolve(&loaded);
        let file = loaded.file_of(loaded.require(c"ucp_get_version", None)?)?;
        let support = loaded.file_of(loaded.require(c"ucs_status_string", None)?)?;
        check_directories(&file, &support, loaded.name())?;
        let version = functions.version();
        check_version(version, &file)?;
        let LoadedFile { path, soname, build } = file;
        let identity = Identity {
            path,
            soname,
            build,
            version,
        };
        Ok(Self {
            functions,
            settings,
            identity,
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

    /// Functions that list the settings of all loaded modules; `None` if the library does not export them.
    pub fn settings_functions(&self) -> Option<SettingsFunctions> {
        self.settings
    }

    /// Returns UCX's description of a status.
    pub fn status_message(&self, status: ucs_status_t) -> String {
        // SAFETY: ucs_status_string accepts any status and returns a string that lives as long as the library, or, for
        // unknown values, a string in a buffer that belongs to the calling thread.
        let text = unsafe { (self.functions.ucs_status_string)(status) };
        if text.is_null() {
            return format!("status {status}");
        }
        // SAFETY: the pointer is not null, and the C string is copied before the next call.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }

    /// `ucp_init`, with the API version of the bindings. The C headers define `ucp_init` as an inline function.
    ///
    /// # Safety
    ///
    /// `params` must be valid, and `config` must come from `ucp_config_read` of this library and not be released.
    pub unsafe fn init(
        &self,
        params: &ucp_params_t,
        config: *const ucp_config_t,
        context: &mut ucp_context_h,
    ) -> ucs_status_t {
        let (major, minor) = (UCP_API_MAJOR as c_uint, UCP_API_MINOR as c_uint);
        // SAFETY: the caller fulfills the contract above, and `context` has room for one pointer.
        unsafe { (self.functions.ucp_init_version)(major, minor, params, config, context) }
    }
}

/// Checks that the bindings describe this release.
fn check_version(version: Version, file: &LoadedFile) -> Result<(), OpenError> {
    if version >= OLDEST {
        return Ok(());
    }
    TooOldSnafu {
        path: &file.path,
        project: DEFINITION.project,
        found: version.to_string(),
        required: DEFINITION.oldest,
    }
    .fail()
}

/// Checks that libucs comes from the same directory as libucp.
///
/// The loader identifies libraries by name. If the process has already loaded another UCX, or the library has no
/// separate search path, libucp would be combined with libucs from another release and crash.
fn check_directories(file: &LoadedFile, support: &LoadedFile, name: &str) -> Result<(), OpenError> {
    if file.path.parent() == support.path.parent() {
        return Ok(());
    }
    Err(OpenError::LoadFailed {
        library: name.to_owned(),
        message: format!(
            "it is combined with {} from another UCX installation: use one UCX per process, and set LD_LIBRARY_PATH \
             to the directory of libucp.so.0",
            support.path.display()
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_a_release_that_is_older_than_the_bindings() {
        let file = LoadedFile {
            path: "/opt/ucx/lib/libucp.so.0".into(),
            soname: None,
            build: String::new(),
        };
        for version in [
            Version::new(1, 13, 0),
            Version::new(1, 22, 1),
            Version::new(2, 0, 0),
        ] {
            assert!(check_version(version, &file).is_ok(), "{version}");
        }
        for version in [Version::new(1, 12, 9), Version::new(0, 99, 0)] {
            let message = check_version(version, &file).unwrap_err().to_string();
            for part in ["/opt/ucx/lib/libucp.so.0", "UCX", "1.13", &version.to_string()] {
                assert!(message.contains(part), "{part}: {message}");
            }
        }
        assert_eq!(DEFINITION.oldest, format!("{}.{}", 1, 13));
    }

    #[test]
    fn rejects_a_mixture_of_two_installations() {
        let file = |path: &str| LoadedFile {
            path: path.into(),
            soname: None,
            build: String::new(),
        };
        let check = |one, other| check_directories(&file(one), &file(other), "libucp.so.0");
        assert!(check("/a/libucp.so.0.0.0", "/a/libucs.so.0.0.0").is_ok());
        let message = check("/a/libucp.so.0", "/b/libucs.so.0").unwrap_err().to_string();
        assert!(
            message.contains("/b/libucs.so.0 from another UCX installation"),
            "{message}"
        );
    }
}

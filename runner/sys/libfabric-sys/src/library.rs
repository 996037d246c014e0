//! Opens `libfabric.so.1` and identifies it. Opening loads code into the process and runs the library's
//! constructors; providers are initialized by the first `fi_getinfo`.

mod functions;
mod parameters;
mod providers;
mod version;

pub use parameters::{Parameter, ParameterKind};
pub use providers::Provider;
pub use version::Version;

use crate::bindings::{fi_fabric_attr, fi_info, fid_fabric};
use functions::Functions;
use shared_library::{Definition, LoadedFile, OpenError, Scope, Source, TooOldSnafu};
use std::ffi::{CStr, c_char, c_int};
use std::path::PathBuf;

/// Where to find libfabric. The EFA installer uses one of the two directories, depending on the distribution.
const DEFINITION: Definition = Definition {
    project: "libfabric",
    file_name: "libfabric.so.1",
    oldest: "1.17",
    installer_directories: &["/opt/amazon/efa/lib", "/opt/amazon/efa/lib64"],
    scope: Scope::Local,
};

/// Release of the headers that the bindings were generated from. An older library is rejected.
const OLDEST: Version = Version::new(1, 17);

/// Newest API version that this crate was reviewed against. Newer libraries are also opened with this version.
const NEWEST_API: Version = Version::new(2, 6);

/// Identity of the loaded library, as recorded with every result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Path of the library file, with symbolic links resolved.
    pub path: PathBuf,
    /// `DT_SONAME` of the file.
    pub soname: Option<String>,
    /// `build-id:...` if the file has a GNU build ID, otherwise `sha256:...` of the file.
    pub build: String,
    /// Release of the library, from `fi_version`.
    pub version: Version,
    /// Requested API version: the newest that both the library and this crate support.
    pub api: Version,
    /// Symbol version of the `fi_getinfo` function that is called.
    pub symbols: String,
}

/// An open libfabric library. Several threads may use it, because it contains only code addresses and immutable data.
#[derive(Debug)]
pub struct Library {
    functions: Functions,
    identity: Identity,
}

impl Library {
    /// Opens the library, rejects it if it is incompatible with these bindings, and reads its identity.
    ///
    /// # Errors
    ///
    /// Returns any [`OpenError`]: the library was not found, is built for a different CPU architecture or for musl, was
    /// rejected by the dynamic loader, lacks a function, or is older than 1.17.
    pub fn open(source: &Source) -> Result<Self, OpenError> {
        let loaded = DEFINITION.open(source)?;
        let functions = Functions::resolve(&loaded)?;
        let symbol = loaded.require(c"fi_getinfo", Some(functions.info_version))?;
        let LoadedFile { path, soname, build } = loaded.file_of(symbol)?;
        // SAFETY: fi_version takes no arguments and returns a library constant.
        let version = Version::from_packed(unsafe { (functions.version)() });
        if version < OLDEST {
            return TooOldSnafu {
                path,
                project: DEFINITION.project,
                found: version.to_string(),
                required: DEFINITION.oldest,
            }
            .fail();
        }
        let identity = Identity {
            path,
            soname,
            build,
            version,
            api: version.min(NEWEST_API),
            symbols: functions.info_version.to_string_lossy().into_owned(),
        };
        Ok(Self { functions, identity })
    }

    /// Identity of this library.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Returns libfabric's description of an error number. The sign of the number does not matter.
    pub fn error_message(&self, number: c_int) -> String {
        // SAFETY: fi_strerror accepts any number and returns a string that lives as long as the library.
        let text = unsafe { (self.functions.strerror)(number.saturating_abs()) };
        if text.is_null() {
            return format!("error {number}");
        }
        // SAFETY: the pointer is not null, and fi_strerror returns C strings.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }

    /// Allocates an `fi_info` of the size that the library uses, with all attributes attached and zeroed.
    ///
    /// Returns null if memory is exhausted. Free it with [`Self::free_info`].
    pub fn allocate_info(&self) -> *mut fi_info {
        // SAFETY: fi_dupinfo(NULL) is the documented way to allocate an fi_info (fi_getinfo(3)).
        unsafe { (self.functions.dupinfo)(std::ptr::null()) }
    }

    /// `fi_dupinfo`: copies one entry, without the entries that follow it in its list.
    ///
    /// Returns null if memory is exhausted.
    ///
    /// # Safety
    ///
    /// `info` must be null, or come from this library and not have been freed.
    pub unsafe fn duplicate_info(&self, info: *const fi_info) -> *mut fi_info {
        // SAFETY: the caller guarantees that the pointer is null or a live info of this library.
        unsafe { (self.functions.dupinfo)(info) }
    }

    /// `fi_freeinfo`: frees the entire list.
    ///
    /// # Safety
    ///
    /// `info` must be null, or come from this library, not have been freed, and not be used after the call. Strings and
    /// addresses stored in it must be allocated with `malloc`, because they are freed with C's `free`.
    pub unsafe fn free_info(&self, info: *mut fi_info) {
        if !info.is_null() {
            // SAFETY: the caller guarantees that the list came from this library and is not used afterwards.
            unsafe { (self.functions.freeinfo)(info) };
        }
    }

    /// `fi_getinfo` at the API version [`Identity::api`]. Returns 0 or a negative error number.
    ///
    /// # Safety
    ///
    /// `node` and `service` must be null or C strings. `hints` must be null or come from
    /// [`Self::allocate_info`] or [`Self::duplicate_info`], so that it has the size that this library reads.
    pub unsafe fn get_info(
        &self,
        node: *const c_char,
        service: *const c_char,
        flags: u64,
        hints: *const fi_info,
        found: &mut *mut fi_info,
    ) -> c_int {
        // SAFETY: the caller fulfills the contract above, and `found` has room for one pointer.
        unsafe { (self.functions.getinfo)(self.identity.api.packed(), node, service, flags, hints, found) }
    }

    /// `fi_fabric`. Returns 0 or a negative error number.
    ///
    /// # Safety
    ///
    /// `attr` must belong to an `fi_info` of this library.
    pub unsafe fn open_fabric(&self, attr: *mut fi_fabric_attr, fabric: &mut *mut fid_fabric) -> c_int {
        // SAFETY: the caller guarantees the origin of `attr`, and `fabric` has room for one pointer.
        unsafe { (self.functions.fabric)(attr, fabric, std::ptr::null_mut()) }
    }
}

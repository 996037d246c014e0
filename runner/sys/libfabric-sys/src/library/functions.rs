//! Resolves the exported functions, each with the symbol version that the rest of the crate relies on.

use super::parameters;
use crate::bindings::{fi_fabric_attr, fi_info, fid_fabric};
use shared_library::{LoadedLibrary, OpenError};
use std::ffi::{CStr, c_char, c_int, c_void};

/// Symbol versions of `fi_getinfo`, `fi_dupinfo` and `fi_freeinfo`, newest first, up to the last release that this
/// crate was reviewed against (2.6).
///
/// A newer library keeps all older versions; an older library lacks the newer ones. The same version is used for all
/// three functions, because they exchange structs.
const INFO_VERSIONS: [&CStr; 4] = [c"FABRIC_1.9", c"FABRIC_1.8", c"FABRIC_1.7", OLDEST_USABLE];

/// Oldest symbol version whose structs match the 1.17 headers. Earlier versions lack `tclass`.
const OLDEST_USABLE: &CStr = c"FABRIC_1.3";

type GetInfo =
    unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const fi_info, *mut *mut fi_info) -> c_int;

type DupInfo = unsafe extern "C" fn(*const fi_info) -> *mut fi_info;
type FreeInfo = unsafe extern "C" fn(*mut fi_info);
type OpenFabric = unsafe extern "C" fn(*mut fi_fabric_attr, *mut *mut fid_fabric, *mut c_void) -> c_int;
type GetVersion = unsafe extern "C" fn() -> u32;
type GetErrorMessage = unsafe extern "C" fn(c_int) -> *const c_char;

/// Functions that the library exports: code addresses in a library that is never unloaded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Functions {
    pub info_version: &'static CStr,
    pub getinfo: GetInfo,
    pub dupinfo: DupInfo,
    pub freeinfo: FreeInfo,
    pub fabric: OpenFabric,
    pub version: GetVersion,
    pub strerror: GetErrorMessage,
    pub parameters: parameters::Functions,
}

impl Functions {
    /// Resolves all functions in an open library.
    pub(super) fn resolve(loaded: &LoadedLibrary) -> Result<Self, OpenError> {
        let require = |name: &CStr, version: &CStr| {
            let address = loaded.require(name, Some(version));
            address.map(std::ptr::NonNull::as_ptr)
        };
        let info_version = INFO_VERSIONS
            .into_iter()
            .find(|version| loaded.find(c"fi_getinfo", Some(version)).is_some())
            .unwrap_or(OLDEST_USABLE);
        let (getinfo, dupinfo, freeinfo) = (
            require(c"fi_getinfo", info_version)?,
            require(c"fi_dupinfo", info_version)?,
            require(c"fi_freeinfo", info_version)?,
        );
        let fabric = require(c"fi_fabric", c"FABRIC_1.1")?;
        let version = require(c"fi_version", c"FABRIC_1.0")?;
        let strerror = require(c"fi_strerror", c"FABRIC_1.0")?;
        let (get_parameters, free_parameters) = (
            require(c"fi_getparams", c"FABRIC_1.0")?,
            require(c"fi_freeparams", c"FABRIC_1.0")?,
        );
        Ok(Self {
            info_version,
            // SAFETY: this is the address of the C function with this name, which rdma/fabric.h declares with this type.
            getinfo: unsafe { std::mem::transmute::<*mut c_void, GetInfo>(getinfo) },
            // SAFETY: as above.
            dupinfo: unsafe { std::mem::transmute::<*mut c_void, DupInfo>(dupinfo) },
            // SAFETY: as above.
            freeinfo: unsafe { std::mem::transmute::<*mut c_void, FreeInfo>(freeinfo) },
            // SAFETY: as above; symbol version 1.1 of the function reads `api_version` from the attribute.
            fabric: unsafe { std::mem::transmute::<*mut c_void, OpenFabric>(fabric) },
            // SAFETY: as above.
            version: unsafe { std::mem::transmute::<*mut c_void, GetVersion>(version) },
            // SAFETY: as above.
            strerror: unsafe { std::mem::transmute::<*mut c_void, GetErrorMessage>(strerror) },
            // SAFETY: these are the addresses of the two functions in one library, which is never unloaded.
            parameters: unsafe { parameters::Functions::new(get_parameters, free_parameters) },
        })
    }
}

//! The exported functions, each with the symbol version that the rest of the code may rely on.

use super::error::{OpenError, SymbolMissingSnafu};
use crate::bindings::{fi_fabric_attr, fi_info, fid_fabric};
use snafu::OptionExt;
use std::ffi::{CStr, c_char, c_int, c_void};

/// Symbol versions of `fi_getinfo`, `fi_dupinfo` and `fi_freeinfo`, newest first, up to the last release
/// whose headers were read (2.6). A newer library keeps all older ones; an older one lacks the newer.
/// The three are always taken at the same version, for they hand each other the same structs.
const INFO_VERSIONS: [&CStr; 4] = [c"FABRIC_1.9", c"FABRIC_1.8", c"FABRIC_1.7", OLDEST_USABLE];

/// The version whose structs are those of the 1.17 headers; those before it lack `tclass`.
const OLDEST_USABLE: &CStr = c"FABRIC_1.3";

type GetInfo =
    unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const fi_info, *mut *mut fi_info) -> c_int;

type DupInfo = unsafe extern "C" fn(*const fi_info) -> *mut fi_info;
type FreeInfo = unsafe extern "C" fn(*mut fi_info);
type OpenFabric = unsafe extern "C" fn(*mut fi_fabric_attr, *mut *mut fid_fabric, *mut c_void) -> c_int;
type GetVersion = unsafe extern "C" fn() -> u32;
type ErrorText = unsafe extern "C" fn(c_int) -> *const c_char;

/// What the library exports. All are plain code addresses in a library that is never unloaded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Functions {
    pub info_version: &'static CStr,
    pub getinfo: GetInfo,
    pub dupinfo: DupInfo,
    pub freeinfo: FreeInfo,
    pub fabric: OpenFabric,
    pub version: GetVersion,
    pub strerror: ErrorText,
}

impl Functions {
    /// Looks all of them up in an open library.
    ///
    /// # Safety
    ///
    /// `handle` comes from `dlopen` and is never closed.
    pub(super) unsafe fn find(handle: *mut c_void, library: &str) -> Result<Self, OpenError> {
        let at = |name: &CStr, version: &CStr| {
            // SAFETY: the handle is open, both strings end in zero.
            let address = unsafe { libc::dlvsym(handle, name.as_ptr(), version.as_ptr()) };
            (!address.is_null()).then_some(address)
        };
        let need = |name: &CStr, version: &CStr| {
            at(name, version).with_context(|| SymbolMissingSnafu {
                library,
                symbol: format!("{}@{}", name.to_string_lossy(), version.to_string_lossy()),
            })
        };
        let info_version = INFO_VERSIONS
            .into_iter()
            .find(|version| at(c"fi_getinfo", version).is_some())
            .unwrap_or(OLDEST_USABLE);
        let (getinfo, dupinfo, freeinfo) = (
            need(c"fi_getinfo", info_version)?,
            need(c"fi_dupinfo", info_version)?,
            need(c"fi_freeinfo", info_version)?,
        );
        let fabric = need(c"fi_fabric", c"FABRIC_1.1")?;
        let version = need(c"fi_version", c"FABRIC_1.0")?;
        let strerror = need(c"fi_strerror", c"FABRIC_1.0")?;
        Ok(Self {
            info_version,
            // SAFETY: the address is that of the C function of this name, declared so in rdma/fabric.h.
            getinfo: unsafe { std::mem::transmute::<*mut c_void, GetInfo>(getinfo) },
            // SAFETY: as above.
            dupinfo: unsafe { std::mem::transmute::<*mut c_void, DupInfo>(dupinfo) },
            // SAFETY: as above.
            freeinfo: unsafe { std::mem::transmute::<*mut c_void, FreeInfo>(freeinfo) },
            // SAFETY: as above; version 1.1 is the one that takes `api_version` in the attribute.
            fabric: unsafe { std::mem::transmute::<*mut c_void, OpenFabric>(fabric) },
            // SAFETY: as above.
            version: unsafe { std::mem::transmute::<*mut c_void, GetVersion>(version) },
            // SAFETY: as above.
            strerror: unsafe { std::mem::transmute::<*mut c_void, ErrorText>(strerror) },
        })
    }
}

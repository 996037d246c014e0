//! Lists a library's providers, whether or not this machine has a device for them.

use super::Library;
use super::version::Version;
use crate::bindings::{FI_PROV_ATTR_ONLY, fi_info};
use std::ffi::{CStr, c_int};

/// Provider that the library lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// Provider name, from `fi_fabric_attr.prov_name`.
    pub name: String,
    /// Provider version.
    pub version: Version,
}

impl Library {
    /// Lists the registered providers in the library's order of preference.
    ///
    /// The call initializes all providers, so environment variables for libfabric (`FI_PROVIDER`, `FI_EFA_*`) must be
    /// set before the call.
    ///
    /// # Errors
    ///
    /// Returns the `fi_getinfo` error as a positive number.
    pub fn providers(&self) -> Result<Vec<Provider>, c_int> {
        let mut list: *mut fi_info = std::ptr::null_mut();
        // SAFETY: FI_PROV_ATTR_ONLY allows null strings and null hints.
        let code = unsafe {
            self.get_info(
                std::ptr::null(),
                std::ptr::null(),
                FI_PROV_ATTR_ONLY,
                std::ptr::null(),
                &mut list,
            )
        };
        if code != 0 {
            return Err(-code);
        }
        let mut providers = Vec::new();
        let mut entry = list;
        // SAFETY: `entry` is null or an entry of the list that `fi_getinfo` returned, whose last entry has a null next
        // pointer.
        while let Some(info) = unsafe { entry.as_ref() } {
            // SAFETY: `info` is an entry of the list, which is not yet freed.
            if let Some(provider) = unsafe { provider(info) } {
                providers.push(provider);
            }
            entry = info.next;
        }
        // SAFETY: the list came from this library and is not used afterwards.
        unsafe { self.free_info(list) };
        Ok(providers)
    }
}

/// # Safety
///
/// `info` must be an entry that libfabric filled in and that has not been freed.
unsafe fn provider(info: &fi_info) -> Option<Provider> {
    // SAFETY: the caller guarantees a live entry, whose pointer is null or valid.
    let attr = unsafe { info.fabric_attr.as_ref() }?;
    if attr.prov_name.is_null() {
        return None;
    }
    // SAFETY: the pointer is not null, so it is a C string that the library owns.
    let name = unsafe { CStr::from_ptr(attr.prov_name) };
    Some(Provider {
        name: name.to_string_lossy().into_owned(),
        version: Version::from_packed(attr.prov_version),
    })
}

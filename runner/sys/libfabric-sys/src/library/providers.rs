//! The providers that a library has, whether or not this machine has a device for them to use.

use super::Library;
use super::version::Version;
use crate::bindings::{FI_PROV_ATTR_ONLY, fi_info};
use std::ffi::{CStr, c_int};

/// One provider, as the library lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// Its name, as `fi_fabric_attr.prov_name` spells it.
    pub name: String,
    /// Its version.
    pub version: Version,
}

impl Library {
    /// Lists the providers that registered themselves, in the library's order of preference. Runs the
    /// initialization of all of them, so the environment (`FI_PROVIDER`, `FI_EFA_*`) must be set before.
    ///
    /// # Errors
    ///
    /// The error number of `fi_getinfo`, positive.
    pub fn providers(&self) -> Result<Vec<Provider>, c_int> {
        let mut list: *mut fi_info = std::ptr::null_mut();
        // SAFETY: no strings and no hints, which FI_PROV_ATTR_ONLY allows.
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
        // SAFETY: entries of the list just received; the last has no next.
        while let Some(info) = unsafe { entry.as_ref() } {
            // SAFETY: null or an attribute of this entry.
            if let Some(provider) = unsafe { provider(info) } {
                providers.push(provider);
            }
            entry = info.next;
        }
        // SAFETY: the list came from this library and is not used any more.
        unsafe { self.free_info(list) };
        Ok(providers)
    }
}

/// # Safety
///
/// `info` is an entry that libfabric filled in and that was not freed.
unsafe fn provider(info: &fi_info) -> Option<Provider> {
    // SAFETY: the caller's promise: null or an attribute.
    let attr = unsafe { info.fabric_attr.as_ref() }?;
    if attr.prov_name.is_null() {
        return None;
    }
    // SAFETY: not null, so a C string of the library.
    let name = unsafe { CStr::from_ptr(attr.prov_name) };
    Some(Provider {
        name: name.to_string_lossy().into_owned(),
        version: Version::from_packed(attr.prov_version),
    })
}

//! Calls `fi_getinfo` with hints, and copies the attributes of the matching entries.

use super::{CallError, check};
use crate::transport::libfabric::rules::attributes::{Attributes, Nic};
use crate::transport::libfabric::rules::hints::Hints;
use libfabric_sys::bindings::{
    FI_BUS_PCI, FI_EINVAL, FI_ENODATA, FI_ENOMEM, FI_EP_RDM, FI_NUMERICHOST, FI_SOURCE, FI_THREAD_DOMAIN,
    fi_info, fid_nic,
};
use libfabric_sys::{Library, bindings};
use std::ffi::{CStr, CString, c_char};
use std::net::IpAddr;
use std::ptr::NonNull;
use std::sync::Arc;

/// An owned copy of one of the library's `fi_info` entries, without the entries that follow it in the list.
#[derive(Debug)]
pub(in crate::transport::libfabric) struct Info {
    library: Arc<Library>,
    pointer: NonNull<fi_info>,
}

// SAFETY: the struct is plain memory that only this value owns. The library allocates it with malloc, so any thread may
// free it.
unsafe impl Send for Info {}
// SAFETY: no method changes the struct through a shared reference.
unsafe impl Sync for Info {}

impl Drop for Info {
    fn drop(&mut self) {
        // SAFETY: this library allocated the info, and it is freed only here.
        unsafe { self.library.free_info(self.pointer.as_ptr()) };
    }
}

impl Info {
    pub(super) fn library(&self) -> &Arc<Library> {
        &self.library
    }

    pub(super) fn as_ptr(&self) -> *mut fi_info {
        self.pointer.as_ptr()
    }

    fn allocate(library: &Arc<Library>) -> Result<Self, CallError> {
        let pointer = NonNull::new(library.allocate_info());
        let pointer = pointer.ok_or_else(|| CallError::new(library, "fi_allocinfo", FI_ENOMEM))?;
        Ok(Self {
            library: Arc::clone(library),
            pointer,
        })
    }

    /// Clears the default completion level of all operations.
    ///
    /// The hints contain a completion level only to query whether the provider supports it; posts that need this level
    /// set the flag themselves.
    pub(super) fn clear_default_flags(&mut self) {
        // SAFETY: the pointer is a live info of this library, which is uniquely borrowed.
        let info = unsafe { self.pointer.as_mut() };
        // SAFETY: the pointer is null or points to a part of the info.
        if let Some(attr) = unsafe { info.tx_attr.as_mut() } {
            attr.op_flags = 0;
        }
    }

    /// Copies the attributes that this transport uses.
    pub(in crate::transport::libfabric) fn attributes(&self) -> Attributes {
        // SAFETY: the pointer is a live info of this library.
        let info = unsafe { self.pointer.as_ref() };
        let mut attributes = Attributes {
            mode: info.mode,
            ..Attributes::default()
        };
        // SAFETY: here and below, the pointer is null or points to a part of the info.
        if let Some(attr) = unsafe { info.fabric_attr.as_ref() } {
            // SAFETY: here and below, the pointer is null or a C string that the info owns.
            attributes.provider = unsafe { owned_string(attr.prov_name) };
            // SAFETY: as above.
            attributes.fabric = unsafe { owned_string(attr.name) };
        }
        // SAFETY: as above.
        if let Some(attr) = unsafe { info.domain_attr.as_ref() } {
            // SAFETY: as above.
            attributes.domain = unsafe { owned_string(attr.name) };
            attributes.mode |= attr.mode;
            attributes.mr_mode = attr.mr_mode;
            attributes.data_progress = attr.data_progress;
            attributes.immediate_bytes = attr.cq_data_size;
        }
        // SAFETY: as above.
        if let Some(attr) = unsafe { info.tx_attr.as_ref() } {
            attributes.inject_size = attr.inject_size;
            attributes.transmit_depth = attr.size;
        }
        // SAFETY: as above.
        if let Some(attr) = unsafe { info.rx_attr.as_ref() } {
            attributes.mode |= attr.mode;
            attributes.receive_depth = attr.size;
        }
        // SAFETY: as above.
        if let Some(attr) = unsafe { info.ep_attr.as_ref() } {
            attributes.max_message = attr.max_msg_size;
        }
        // SAFETY: as above.
        attributes.nic = unsafe { info.nic.as_ref() }.map(|nic| {
            // SAFETY: the NIC is a part of a live info.
            unsafe { nic_attributes(nic) }
        });
        attributes
    }
}

/// Calls `fi_getinfo` with the hints and, if given, a source address. Returns an empty list if nothing matches.
///
/// # Errors
///
/// Returns any `fi_getinfo` error except `FI_ENODATA`.
pub(in crate::transport::libfabric) fn get_info(
    library: &Arc<Library>,
    hints: &Hints,
    source: Option<IpAddr>,
) -> Result<Vec<Info>, CallError> {
    let mut hint_info = Info::allocate(library)?;
    fill(&mut hint_info, hints)?;
    let node = source
        .map(|address| c_string(library, &address.to_string()))
        .transpose()?;
    let (node, flags) = node.as_ref().map_or((std::ptr::null(), 0), |node| {
        (node.as_ptr(), FI_SOURCE | FI_NUMERICHOST)
    });
    let mut list: *mut fi_info = std::ptr::null_mut();
    // SAFETY: the node is null or a C string, and this library allocated the hints.
    let code = unsafe { library.get_info(node, std::ptr::null(), flags, hint_info.as_ptr(), &mut list) };
    if code == -FI_ENODATA {
        return Ok(Vec::new());
    }
    check(library, "fi_getinfo", code)?;
    let mut infos = Vec::new();
    let mut entry = list;
    // SAFETY: `entry` is null or an entry of the list that `fi_getinfo` returned, whose last entry has a null next
    // pointer.
    while let Some(next) = unsafe { entry.as_ref() } {
        // SAFETY: the entry came from this library and has not been freed.
        if let Some(pointer) = NonNull::new(unsafe { library.duplicate_info(entry) }) {
            infos.push(Info {
                library: Arc::clone(library),
                pointer,
            });
        }
        entry = next.next;
    }
    // SAFETY: the list came from this library, and only copies of its entries are used afterwards.
    unsafe { library.free_info(list) };
    Ok(infos)
}

fn fill(hint_info: &mut Info, hints: &Hints) -> Result<(), CallError> {
    let library = Arc::clone(&hint_info.library);
    // SAFETY: the pointer is a live info of this library. It is uniquely borrowed, as are its attributes, which
    // fi_allocinfo attaches.
    let info = unsafe { hint_info.pointer.as_mut() };
    info.caps = hints.caps;
    info.mode = hints.mode;
    // SAFETY: the pointer is null or points to a part of the info.
    if let Some(attr) = unsafe { info.fabric_attr.as_mut() } {
        attr.prov_name = malloc_string(&library, hints.provider)?;
        if let Some(fabric) = hints.fabric {
            attr.name = malloc_string(&library, fabric)?;
        }
    }
    // SAFETY: as above.
    if let Some(attr) = unsafe { info.domain_attr.as_mut() } {
        attr.mr_mode = hints.mr_mode;
        // Only one thread at a time uses a domain and the objects opened from it, so the provider needs no locks.
        attr.threading = FI_THREAD_DOMAIN;
        attr.av_type = bindings::FI_AV_TABLE;
    }
    // SAFETY: as above.
    if let Some(attr) = unsafe { info.ep_attr.as_mut() } {
        attr.type_ = FI_EP_RDM;
    }
    // SAFETY: as above.
    if let Some(attr) = unsafe { info.tx_attr.as_mut() } {
        attr.op_flags = hints.op_flags;
        attr.inject_size = hints.inject_size;
        attr.size = hints.depth;
    }
    // SAFETY: as above.
    if let Some(attr) = unsafe { info.rx_attr.as_mut() } {
        attr.size = hints.depth;
    }
    Ok(())
}

fn c_string(library: &Library, text: &str) -> Result<CString, CallError> {
    CString::new(text).map_err(|_| CallError::new(library, "fi_getinfo", FI_EINVAL))
}

/// Copies a string with malloc, because `fi_freeinfo` frees strings with `free`.
fn malloc_string(library: &Library, text: &str) -> Result<*mut c_char, CallError> {
    let text = c_string(library, text)?;
    // SAFETY: the argument is a C string.
    let copy = unsafe { libc::strdup(text.as_ptr()) };
    if copy.is_null() {
        Err(CallError::new(library, "strdup", FI_ENOMEM))
    } else {
        Ok(copy)
    }
}

/// # Safety
///
/// `text` must be null, or a C string that is valid during the call.
unsafe fn owned_string(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the pointer is not null, so the caller guarantees that it is a C string.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// # Safety
///
/// `nic` must be a part of a live info.
unsafe fn nic_attributes(nic: &fid_nic) -> Nic {
    let mut attributes = Nic::default();
    // SAFETY: the pointer is null or points to a part of the info.
    if let Some(device) = unsafe { nic.device_attr.as_ref() } {
        // SAFETY: the pointer is null or a C string that the info owns.
        attributes.name = unsafe { owned_string(device.name) };
    }
    // SAFETY: the pointer is null or points to a part of the info.
    if let Some(bus) = unsafe { nic.bus_attr.as_ref() }
        && bus.bus_type == FI_BUS_PCI
    {
        // SAFETY: the bus type indicates that the provider initialized this union member.
        let pci = unsafe { bus.attr.pci };
        attributes.pci = Some(format!(
            "{:04x}:{:02x}:{:02x}.{:x}",
            pci.domain_id, pci.bus_id, pci.device_id, pci.function_id
        ));
    }
    // SAFETY: the pointer is null or points to a part of the info.
    if let Some(link) = unsafe { nic.link_attr.as_ref() } {
        attributes.speed = link.speed;
    }
    attributes
}

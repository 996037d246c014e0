//! `fi_getinfo`: hints in, offers out.

use super::{CallError, check};
use crate::transport::libfabric::rules::hints::Hints;
use crate::transport::libfabric::rules::offer::{Nic, Offer};
use libfabric_sys::bindings::{
    FI_BUS_PCI, FI_EINVAL, FI_ENODATA, FI_ENOMEM, FI_EP_RDM, FI_NUMERICHOST, FI_SOURCE, FI_THREAD_DOMAIN,
    fi_info, fid_nic,
};
use libfabric_sys::{Library, bindings};
use std::ffi::{CStr, CString, c_char};
use std::net::IpAddr;
use std::ptr::NonNull;
use std::sync::Arc;

/// One `fi_info` of the library, owned, without what followed it in its list.
#[derive(Debug)]
pub(in crate::transport::libfabric) struct Info {
    library: Arc<Library>,
    pointer: NonNull<fi_info>,
}

// SAFETY: the struct is plain memory that this value alone owns, and the library's allocator is malloc, which any
// thread may call.
unsafe impl Send for Info {}
// SAFETY: no method changes the struct through a shared reference.
unsafe impl Sync for Info {}

impl Drop for Info {
    fn drop(&mut self) {
        // SAFETY: allocated by this library, and freed here only.
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

    fn empty(library: &Arc<Library>) -> Result<Self, CallError> {
        let pointer = NonNull::new(library.empty_info());
        let pointer = pointer.ok_or_else(|| CallError::new(library, "fi_allocinfo", FI_ENOMEM))?;
        Ok(Self {
            library: Arc::clone(library),
            pointer,
        })
    }

    /// Takes away the completion level that the hints asked for as a default of every operation. It was asked for
    /// to learn that the provider has it; posts name it where they want it.
    pub(super) fn clear_default_flags(&mut self) {
        // SAFETY: an info of this library, uniquely borrowed.
        let info = unsafe { self.pointer.as_mut() };
        // SAFETY: null or a part of the info.
        if let Some(attr) = unsafe { info.tx_attr.as_mut() } {
            attr.op_flags = 0;
        }
    }

    /// The fields that decide and are recorded.
    pub(in crate::transport::libfabric) fn offer(&self) -> Offer {
        // SAFETY: an info of this library, borrowed.
        let info = unsafe { self.pointer.as_ref() };
        let mut offer = Offer {
            mode: info.mode,
            ..Offer::default()
        };
        // SAFETY: null or a part of the info, here and below.
        if let Some(attr) = unsafe { info.fabric_attr.as_ref() } {
            // SAFETY: null or a C string that the info owns, here and below.
            offer.provider = unsafe { owned_text(attr.prov_name) };
            // SAFETY: as above.
            offer.fabric = unsafe { owned_text(attr.name) };
        }
        // SAFETY: as above.
        if let Some(attr) = unsafe { info.domain_attr.as_ref() } {
            // SAFETY: as above.
            offer.domain = unsafe { owned_text(attr.name) };
            offer.mode |= attr.mode;
            offer.mr_mode = attr.mr_mode;
            offer.data_progress = attr.data_progress;
            offer.immediate_bytes = attr.cq_data_size;
        }
        // SAFETY: as above.
        if let Some(attr) = unsafe { info.tx_attr.as_ref() } {
            offer.inject_size = attr.inject_size;
            offer.transmit_depth = attr.size;
        }
        // SAFETY: as above.
        if let Some(attr) = unsafe { info.rx_attr.as_ref() } {
            offer.mode |= attr.mode;
            offer.receive_depth = attr.size;
        }
        // SAFETY: as above.
        if let Some(attr) = unsafe { info.ep_attr.as_ref() } {
            offer.max_message = attr.max_msg_size;
        }
        // SAFETY: as above.
        offer.nic = unsafe { info.nic.as_ref() }.map(|nic| {
            // SAFETY: part of a live info.
            unsafe { nic_facts(nic) }
        });
        offer
    }
}

/// Asks for what the hints say, from one source address where given. An empty list where the library has nothing.
///
/// # Errors
///
/// Every error of `fi_getinfo` but "no data".
pub(in crate::transport::libfabric) fn request(
    library: &Arc<Library>,
    hints: &Hints,
    source: Option<IpAddr>,
) -> Result<Vec<Info>, CallError> {
    let mut wish = Info::empty(library)?;
    fill(&mut wish, hints)?;
    let node = source
        .map(|address| c_text(library, &address.to_string()))
        .transpose()?;
    let (node, flags) = node.as_ref().map_or((std::ptr::null(), 0), |node| {
        (node.as_ptr(), FI_SOURCE | FI_NUMERICHOST)
    });
    let mut list: *mut fi_info = std::ptr::null_mut();
    // SAFETY: node is null or a C string; the hints came from this library.
    let code = unsafe { library.get_info(node, std::ptr::null(), flags, wish.as_ptr(), &mut list) };
    if code == -FI_ENODATA {
        return Ok(Vec::new());
    }
    check(library, "fi_getinfo", code)?;
    let mut infos = Vec::new();
    let mut entry = list;
    // SAFETY: entries of the list just received; the last has no next.
    while let Some(next) = unsafe { entry.as_ref() } {
        // SAFETY: an entry of this library that was not freed.
        if let Some(pointer) = NonNull::new(unsafe { library.duplicate_info(entry) }) {
            infos.push(Info {
                library: Arc::clone(library),
                pointer,
            });
        }
        entry = next.next;
    }
    // SAFETY: the list came from this library; only copies of its entries are kept.
    unsafe { library.free_info(list) };
    Ok(infos)
}

fn fill(wish: &mut Info, hints: &Hints) -> Result<(), CallError> {
    let library = Arc::clone(&wish.library);
    // SAFETY: an info of this library, uniquely borrowed; so are its attributes, which fi_allocinfo attaches.
    let info = unsafe { wish.pointer.as_mut() };
    info.caps = hints.caps;
    info.mode = hints.mode;
    // SAFETY: null or a part of the info.
    if let Some(attr) = unsafe { info.fabric_attr.as_mut() } {
        attr.prov_name = malloc_text(&library, hints.provider)?;
        if let Some(fabric) = hints.fabric {
            attr.name = malloc_text(&library, fabric)?;
        }
    }
    // SAFETY: as above.
    if let Some(attr) = unsafe { info.domain_attr.as_mut() } {
        attr.mr_mode = hints.mr_mode;
        // One thread at a time uses a domain and everything made from it, so the provider needs no locks.
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

fn c_text(library: &Library, text: &str) -> Result<CString, CallError> {
    CString::new(text).map_err(|_| CallError::new(library, "fi_getinfo", FI_EINVAL))
}

/// A copy made by malloc, for `fi_freeinfo` frees strings with `free`.
fn malloc_text(library: &Library, text: &str) -> Result<*mut c_char, CallError> {
    let text = c_text(library, text)?;
    // SAFETY: a C string.
    let copy = unsafe { libc::strdup(text.as_ptr()) };
    if copy.is_null() {
        Err(CallError::new(library, "strdup", FI_ENOMEM))
    } else {
        Ok(copy)
    }
}

/// # Safety
///
/// Null, or a C string that lives for the call.
unsafe fn owned_text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: not null; the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// # Safety
///
/// Part of a live info.
unsafe fn nic_facts(nic: &fid_nic) -> Nic {
    let mut facts = Nic::default();
    // SAFETY: null or a part of the info.
    if let Some(device) = unsafe { nic.device_attr.as_ref() } {
        // SAFETY: null or a C string that the info owns.
        facts.name = unsafe { owned_text(device.name) };
    }
    // SAFETY: null or a part of the info.
    if let Some(bus) = unsafe { nic.bus_attr.as_ref() }
        && bus.bus_type == FI_BUS_PCI
    {
        // SAFETY: the bus type says which member was written.
        let pci = unsafe { bus.attr.pci };
        facts.pci = Some(format!(
            "{:04x}:{:02x}:{:02x}.{:x}",
            pci.domain_id, pci.bus_id, pci.device_id, pci.function_id
        ));
    }
    // SAFETY: null or a part of the info.
    if let Some(link) = unsafe { nic.link_attr.as_ref() } {
        facts.speed = link.speed;
    }
    facts
}

//! Transfer requests: prepared requests, which are posted repeatedly, and requests that are created for a single post.

use super::objects::Objects;
use super::{CallError, call, check};
use crate::measure::clock;
use crate::transport::nixl::rules::packing::MemoryLocation;
use crds::v1alpha1::NixlDescriptors;
use nixl_sys::{DRAM, Operation, PreparedList, Request, TransferList, VRAM};
use std::collections::HashMap;
use std::ffi::{CStr, c_int};

/// Maximum number of prepared requests per agent.
const MAX_PREPARED: usize = 16 * 1024;
/// Maximum number of descriptors in an agent's prepared requests. Each descriptor occupies about 200 bytes.
const MAX_PREPARED_DESCRIPTORS: usize = 2 * 1024 * 1024;
/// Name that stands for the local agent (`NIXL_INIT_AGENT`).
const OWN_AGENT: &CStr = c"";

/// Location of a transfer in each side's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Transfer {
    pub operation: Operation,
    pub peer: u32,
    pub local: u64,
    pub local_device: DeviceLocation,
    pub remote: u64,
    pub remote_device: DeviceLocation,
    pub length: u64,
}

/// Hashable form of [`MemoryLocation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct DeviceLocation {
    is_gpu: bool,
    device: u64,
}

impl From<MemoryLocation> for DeviceLocation {
    fn from(location: MemoryLocation) -> Self {
        Self {
            is_gpu: location.memory_type == VRAM,
            device: location.device,
        }
    }
}

impl DeviceLocation {
    fn index(self) -> usize {
        usize::from(self.is_gpu)
    }
}

/// Prepared request with the lists from which it was created.
struct PreparedRequest {
    transfer: Transfer,
    handle: Request,
    lists: [PreparedList; 2],
    /// Whether the request failed, and must not be posted again.
    broken: bool,
}

/// Prepared requests for one transfer.
#[derive(Default)]
struct TransferRequests {
    /// Indices of the requests that are not in flight.
    idle: Vec<u32>,
    /// Total number of requests.
    requests: usize,
}

/// Requests of one agent.
pub(super) struct Requests {
    prepared: Vec<PreparedRequest>,
    /// Prepared requests by transfer.
    by_transfer: HashMap<Transfer, TransferRequests>,
    nanos: u64,
    /// Descriptor lists for the local and remote sides, each with one list for host memory and one for GPU memory.
    lists: [[TransferList; 2]; 2],
    /// Maximum number of bytes per descriptor; `u64::MAX` if there is no limit.
    descriptor_bytes: u64,
    /// Number of descriptors in the prepared requests.
    descriptors: usize,
    /// Indices of all descriptors of a request: 0, 1 and so on.
    indices: Vec<c_int>,
}

impl Requests {
    pub(super) fn new(objects: &Objects, descriptors: Option<NixlDescriptors>) -> Result<Self, CallError> {
        let mut lists = [[TransferList::NULL; 2]; 2];
        for side in &mut lists {
            for (list, memory_type) in side.iter_mut().zip([DRAM, VRAM]) {
                let status = call!(objects.library, create_xfer_dlist(memory_type, list));
                check("create_xfer_dlist", status)?;
            }
        }
        Ok(Self {
            prepared: Vec::new(),
            by_transfer: HashMap::new(),
            nanos: 0,
            lists,
            descriptor_bytes: descriptors
                .map_or(u64::MAX, |descriptors| descriptors.max_bytes.bytes())
                .max(1),
            descriptors: 0,
            indices: Vec::new(),
        })
    }

    /// Number of prepared requests, and the time it took to prepare them, in nanoseconds.
    pub(super) fn prepared(&self) -> (u64, u64) {
        (self.prepared.len() as u64, self.nanos)
    }

    /// Takes a prepared request that is not in flight.
    #[inline]
    pub(super) fn take(&mut self, transfer: &Transfer) -> Option<(u32, Request)> {
        let index = self.by_transfer.get_mut(transfer)?.idle.pop()?;
        Some((index, self.prepared[index as usize].handle))
    }

    /// Makes a request available again.
    #[inline]
    pub(super) fn put_back(&mut self, index: u32) {
        let prepared = &self.prepared[index as usize];
        if let (false, Some(entry)) = (prepared.broken, self.by_transfer.get_mut(&prepared.transfer)) {
            entry.idle.push(index);
        }
    }

    /// Marks a request as failed.
    pub(super) fn set_broken(&mut self, index: u32) {
        self.prepared[index as usize].broken = true;
    }

    /// Number of prepared requests for `transfer` that are not in flight.
    pub(super) fn idle(&self, transfer: &Transfer) -> usize {
        self.by_transfer.get(transfer).map_or(0, |entry| entry.idle.len())
    }

    /// Number of descriptors that `transfer` needs.
    fn descriptors_of(&self, transfer: &Transfer) -> usize {
        let descriptors = transfer.length.div_ceil(self.descriptor_bytes).max(1);
        usize::try_from(descriptors).unwrap_or(usize::MAX)
    }

    /// Whether another request for `transfer` can be prepared.
    pub(super) fn has_room(&self, transfer: &Transfer) -> bool {
        let descriptors = self.descriptors.saturating_add(self.descriptors_of(transfer));
        self.prepared.len() < MAX_PREPARED && descriptors <= MAX_PREPARED_DESCRIPTORS
    }

    /// Error message for a case that needs too many prepared requests.
    pub(super) fn too_many_message(&self) -> String {
        format!(
            "the case needs more than {MAX_PREPARED} prepared requests or {MAX_PREPARED_DESCRIPTORS} descriptors on one rail \
             ({} requests with {} descriptors are prepared). Reduce the window or the number of descriptors, or set requests \
             to Created",
            self.prepared.len(),
            self.descriptors
        )
    }

    /// Prepares another request for `transfer` to `peer`.
    pub(super) fn prepare(
        &mut self,
        objects: &Objects,
        transfer: &Transfer,
        peer: &CStr,
    ) -> Result<(u32, Request), CallError> {
        let start = clock::now();
        let [local, remote] = self.fill_lists(objects, transfer)?;
        let descriptors = self.descriptors_of(transfer);
        let known = self.indices.len();
        self.indices
            .extend((known..descriptors).map(|index| c_int::try_from(index).unwrap_or(c_int::MAX)));
        let local = prepare_list(objects, OWN_AGENT, local)?;
        let remote = match prepare_list(objects, peer, remote) {
            Ok(remote) => remote,
            Err(error) => {
                objects.release_prepared(local);
                return Err(error);
            }
        };
        let indices = self.indices.as_ptr();
        let mut handle = Request::NULL;
        let status = call!(
            objects.library,
            make_xfer_req(
                objects.agent,
                transfer.operation,
                local,
                indices,
                descriptors,
                remote,
                indices,
                descriptors,
                &mut handle,
                objects.arguments
            )
        );
        if let Err(error) = check("make_xfer_req", status) {
            objects.release_prepared(remote);
            objects.release_prepared(local);
            return Err(error);
        }
        self.descriptors += descriptors;
        self.prepared.push(PreparedRequest {
            transfer: *transfer,
            handle,
            lists: [local, remote],
            broken: false,
        });
        let number = u32::try_from(self.prepared.len() - 1).unwrap_or(u32::MAX);
        let entry = self.by_transfer.entry(*transfer).or_default();
        entry.requests += 1;
        // Returning a request to the list must not allocate.
        entry.idle.reserve(entry.requests - entry.idle.len());
        self.nanos += clock::now().saturating_sub(start);
        Ok((number, handle))
    }

    /// Creates a request for a single post to `peer`.
    pub(super) fn create(
        &mut self,
        objects: &Objects,
        transfer: &Transfer,
        peer: &CStr,
    ) -> Result<Request, CallError> {
        let [local, remote] = self.fill_lists(objects, transfer)?;
        let mut handle = Request::NULL;
        let status = call!(
            objects.library,
            create_xfer_req(
                objects.agent,
                transfer.operation,
                local,
                remote,
                peer.as_ptr(),
                &mut handle,
                objects.arguments
            )
        );
        check("create_xfer_req", status)?;
        Ok(handle)
    }

    /// Fills the descriptor lists for both sides, and returns them.
    fn fill_lists(&mut self, objects: &Objects, transfer: &Transfer) -> Result<[TransferList; 2], CallError> {
        let sides = [
            (transfer.local, transfer.local_device),
            (transfer.remote, transfer.remote_device),
        ];
        let mut filled = [TransferList::NULL; 2];
        for (side, (address, location)) in sides.into_iter().enumerate() {
            let list = self.lists[side][location.index()];
            check("xfer_dlist_clear", call!(objects.library, xfer_dlist_clear(list)))?;
            let mut offset = 0;
            while offset < transfer.length {
                let length = self.descriptor_bytes.min(transfer.length - offset);
                let status = call!(
                    objects.library,
                    xfer_dlist_add_desc(
                        list,
                        (address + offset) as usize,
                        length as usize,
                        location.device
                    )
                );
                check("xfer_dlist_add_desc", status)?;
                offset += length;
            }
            filled[side] = list;
        }
        Ok(filled)
    }

    /// Releases all requests and lists.
    pub(super) fn release(&mut self, objects: &Objects) {
        for prepared in self.prepared.drain(..) {
            objects.release_request(prepared.handle);
            for list in prepared.lists {
                objects.release_prepared(list);
            }
        }
        self.by_transfer.clear();
        for list in self.lists.iter_mut().flatten() {
            objects.destroy_list(std::mem::replace(list, TransferList::NULL));
        }
    }
}

fn prepare_list(objects: &Objects, agent: &CStr, list: TransferList) -> Result<PreparedList, CallError> {
    let mut prepared = PreparedList::NULL;
    let status = call!(
        objects.library,
        prep_xfer_dlist(
            objects.agent,
            agent.as_ptr(),
            list,
            &mut prepared,
            objects.arguments
        )
    );
    check("prep_xfer_dlist", status)?;
    Ok(prepared)
}

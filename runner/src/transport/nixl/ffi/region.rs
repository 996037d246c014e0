//! Memory that is registered with one agent, and regions imported from peers.

use super::objects::{Objects, Registration, take_bytes};
use super::rail::{ImportedRegion, Rail};
use super::{CallError, call, check};
use crate::memory::Memory;
use crate::transport::nixl::rules::packing::MemoryLocation;
use crate::transport::{PackedKey, Peer};
use nixl_sys::{DRAM, RegistrationList, VRAM};
use std::sync::{Arc, PoisonError};

/// Memory that is registered with one rail's agent, which stays open while the region exists.
pub struct RailRegion {
    objects: Arc<Objects>,
    memory: Arc<Memory>,
    location: MemoryLocation,
    remote: PackedKey,
}

/// Range of registered memory.
#[derive(Clone, Copy)]
pub(in crate::transport::nixl) struct RegisteredRange<'a> {
    pub(super) region: &'a RailRegion,
    pub(super) offset: u64,
    pub(super) length: u64,
}

impl RailRegion {
    /// Address and packed key of the region.
    pub(in crate::transport::nixl) fn remote(&self) -> &PackedKey {
        &self.remote
    }

    pub(super) fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    pub(super) fn location(&self) -> MemoryLocation {
        self.location
    }

    /// Whether the region belongs to this agent.
    pub(super) fn belongs_to(&self, objects: &Arc<Objects>) -> bool {
        Arc::ptr_eq(&self.objects, objects)
    }

    /// Range of the region; `None` if it extends beyond the region.
    #[inline]
    pub(in crate::transport::nixl) fn range(&self, offset: u64, length: u64) -> Option<RegisteredRange<'_>> {
        let end = offset.checked_add(length)?;
        (end <= self.memory.length() as u64).then_some(RegisteredRange {
            region: self,
            offset,
            length,
        })
    }
}

impl RegisteredRange<'_> {
    /// Address of the first byte.
    #[inline]
    pub(super) fn address(&self) -> u64 {
        self.region.memory.address() as u64 + self.offset
    }
}

/// Memory type and device of `memory`.
fn location_of(memory: &Memory) -> MemoryLocation {
    match memory.gpu() {
        Some(gpu) => MemoryLocation {
            memory_type: VRAM,
            device: u64::try_from(gpu).unwrap_or(0),
        },
        None => MemoryLocation {
            memory_type: DRAM,
            device: 0,
        },
    }
}

impl Rail {
    /// Whether the backend accepts this kind of memory.
    pub(in crate::transport::nixl) fn accepts(&self, memory: &Memory) -> bool {
        self.memory_types.contains(&location_of(memory).memory_type)
    }

    /// Registers memory with the agent. `pack` packs the region's metadata for peers.
    ///
    /// # Errors
    ///
    /// Returns the failed call.
    pub(in crate::transport::nixl) fn register_memory(
        &mut self,
        memory: Arc<Memory>,
        pack: impl FnOnce(MemoryLocation, &[u8]) -> Vec<u8>,
    ) -> Result<RailRegion, CallError> {
        let objects = &self.objects;
        let library = &objects.library;
        let location = location_of(&memory);
        let address = memory.address() as usize;
        let mut list = RegistrationList::NULL;
        let status = call!(library, create_reg_dlist(location.memory_type, &mut list));
        check("create_reg_dlist", status)?;
        let add = || {
            let status = call!(
                library,
                reg_dlist_add_desc(
                    list,
                    address,
                    memory.length(),
                    location.device,
                    std::ptr::null(),
                    0
                )
            );
            check("reg_dlist_add_desc", status)?;
            let status = call!(library, register_mem(objects.agent, list, objects.arguments));
            check("register_mem", status)
        };
        if let Err(error) = add() {
            call!(library, destroy_reg_dlist(list));
            return Err(error);
        }
        objects
            .registrations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Registration {
                list,
                memory: Arc::clone(&memory),
            });
        let (mut data, mut length) = (std::ptr::null_mut(), 0);
        let status = call!(
            library,
            get_local_partial_md(objects.agent, list, &mut data, &mut length, objects.arguments)
        );
        check("get_local_partial_md", status)?;
        let remote = PackedKey {
            address: address as u64,
            key: pack(location, &take_bytes(data, length)),
        };
        Ok(RailRegion {
            objects: Arc::clone(objects),
            memory,
            location,
            remote,
        })
    }

    /// Imports a connected peer's region. Returns the region's handle.
    ///
    /// # Errors
    ///
    /// Returns the failed call if the library rejects the metadata, which must come from this peer's agent.
    pub(in crate::transport::nixl) fn import_region(
        &mut self,
        peer: Peer,
        location: MemoryLocation,
        metadata: &[u8],
        address: u64,
        length: u64,
    ) -> Result<u64, CallError> {
        let name = self.load(metadata)?;
        if self.peers.get(peer).is_none_or(|known| known.name != name) {
            return Err(CallError {
                call: "load_remote_md",
                status: nixl_sys::ERROR_NOT_FOUND,
            });
        }
        self.imported.push(ImportedRegion {
            peer,
            location,
            address,
            length,
        });
        Ok(self.imported.len() as u64 - 1)
    }
}

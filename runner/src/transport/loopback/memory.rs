//! Registered memory: regions, and an endpoint's region table. Performs no I/O.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::rules::layout::MAX_RAILS;
use crate::memory::Memory;
use crate::memory::ffi::mapping::Span;
use crate::transport::{Region, RemoteKey, RemoteRegion};

/// Memory that is registered with a loopback transport.
///
/// After the region is dropped, peers can no longer access the memory. The memory itself is released only by a later
/// registration, because posts in flight may still use it.
#[derive(Debug)]
pub struct LoopbackRegion {
    memory: Arc<Memory>,
    key: u64,
    owner: u64,
    rails: usize,
    alive: Arc<AtomicBool>,
}

impl Region for LoopbackRegion {
    fn remote(&self) -> RemoteRegion {
        let remote = RemoteKey {
            address: 0,
            key: self.key,
        };
        RemoteRegion {
            rails: vec![remote.into(); self.rails.min(MAX_RAILS)],
            length: self.memory.length() as u64,
        }
    }

    fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    fn registration_method(&self) -> &'static str {
        "none needed"
    }
}

impl LoopbackRegion {
    /// Nonce of the endpoint with which the memory is registered.
    #[inline]
    pub(super) fn owner(&self) -> u64 {
        self.owner
    }

    /// Index of the region in the endpoint's region table.
    #[inline]
    pub(super) fn index(&self) -> usize {
        index_of(self.key)
    }
}

impl Drop for LoopbackRegion {
    fn drop(&mut self) {
        self.alive.store(false, Ordering::Release);
    }
}

/// Table of an endpoint's registered memory. The low half of a key is the table index, and the high half is random.
#[derive(Debug, Default)]
pub(super) struct RegionTable {
    entries: Vec<Option<Entry>>,
}

#[derive(Debug)]
struct Entry {
    memory: Arc<Memory>,
    key: u64,
    alive: Arc<AtomicBool>,
}

impl RegionTable {
    /// Registers memory. `random` makes the key unguessable.
    pub(super) fn add(
        &mut self,
        memory: Arc<Memory>,
        owner: u64,
        rails: usize,
        random: u64,
    ) -> LoopbackRegion {
        let free = self.entries.iter().position(Option::is_none);
        let index = free.unwrap_or_else(|| {
            self.entries.push(None);
            self.entries.len() - 1
        });
        let key = (random & !INDEX) | (index as u64 & INDEX);
        let alive = Arc::new(AtomicBool::new(true));
        self.entries[index] = Some(Entry {
            memory: Arc::clone(&memory),
            key,
            alive: Arc::clone(&alive),
        });
        LoopbackRegion {
            memory,
            key,
            owner,
            rails,
            alive,
        }
    }

    /// Removes dropped regions. May be called only while no post is in flight, because posts refer to regions by index.
    pub(super) fn remove_dropped(&mut self) {
        for entry in &mut self.entries {
            if entry
                .as_ref()
                .is_some_and(|entry| !entry.alive.load(Ordering::Acquire))
            {
                *entry = None;
            }
        }
    }

    /// Range of local memory for a post or a receive.
    ///
    /// `None` if the region does not exist or the range is not inside it.
    #[inline]
    pub(super) fn local(&self, index: usize, offset: u64, length: u64) -> Option<Span<'_>> {
        self.entries.get(index)?.as_ref()?.span(offset, length)
    }

    /// Range of memory that a peer requests by key; `None` if the key does not belong to an existing region or the
    /// range is not inside the region.
    #[inline]
    pub(super) fn remote(&self, key: u64, offset: u64, length: u64) -> Option<Span<'_>> {
        let entry = self.entries.get(index_of(key))?.as_ref()?;
        if entry.key != key || !entry.alive.load(Ordering::Relaxed) {
            return None;
        }
        entry.span(offset, length)
    }
}

impl Entry {
    #[inline]
    fn span(&self, offset: u64, length: u64) -> Option<Span<'_>> {
        let (offset, length) = (usize::try_from(offset).ok()?, usize::try_from(length).ok()?);
        self.memory.span(offset, length).ok()
    }
}

const INDEX: u64 = u32::MAX as u64;

fn index_of(key: u64) -> usize {
    (key & INDEX) as usize
}

#[cfg(test)]
mod tests {
    use crds::v1alpha1::MemoryKind;

    use super::*;

    fn memory() -> Arc<Memory> {
        Memory::allocate(MemoryKind::Heap, 100).unwrap()
    }

    #[test]
    fn allows_remote_access_only_with_a_valid_key_and_range() {
        let mut regions = RegionTable::default();
        let region = regions.add(memory(), 1, 2, 0xabcd_0000_0000_0000);
        let key = region.key;
        assert!(regions.remote(key, 90, 10).is_some());
        assert!(regions.remote(key, 90, 11).is_none());
        assert!(regions.remote(key, u64::MAX, 1).is_none());
        assert!(regions.remote(key ^ (1 << 50), 0, 1).is_none());
        assert!(regions.remote(key + 1, 0, 1).is_none());
        drop(region);
        assert!(regions.remote(key, 0, 1).is_none());
    }

    #[test]
    fn keeps_the_memory_of_a_dropped_region_until_removal() {
        let mut regions = RegionTable::default();
        let memory = memory();
        let region = regions.add(Arc::clone(&memory), 1, 1, 0);
        let index = region.index();
        drop(region);
        assert!(regions.local(index, 0, 100).is_some());
        regions.remove_dropped();
        assert!(regions.local(index, 0, 1).is_none());
        assert_eq!(Arc::strong_count(&memory), 1);
    }

    #[test]
    fn reuses_an_index_with_another_key() {
        let mut regions = RegionTable::default();
        let first = regions.add(memory(), 1, 1, 1 << 40).key;
        regions.remove_dropped();
        let second = regions.add(memory(), 1, 1, 2 << 40);
        assert_eq!(second.index(), index_of(first));
        assert!(regions.remote(first, 0, 1).is_none());
    }
}

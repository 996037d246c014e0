//! Registered memory. Does no I/O.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::layout::MAX_RAILS;
use crate::memory::Memory;
use crate::memory::ffi::mapping::Span;
use crate::transport::{Region, RemoteKey, RemoteRegion};

/// Memory registered with a loopback transport. Peers can no longer reach it once this is dropped; the memory itself
/// is given back with the next registration, for posts in flight may still use it.
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
            rails: vec![remote; self.rails.min(MAX_RAILS)],
            length: self.memory.length() as u64,
        }
    }

    fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    fn registration(&self) -> &'static str {
        "none needed"
    }
}

impl LoopbackRegion {
    /// Nonce of the endpoint it is registered with.
    #[inline]
    pub(super) fn owner(&self) -> u64 {
        self.owner
    }

    /// Its place in the endpoint's table.
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

/// What an endpoint has registered, by key. The low half of a key is the place in the table, the high half is random.
#[derive(Debug, Default)]
pub(super) struct Regions {
    entries: Vec<Option<Entry>>,
}

#[derive(Debug)]
struct Entry {
    memory: Arc<Memory>,
    key: u64,
    alive: Arc<AtomicBool>,
}

impl Regions {
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

    /// Forgets dropped regions. Only while no post is in flight: posts know their memory by its place in the table.
    pub(super) fn sweep(&mut self) {
        for entry in &mut self.entries {
            if entry
                .as_ref()
                .is_some_and(|entry| !entry.alive.load(Ordering::Acquire))
            {
                *entry = None;
            }
        }
    }

    /// Bytes of this side's memory, for a post or receive.
    #[inline]
    pub(super) fn local(&self, index: usize, offset: u64, length: u64) -> Option<Span<'_>> {
        self.entries.get(index)?.as_ref()?.span(offset, length)
    }

    /// Bytes that a peer asks for by a key; nothing where the key is not that of a living region or the bytes are not
    /// in it.
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
    fn only_a_living_key_reaches_memory_and_only_inside() {
        let mut regions = Regions::default();
        let region = regions.add(memory(), 1, 2, 0xabcd_0000_0000_0000);
        let key = region.remote().rails[1].key;
        assert!(regions.remote(key, 90, 10).is_some());
        assert!(regions.remote(key, 90, 11).is_none());
        assert!(regions.remote(key, u64::MAX, 1).is_none());
        assert!(regions.remote(key ^ (1 << 50), 0, 1).is_none());
        assert!(regions.remote(key + 1, 0, 1).is_none());
        drop(region);
        assert!(regions.remote(key, 0, 1).is_none());
    }

    #[test]
    fn memory_outlives_its_region_until_the_next_sweep() {
        let mut regions = Regions::default();
        let memory = memory();
        let region = regions.add(Arc::clone(&memory), 1, 1, 0);
        let index = region.index();
        drop(region);
        assert!(regions.local(index, 0, 100).is_some());
        regions.sweep();
        assert!(regions.local(index, 0, 1).is_none());
        assert_eq!(Arc::strong_count(&memory), 1);
    }

    #[test]
    fn a_place_is_used_again_under_another_key() {
        let mut regions = Regions::default();
        let first = regions.add(memory(), 1, 1, 1 << 40).remote().rails[0].key;
        regions.sweep();
        let second = regions.add(memory(), 1, 1, 2 << 40);
        assert_eq!(second.index(), index_of(first));
        assert!(regions.remote(first, 0, 1).is_none());
    }
}

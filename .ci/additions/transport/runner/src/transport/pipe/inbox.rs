//! What the peers of a rail may do to it: deliver messages, and access registered memory. Performs no I/O.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::memory::Memory;

/// Inboxes of all rails of this process by endpoint name.
static INBOXES: Mutex<BTreeMap<u64, Arc<Inbox>>> = Mutex::new(BTreeMap::new());
/// Last endpoint name.
static LAST_NAME: AtomicU64 = AtomicU64::new(0);

/// What a peer has sent.
pub enum Arrival {
    /// A message with immediate data.
    Message(u64, Vec<u8>),
    /// Immediate data of a write.
    Write(u64),
}

/// Inbox of one rail.
#[derive(Default)]
pub struct Inbox {
    arrivals: Mutex<VecDeque<Arrival>>,
    regions: Mutex<Vec<Arc<Memory>>>,
}

impl Inbox {
    /// Opens an inbox. Returns its name, which peers connect to.
    pub fn open() -> (u64, Arc<Self>) {
        let name = LAST_NAME.fetch_add(1, Ordering::Relaxed) + 1;
        let inbox = Arc::new(Self::default());
        lock(&INBOXES).insert(name, Arc::clone(&inbox));
        (name, inbox)
    }

    /// Closes the inbox of this name. Connected peers can still deliver messages, which nothing reads.
    pub fn close(name: u64) {
        lock(&INBOXES).remove(&name);
    }

    /// Returns the inbox of this name, unless it is closed or belongs to another process.
    pub fn find(name: u64) -> Option<Arc<Self>> {
        lock(&INBOXES).get(&name).map(Arc::clone)
    }

    /// Delivers a message or the immediate data of a write.
    pub fn deliver(&self, arrival: Arrival) {
        lock(&self.arrivals).push_back(arrival);
    }

    /// Takes the next arrival, unless it is a message and there is no receive for it.
    pub fn take(&self, has_receive: bool) -> Option<Arrival> {
        let mut arrivals = lock(&self.arrivals);
        let is_ready = matches!(arrivals.front(), Some(Arrival::Write(_))) || has_receive;
        if is_ready { arrivals.pop_front() } else { None }
    }

    /// Registers memory. Returns its key.
    pub fn register(&self, memory: Arc<Memory>) -> u64 {
        let mut regions = lock(&self.regions);
        regions.push(memory);
        regions.len() as u64
    }

    /// Returns the memory with this key.
    pub fn region(&self, key: u64) -> Option<Arc<Memory>> {
        let index = usize::try_from(key).ok()?.checked_sub(1)?;
        lock(&self.regions).get(index).map(Arc::clone)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

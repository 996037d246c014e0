//! Readiness of the operator, as reported by `/readyz`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Readiness of this replica. A replica is ready if it is on standby or its caches are complete.
#[derive(Clone, Debug, Default)]
pub(crate) struct Readiness(Arc<AtomicBool>);

impl Readiness {
    /// Marks this replica ready while it waits for the Lease.
    pub(crate) fn set_standby(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Sets whether the caches are complete.
    pub(crate) fn set_caches_complete(&self, complete: bool) {
        self.0.store(complete, Ordering::Relaxed);
    }

    /// Whether this replica is ready.
    pub(crate) fn ready(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

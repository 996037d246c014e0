//! The runs that let others go first, in the order they stepped back. Keeps time; no I/O.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use tokio::time::Instant;

use crate::run_controller::store::RunKey;

/// How long a run lets others go first before it shares the places with them.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Runs that wait until no other needs a look.
#[derive(Default)]
pub(super) struct Behind {
    order: BTreeMap<u64, (RunKey, Instant)>,
    numbers: HashMap<RunKey, u64>,
    next: u64,
}

impl Behind {
    /// `run`, which is not among them.
    pub(super) fn push(&mut self, run: RunKey) {
        self.order.insert(self.next, (run.clone(), Instant::now()));
        self.numbers.insert(run, self.next);
        self.next += 1;
    }

    pub(super) fn remove(&mut self, run: &RunKey) {
        if let Some(number) = self.numbers.remove(run) {
            self.order.remove(&number);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// When the first stepped back.
    pub(super) fn since(&self) -> Option<Instant> {
        self.order.first_key_value().map(|(_, (_, since))| *since)
    }

    pub(super) fn pop(&mut self) -> Option<RunKey> {
        let (_, (run, _)) = self.order.pop_first()?;
        self.numbers.remove(&run);
        Some(run)
    }
}

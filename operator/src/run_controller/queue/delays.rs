//! The runs that are looked at later, each at most once. Keeps time; no I/O.

use std::collections::HashMap;
use std::future::{pending, poll_fn};
use std::time::Duration;

use tokio_util::time::DelayQueue;
use tokio_util::time::delay_queue::Key;

use crate::run_controller::store::RunKey;

/// Longest delay: longer ones are no different from for ever, and [`DelayQueue`] takes none above two years.
const LONGEST: Duration = Duration::from_secs(180 * 24 * 3600);

/// Runs with the time at which each is due.
#[derive(Default)]
pub(super) struct Delays {
    queue: DelayQueue<RunKey>,
    keys: HashMap<RunKey, Key>,
}

impl Delays {
    /// `run` is due after `delay`, whenever it was before.
    pub(super) fn insert(&mut self, run: RunKey, delay: Duration) {
        self.remove(&run);
        let key = self.queue.insert(run.clone(), delay.min(LONGEST));
        self.keys.insert(run, key);
    }

    pub(super) fn remove(&mut self, run: &RunKey) {
        if let Some(key) = self.keys.remove(run) {
            self.queue.remove(&key);
        }
    }

    /// The next run that is due; waits for ever where there is none. Safe to be dropped and called again.
    pub(super) async fn next(&mut self) -> RunKey {
        match poll_fn(|context| self.queue.poll_expired(context)).await {
            Some(expired) => {
                let run = expired.into_inner();
                self.keys.remove(&run);
                run
            }
            None => pending().await,
        }
    }
}

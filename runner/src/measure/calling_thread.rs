//! Runs the work of a measuring thread on the calling thread.

use std::panic::{self, AssertUnwindSafe};
use std::thread;

use rustix::thread::{sched_getaffinity, sched_setaffinity};

/// Runs `work` on the calling thread as if it were a new thread: returns a panic as an error, and restores the thread's
/// CPU affinity.
///
/// As after a panic of a new thread, the state that `work` has changed can be inconsistent.
pub fn run<R>(work: impl FnOnce() -> R) -> thread::Result<R> {
    let affinity = sched_getaffinity(None);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    if let Ok(affinity) = affinity {
        // If the affinity cannot be restored, the thread stays on the CPU to which the next case pins it anyway.
        let _ = sched_setaffinity(None, &affinity);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::cpu;

    #[test]
    fn restores_the_affinity_and_returns_a_panic() {
        let before = sched_getaffinity(None).unwrap();
        let current = thread::current().id();
        let ran_on = run(|| {
            cpu::pin(cpu::current()).unwrap();
            thread::current().id()
        });
        assert_eq!(ran_on.unwrap(), current);
        assert_eq!(sched_getaffinity(None).unwrap(), before);
        assert!(run(|| panic!("planted")).is_err());
    }
}

//! Number of CPUs available to one worker. Pure.

use crate::rendezvous::message::WorkerCpus;

/// The worker's even share of its CPUs, within the limit of its control group in thousandths of a CPU. Measuring threads
/// may spin only if there are no more of them than this: a thread that spins on a CPU that another thread needs measures
/// the scheduler.
pub fn own_cpus(worker: &WorkerCpus, limit_millis: Option<u64>) -> usize {
    let share = worker.cpus.len() / worker.sharers.max(1) as usize;
    let limit = limit_millis.map_or(usize::MAX, |millis| (millis / 1000) as usize);
    share.min(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divides_and_limits_cpus() {
        let own = |cpus: u32, sharers, limit| {
            let cpus = (0..cpus).collect();
            own_cpus(&WorkerCpus { cpus, sharers }, limit)
        };
        assert_eq!(own(4, 2, None), 2);
        assert_eq!(own(2, 3, None), 0);
        assert_eq!(own(8, 1, Some(1500)), 1);
    }
}

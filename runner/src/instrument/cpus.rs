//! Number of CPUs available to one worker. Performs no I/O.

use crate::rendezvous::message::WorkerCpus;

/// Number of CPUs available to the worker, limited by `limit_millis`, the cgroup limit in thousandths of a CPU.
///
/// CPUs that several workers share are divided evenly. If there are more measuring threads than available CPUs, the
/// threads must not spin, because the results would then include scheduling delays.
pub fn available_cpus(worker: &WorkerCpus, limit_millis: Option<u64>) -> usize {
    let cpus_per_worker = worker.cpus.len() / worker.overlapping_workers.max(1) as usize;
    let limit = limit_millis.map_or(usize::MAX, |millis| (millis / 1000) as usize);
    cpus_per_worker.min(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divides_and_limits_cpus() {
        let available = |cpus: u32, overlapping_workers, limit| {
            let cpus = (0..cpus).collect();
            available_cpus(
                &WorkerCpus {
                    cpus,
                    overlapping_workers,
                },
                limit,
            )
        };
        assert_eq!(available(4, 2, None), 2);
        assert_eq!(available(2, 3, None), 0);
        assert_eq!(available(8, 1, Some(1500)), 1);
    }
}

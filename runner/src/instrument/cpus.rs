//! How many processors a worker has to itself. Pure.

use crate::rendezvous::message::WorkerCpus;

/// An even share of the processors that a worker is given, within the limit of its control group in thousandths. With
/// as many as it has measuring threads, each may spin: a thread that spins on a processor that another one needs
/// measures the scheduler.
pub fn own_cpus(processors: &WorkerCpus, limit_millis: Option<u64>) -> usize {
    let share = processors.cpus.len() / processors.sharers.max(1) as usize;
    let limit = limit_millis.map_or(usize::MAX, |millis| (millis / 1000) as usize);
    share.min(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_shared_and_limited() {
        let own = |cpus: u32, sharers, limit| {
            let cpus = (0..cpus).collect();
            own_cpus(&WorkerCpus { cpus, sharers }, limit)
        };
        assert_eq!(own(4, 2, None), 2);
        assert_eq!(own(2, 3, None), 0);
        assert_eq!(own(8, 1, Some(1500)), 1);
    }
}

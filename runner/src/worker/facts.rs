//! Facts about a worker for its hello message, and the assignment of CPUs to workers. Reads `/proc` and `/sys`, and
//! measures the clock and the copy rate.

use std::env;

use crds::assignment::Assignment;
use crds::cpu_list;
use crds::record::{HelloRecord, RECORD_VERSION};

use crate::environment::{boot_id, cpu, gpu_clocks, host_environment};
use crate::measure::{clock, copy_rate};
use crate::rendezvous::message::{PROTOCOL_VERSION, WorkerCpus, WorkerHello};
use crate::topology::SystemRoots;

/// Creates the hello message of worker `rank`.
pub fn hello(assignment: &Assignment, rank: u32) -> WorkerHello {
    let roots = SystemRoots::default();
    let mut environment = host_environment(&roots, |name| env::var(name).ok(), clock::facts(&roots));
    environment.copy_bytes_per_second = Some(copy_rate::bytes_per_second());
    if !environment.hardware.gpus.is_empty() {
        environment.hardware.gpu_clocks = gpu_clocks::read();
    }
    let bound = assignment
        .bindings
        .get(rank as usize)
        .map(|binding| binding.cpus.clone());
    let allowed = || cpu_list::parse(&environment.cpus_allowed);
    let mut cpus = bound.filter(|cpus| !cpus.is_empty()).unwrap_or_else(allowed);
    if let Some(node) = assignment.devices.numa_node {
        let on_node = cpu::cpus_of_numa_node(&roots.sys, node);
        cpus.retain(|cpu| on_node.contains(cpu));
    }
    WorkerHello {
        protocol: PROTOCOL_VERSION,
        runner_version: env!("CARGO_PKG_VERSION").into(),
        cpus,
        boot_id: boot_id(&roots),
        environment,
    }
}

/// Assigns CPUs to each worker, by rank. Performs no I/O.
///
/// If several workers on the same machine have the same set of CPUs, the set is divided among them, provided that it
/// contains at least one CPU for each worker.
pub fn assign_cpus(workers: &[&WorkerHello]) -> Vec<WorkerCpus> {
    workers
        .iter()
        .enumerate()
        .map(|(rank, worker)| {
            let overlaps = |other: &WorkerHello| {
                other.boot_id == worker.boot_id && other.cpus.iter().any(|cpu| worker.cpus.contains(cpu))
            };
            let overlapping_workers = workers.iter().filter(|other| overlaps(other)).count().max(1);
            let before = workers.iter().take(rank).filter(|other| overlaps(other)).count();
            let equal = workers
                .iter()
                .filter(|other| overlaps(other))
                .all(|other| other.cpus == worker.cpus);
            let cpus_each = worker.cpus.len() / overlapping_workers;
            if equal && cpus_each > 0 {
                let cpus = worker.cpus.iter().skip(before * cpus_each).take(cpus_each);
                WorkerCpus {
                    cpus: cpus.copied().collect(),
                    overlapping_workers: 1,
                }
            } else {
                WorkerCpus {
                    cpus: worker.cpus.clone(),
                    overlapping_workers: overlapping_workers as u32,
                }
            }
        })
        .collect()
}

/// Creates the hello record of one worker.
pub fn hello_record(assignment: &Assignment, rank: u32, hello: WorkerHello, started_at: &str) -> HelloRecord {
    HelloRecord {
        version: RECORD_VERSION,
        identity: assignment.identity.clone(),
        rank,
        workers: assignment.workers,
        runner_version: hello.runner_version,
        started_at: started_at.into(),
        environment: hello.environment,
    }
}

/// Current time in UTC, in RFC 3339 format.
pub fn now_rfc3339() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(boot_id: &str, cpus: &[u32]) -> WorkerHello {
        WorkerHello {
            protocol: PROTOCOL_VERSION,
            runner_version: String::new(),
            environment: Default::default(),
            boot_id: boot_id.into(),
            cpus: cpus.to_vec(),
        }
    }

    fn assign(workers: &[WorkerHello]) -> Vec<(Vec<u32>, u32)> {
        let cpus = assign_cpus(&workers.iter().collect::<Vec<_>>());
        cpus.into_iter()
            .map(|worker| (worker.cpus, worker.overlapping_workers))
            .collect()
    }

    #[test]
    fn divides_cpus_among_workers_on_the_same_machine() {
        let workers = [
            worker("a", &[0, 1, 2]),
            worker("b", &[0, 1, 2]),
            worker("a", &[0, 1, 2]),
            worker("a", &[5]),
        ];
        let expected = [(vec![0], 1), (vec![0, 1, 2], 1), (vec![1], 1), (vec![5], 1)];
        assert_eq!(assign(&workers), expected);
    }

    #[test]
    fn does_not_divide_cpu_sets_that_are_too_small_or_differ() {
        assert_eq!(
            assign(&[worker("a", &[0]), worker("a", &[0])]),
            [(vec![0], 2), (vec![0], 2)]
        );
        assert_eq!(
            assign(&[worker("a", &[0, 1]), worker("a", &[1])]),
            [(vec![0, 1], 2), (vec![1], 2)]
        );
    }
}

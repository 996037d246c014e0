//! What a worker says of itself when it comes, and who shares its processors. Reads the machine.

use std::env;

use crds::assignment::Assignment;
use crds::record::{HelloRecord, RECORD_VERSION};

use crate::environment::{boot_id, cpu, host_environment};
use crate::measure::clock;
use crate::rendezvous::message::{PROTOCOL_VERSION, WorkerCpus, WorkerHello};
use crate::topology::SystemRoots;

/// What the worker of `rank` says of itself.
pub fn hello(assignment: &Assignment, rank: u32) -> WorkerHello {
    let roots = SystemRoots::default();
    let environment = host_environment(&roots, |name| env::var(name).ok(), clock::facts(&roots));
    let bound = assignment
        .bindings
        .get(rank as usize)
        .map(|binding| binding.cpus.clone());
    let allowed = || cpu::parse_list(&environment.cpus_allowed);
    WorkerHello {
        protocol: PROTOCOL_VERSION,
        runner_version: env!("CARGO_PKG_VERSION").into(),
        cpus: bound.filter(|cpus| !cpus.is_empty()).unwrap_or_else(allowed),
        boot_id: boot_id(&roots),
        environment,
    }
}

/// The processors of each of `all` workers, by rank: where several have the same ones and there are enough, each gets
/// a part of its own. Pure.
pub fn assign_cpus(all: &[&WorkerHello]) -> Vec<WorkerCpus> {
    all.iter()
        .enumerate()
        .map(|(rank, worker)| {
            let overlaps = |other: &WorkerHello| {
                other.boot_id == worker.boot_id && other.cpus.iter().any(|cpu| worker.cpus.contains(cpu))
            };
            let sharers = all.iter().filter(|other| overlaps(other)).count().max(1);
            let before = all.iter().take(rank).filter(|other| overlaps(other)).count();
            let equal = all
                .iter()
                .filter(|other| overlaps(other))
                .all(|other| other.cpus == worker.cpus);
            let share = worker.cpus.len() / sharers;
            if equal && share > 0 {
                let cpus = worker.cpus.iter().skip(before * share).take(share);
                WorkerCpus {
                    cpus: cpus.copied().collect(),
                    sharers: 1,
                }
            } else {
                WorkerCpus {
                    cpus: worker.cpus.clone(),
                    sharers: sharers as u32,
                }
            }
        })
        .collect()
}

/// The hello record of one worker.
pub fn record(assignment: &Assignment, rank: u32, hello: WorkerHello, started_at: &str) -> HelloRecord {
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

/// The time of day, as RFC 3339 in UTC.
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

    fn of(all: &[WorkerHello]) -> Vec<(Vec<u32>, u32)> {
        let processors = assign_cpus(&all.iter().collect::<Vec<_>>());
        processors
            .into_iter()
            .map(|found| (found.cpus, found.sharers))
            .collect()
    }

    #[test]
    fn workers_of_one_machine_get_a_part_each() {
        let all = [
            worker("a", &[0, 1, 2]),
            worker("b", &[0, 1, 2]),
            worker("a", &[0, 1, 2]),
            worker("a", &[5]),
        ];
        let expected = [(vec![0], 1), (vec![0, 1, 2], 1), (vec![1], 1), (vec![5], 1)];
        assert_eq!(of(&all), expected);
    }

    #[test]
    fn too_few_or_unequal_processors_are_shared() {
        assert_eq!(
            of(&[worker("a", &[0]), worker("a", &[0])]),
            [(vec![0], 2), (vec![0], 2)]
        );
        assert_eq!(
            of(&[worker("a", &[0, 1]), worker("a", &[1])]),
            [(vec![0, 1], 2), (vec![1], 2)]
        );
    }
}

//! Other work on the machines and interfaces while an arm was measured: time in run queues, CPU time of other processes,
//! and bytes of other traffic. Performs no I/O.
//!
//! The kernel counts the use of a CPU in steps of 10 ms, so a single case is too short to say how much of it belongs to
//! other processes. Shares are therefore computed from sums over all valid cases of an arm at a size.

use std::collections::{BTreeMap, BTreeSet};

use crds::record::{CpuContention, ForeignCpu};
use serde::Serialize;

use crate::collect::{Case, Reports};
use crate::plan::Plan;
use crate::summarize::validity::case_check::CaseCheck;

/// Other work while an arm was measured at one size. A value is `None` if it is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Disturbance {
    /// Time that the thread of the instrument process that waited longest spent in a run queue, as a fraction of the
    /// measured time, on the side where this fraction is larger.
    pub run_queue_share: Option<f64>,
    /// CPU time of other processes as a fraction of the time of the worker's CPUs, on the side where it is larger.
    pub foreign_cpu_share: Option<f64>,
    /// Bytes of other traffic on the interfaces, summed over the cases.
    pub foreign_bytes: Option<u64>,
}

impl Disturbance {
    /// The disturbance, unless all of its values are unknown.
    fn known(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }
}

/// Contention of one side of a case.
#[derive(Clone, Copy, Debug)]
struct SideContention<'a> {
    rank: u32,
    host: &'a str,
    started_nanos: u64,
    contention: &'a CpuContention,
}

impl<'a> SideContention<'a> {
    fn end_nanos(&self) -> u64 {
        self.started_nanos.saturating_add(self.contention.interval_nanos)
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.started_nanos < other.end_nanos() && other.started_nanos < self.end_nanos()
    }

    /// CPU time of other processes, if the use of the CPUs is known, and the CPU time of every worker on them. `others` are
    /// all sides that were measured in the same block and arm; those that shared CPUs with this side belong to the run.
    fn foreign_cpu(&self, others: &[SideContention<'a>]) -> Option<ForeignCpu> {
        // The flows of a worker are measured by one process, and all of them report its CPU time.
        let mut used: BTreeMap<u32, u64> = BTreeMap::new();
        for other in others {
            let is_on_cpus = other.contention.shares_cpus(self.contention);
            if other.host == self.host && other.overlaps(self) && is_on_cpus {
                let known = used.entry(other.rank).or_default();
                *known = other.contention.own_nanos?.max(*known);
            }
        }
        let measuring = used.values().map(|nanos| i128::from(*nanos)).sum();
        self.contention.foreign_cpu(measuring)
    }
}

/// Sums over the cases of an arm on one side.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    run_queue: u128,
    interval: u128,
    foreign: ForeignCpu,
}

impl Sums {
    fn add(&mut self, contention: &CpuContention, foreign: Option<ForeignCpu>) {
        if let Some(longest) = contention.longest_run_queue_nanos {
            self.run_queue += u128::from(longest);
            self.interval += u128::from(contention.interval_nanos);
        }
        if let Some(foreign) = foreign {
            self.foreign = self.foreign.plus(foreign);
        }
    }

    fn run_queue_share(&self) -> Option<f64> {
        (self.interval > 0).then(|| self.run_queue as f64 / self.interval as f64)
    }

    fn foreign_cpu_share(&self) -> Option<f64> {
        self.foreign.share()
    }
}

/// Scenario, size and arm.
pub(super) type CellKey = (usize, u64, usize);

/// Disturbance of every arm and size with a valid case. `validities` and `foreign_bytes` have one entry for each case.
pub(in crate::summarize) fn disturbances(
    plan: &Plan,
    reports: &Reports,
    validities: &[CaseCheck],
    foreign_bytes: &[Option<u64>],
) -> BTreeMap<CellKey, Disturbance> {
    let sides = sides_by_block(reports);
    let mut sums: BTreeMap<CellKey, [Sums; 2]> = BTreeMap::new();
    let mut bytes: BTreeMap<CellKey, u64> = BTreeMap::new();
    let cases = reports.cases.iter().zip(validities).zip(foreign_bytes);
    for ((case, validity), foreign) in cases {
        let Some(measured) = case.measurement().filter(|_| validity.is_valid()) else {
            continue;
        };
        let key = (case.scenario, case.size_bytes, case.arm);
        if let Some(foreign) = foreign {
            let sum = bytes.entry(key).or_default();
            *sum = sum.saturating_add(*foreign);
        }
        let others = sides.get(&block_key(case)).map_or(&[][..], Vec::as_slice);
        let of_cell = sums.entry(key).or_default();
        let own_sides = [
            (case.initiator, &measured.initiator),
            (case.target, &measured.target),
        ];
        for (sums, (rank, side)) in of_cell.iter_mut().zip(own_sides) {
            let Some(contention) = &side.contention else {
                continue;
            };
            let side = SideContention {
                rank,
                host: host(reports, case, rank),
                started_nanos: case.started_nanos,
                contention,
            };
            // Processes that a case starts belong to the run, but their CPU time is not in the records.
            let foreign = side.foreign_cpu(others).filter(|_| !starts_processes(plan, case));
            sums.add(contention, foreign);
        }
    }
    let keys: BTreeSet<CellKey> = sums.keys().chain(bytes.keys()).copied().collect();
    let known = keys.into_iter().filter_map(|key| {
        let sums = sums.get(&key).copied().unwrap_or_default();
        let larger = |share: fn(&Sums) -> Option<f64>| sums.iter().filter_map(share).max_by(f64::total_cmp);
        let disturbance = Disturbance {
            run_queue_share: larger(Sums::run_queue_share),
            foreign_cpu_share: larger(Sums::foreign_cpu_share),
            foreign_bytes: bytes.get(&key).copied(),
        };
        Some((key, disturbance.known()?))
    });
    known.collect()
}

fn starts_processes(plan: &Plan, case: &Case) -> bool {
    plan.scenarios.get(case.scenario).is_some_and(|scenario| {
        let workload = &scenario.assignment.workload;
        workload.tool().is_some() || (workload.uses_channels() && plan.is_off_fabric(scenario, case.arm))
    })
}

type BlockKey = (u32, u32, u32, usize);

fn block_key(case: &Case) -> BlockKey {
    (case.leg, case.attempt, case.block, case.arm)
}

/// Sides of all measured cases, valid or not, by block and arm.
fn sides_by_block(reports: &Reports) -> BTreeMap<BlockKey, Vec<SideContention<'_>>> {
    let mut sides: BTreeMap<BlockKey, Vec<SideContention<'_>>> = BTreeMap::new();
    for case in &reports.cases {
        let Some(measured) = case.measurement() else {
            continue;
        };
        for (rank, side) in [
            (case.initiator, &measured.initiator),
            (case.target, &measured.target),
        ] {
            if let Some(contention) = &side.contention {
                sides.entry(block_key(case)).or_default().push(SideContention {
                    rank,
                    host: host(reports, case, rank),
                    started_nanos: case.started_nanos,
                    contention,
                });
            }
        }
    }
    sides
}

/// Node of a worker, or its host if the node is unknown. Pods on the same node share its CPUs.
fn host<'a>(reports: &'a Reports, case: &Case, rank: u32) -> &'a str {
    let hello = reports.hello(case, rank);
    hello.map_or("", |hello| hello.environment.node_or_hostname())
}

#[cfg(test)]
mod tests;

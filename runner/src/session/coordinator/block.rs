//! Runs one block: every arm of the block on every pair of workers, back to back.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::time::Duration;

use crds::assignment::{BlockAssignment, Extent, Pass, RoundAssignment, Workload};
use crds::record::{BlockRecord, CaseFailure, CaseRecord, CaseResult, FailureReason, Record, WarningReason};

use super::Coordinator;
use super::flows::{self, PairResults, ResultsByRank, WorkerResults};
use crate::rendezvous::message::{CaseOrder, Command, FlowOrder, WorkerReport};
use crate::session::merge::SideOrFailure;
use crate::session::setup_failures::SetupFailures;
use crate::session::tournament::Pair;
use crate::session::{Halt, merge};

/// An arm to run in one step of the tournament, with its block and round.
struct ArmTurn<'a> {
    round: &'a RoundAssignment,
    block: &'a BlockAssignment,
    position: usize,
    arm: u32,
}

impl<'a, W: Write> Coordinator<'a, W> {
    /// Runs a block. In each step of the tournament, disjoint pairs run the same arm concurrently, so that every pair
    /// is exposed to the same background load. In the many-to-many pattern, all flows run the same arm concurrently.
    pub(super) fn run_block(
        &mut self,
        round: &RoundAssignment,
        block: &BlockAssignment,
        setup_failures: &SetupFailures,
    ) -> Result<(), Halt> {
        let mut cases = 0;
        for pairs in self.steps.clone() {
            for (position, arm) in block.order.iter().copied().enumerate() {
                let turn = ArmTurn {
                    round,
                    block,
                    position,
                    arm,
                };
                cases += self.run_turn(&turn, &pairs, setup_failures)?;
            }
        }
        let block = block.block;
        self.stream.write(Record::Block(BlockRecord { block, cases }))?;
        self.blocks += 1;
        Ok(())
    }

    fn run_turn(
        &mut self,
        turn: &ArmTurn<'_>,
        pairs: &[Pair],
        setup_failures: &SetupFailures,
    ) -> Result<u32, Halt> {
        let mut failures: BTreeMap<Pair, CaseFailure> = BTreeMap::new();
        for pair in pairs {
            let failure = self.known_failure(turn.arm, *pair, setup_failures);
            failures.extend(failure.map(|failure| (*pair, failure)));
        }
        let mut running = self.runnable_pairs(pairs, &mut failures);
        failures.extend(self.prepare(turn, &running)?);
        running.retain(|pair| !failures.contains_key(pair));
        let running = self.runnable_pairs(&running, &mut failures);
        let started_nanos = self.stream.elapsed_nanos();
        let (measured, span_nanos) = self.run_cases(turn, &running)?;
        let failed = failures
            .into_iter()
            .map(|(pair, failure)| (pair, CaseResult::Failed(failure)));
        let results: BTreeMap<Pair, CaseResult> = failed.chain(measured).collect();
        self.write_warnings()?;
        let cases = results.len() as u32;
        for (pair, result) in results {
            if let Some(workload) = self.workload(turn.block.scenario) {
                self.operation_counts.add(turn.block, workload, &result);
            }
            let record = self.case_record(turn, pair, (started_nanos, span_nanos), result);
            self.stream.write(Record::Case(Box::new(record)))?;
        }
        Ok(cases)
    }

    /// Returns the pairs that can run: those without a failure or, in the many-to-many pattern, all or none. Adds the
    /// failures of the other pairs to `failures`.
    fn runnable_pairs(&self, pairs: &[Pair], failures: &mut BTreeMap<Pair, CaseFailure>) -> Vec<Pair> {
        if self.assignment.many_to_many.is_some() {
            flows::fail_all(pairs, failures);
        }
        let runnable = pairs.iter().filter(|pair| !failures.contains_key(pair));
        runnable.copied().collect()
    }

    /// Whether the windows of all pairs are open simultaneously.
    fn is_simultaneous(&self, turn: &ArmTurn<'_>) -> bool {
        self.assignment.many_to_many.is_some() && turn.block.pass == Pass::Measure
    }

    fn known_failure(&self, arm: u32, pair: Pair, setup_failures: &SetupFailures) -> Option<CaseFailure> {
        let lost = pair.ranks().into_iter().find_map(|rank| self.gang.loss(rank));
        lost.or_else(|| self.unreachable.get(self.process_of(arm), pair))
            .cloned()
            .or_else(|| setup_failures.get(arm, pair))
    }

    /// Prepares both sides of every pair and returns the failures by pair.
    fn prepare(&mut self, turn: &ArmTurn<'_>, pairs: &[Pair]) -> Result<BTreeMap<Pair, CaseFailure>, Halt> {
        self.cases = self.cases.wrapping_add(1);
        let workload = self.workload(turn.block.scenario);
        let measured = workload.map_or(Extent::Iterations(0), |workload| {
            self.operation_counts.extent(turn.block, workload)
        });
        let mut flows: BTreeMap<u32, Vec<FlowOrder>> = BTreeMap::new();
        for pair in pairs {
            for (rank, peer, initiator) in pair.sides() {
                let seed = seed(turn.block.block, *pair);
                flows.entry(rank).or_default().push(FlowOrder {
                    peer,
                    initiator,
                    seed,
                });
            }
        }
        let ranks: Vec<u32> = flows.keys().copied().collect();
        for (rank, flows) in flows {
            let order = CaseOrder {
                number: self.cases,
                arm: turn.arm,
                flows,
                is_simultaneous: self.is_simultaneous(turn),
                scenario: turn.block.scenario,
                pass: turn.block.pass,
                size_bytes: turn.block.size_bytes,
                measured,
            };
            self.gang.send(rank, Command::Prepare(order));
        }
        let timeout = self.step_timeout();
        let ready = self
            .gang
            .gather(&ranks, "preparing a case", timeout, |_, report| match report {
                WorkerReport::Ready(result) => Some(result),
                _ => None,
            })?;
        let failure = |rank: u32| {
            ready.get(&rank).and_then(|result| {
                result
                    .as_ref()
                    .map_or_else(Some, |prepared| prepared.as_ref().err())
            })
        };
        let not_ready = pairs.iter().filter_map(|pair| {
            let failed = merge::merge_failures(pair.ranks().map(|rank| (rank, failure(rank))))?;
            Some((*pair, failed))
        });
        Ok(not_ready.collect())
    }

    /// Runs the prepared cases of `pairs` concurrently. Returns their results and, if their windows are open
    /// simultaneously, the duration from opening the windows to closing the last one.
    fn run_cases(&mut self, turn: &ArmTurn<'_>, pairs: &[Pair]) -> Result<(PairResults, Option<u64>), Halt> {
        let is_simultaneous = self.is_simultaneous(turn);
        let timeout = self.case_timeout(turn.block, turn.arm);
        let ranks: BTreeSet<u32> = pairs.iter().flat_map(|pair| pair.ranks()).collect();
        let ranks: Vec<u32> = ranks.into_iter().collect();
        for rank in &ranks {
            self.gang.send(*rank, Command::Go);
        }
        let mut done = BTreeMap::new();
        let span_nanos = match is_simultaneous && !ranks.is_empty() {
            true => self.control_flows(&ranks, timeout, &mut done)?,
            false => None,
        };
        self.collect_results(&ranks, timeout, &mut done)?;
        for (rank, finished) in &mut done {
            let evidence = finished
                .as_mut()
                .map(|finished| std::mem::take(&mut finished.evidence));
            for line in evidence.into_iter().flatten() {
                self.warn(*rank, WarningReason::Evidence, &line)?;
            }
        }
        // A worker's results are in flow order, which is also the order of the pairs.
        let mut side = |rank: u32| -> (u32, SideOrFailure) {
            let result = match done.get_mut(&rank) {
                Some(Ok(finished)) => finished.next_result().unwrap_or_else(|| Err(missing_response())),
                Some(Err(failure)) => Err(failure.clone()),
                None => Err(missing_response()),
            };
            (rank, result)
        };
        let mut results: PairResults = pairs
            .iter()
            .map(|pair| (*pair, merge::merge_sides(side(pair.initiator), side(pair.target))))
            .collect();
        if is_simultaneous {
            flows::name_cause(&mut results);
        }
        Ok((results, span_nanos))
    }

    /// Adds the results of all workers in `ranks` that are not in `done` yet.
    fn collect_results(
        &mut self,
        ranks: &[u32],
        timeout: Duration,
        done: &mut ResultsByRank,
    ) -> Result<(), Halt> {
        let missing: Vec<u32> = ranks
            .iter()
            .copied()
            .filter(|rank| !done.contains_key(rank))
            .collect();
        done.extend(
            self.gang
                .gather(&missing, "running a case", timeout, |_, report| match report {
                    WorkerReport::Done { results, evidence } => Some(WorkerResults::new(results, evidence)),
                    _ => None,
                })?,
        );
        Ok(())
    }

    /// Workload of the scenario with index `scenario`. Assignments with unknown indexes are rejected when they are
    /// read.
    fn workload(&self, scenario: u32) -> Option<&'a Workload> {
        let scenario = self.assignment.scenarios.get(scenario as usize);
        scenario.map(|scenario| &scenario.workload)
    }

    fn case_record(
        &self,
        turn: &ArmTurn<'_>,
        pair: Pair,
        (started_nanos, span_nanos): (u64, Option<u64>),
        result: CaseResult,
    ) -> CaseRecord {
        let scenario = self.assignment.scenarios.get(turn.block.scenario as usize);
        CaseRecord {
            block: turn.block.block,
            round: turn.round.round,
            restart: self.restart,
            pass: turn.block.pass,
            scenario: scenario.map(|scenario| scenario.name.clone()).unwrap_or_default(),
            size_bytes: turn.block.size_bytes,
            arm: self.arm_name(turn.arm),
            position: turn.position as u32,
            initiator: pair.initiator,
            target: pair.target,
            started_nanos,
            span_nanos,
            result,
        }
    }
}

/// Failure for a rank without a response. This cannot happen, because
/// [`Gang::gather`](crate::session::gang::Gang::gather) returns a response or a failure for every rank.
fn missing_response() -> CaseFailure {
    CaseFailure {
        reason: FailureReason::Internal,
        message: "no response was collected from this side".into(),
    }
}

/// Seed for the byte pattern of a case. It is the same on both sides and in every attempt, but differs between blocks
/// and between pairs. One step of SplitMix64 (Steele, Lea, Flood 2014) decorrelates the seeds of consecutive blocks.
fn seed(block: u32, pair: Pair) -> u64 {
    let number = u64::from(block) << 32 | u64::from(pair.initiator) << 16 | u64::from(pair.target);
    let mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

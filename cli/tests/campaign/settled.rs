//! A run that ends comparisons as soon as they are decided, and that is killed or interrupted in every stage. The
//! analyses depend only on the records, so each attempt measures exactly what the run still needs.

use std::collections::BTreeSet;
use std::path::Path;

use campaign::analyze;
use campaign::collect::{Reports, collect};
use campaign::plan::HashedPlan;
use campaign::validate::validate;
use crds::v1alpha1::State;
use rustix::process::Signal;

use super::harness::{RunningCommand, TestDir};
use super::manifest::{LOOPBACK, NAME, run};
use super::stored_run::{self, StoredRun, blocks, streams};

/// Number of blocks that a stage must finish before it is interrupted.
const BLOCKS_BEFORE_INTERRUPTION: usize = 2;
/// The scheduler's noise exceeds the margin, so the first analysis usually leaves some comparisons open.
const SAMPLING: &str = "sampling: {stop: Settled, rounds: 40, minWindow: 10ms, marginPercent: 1}";
const VARIANTS: &str = "[{name: baseline}, {name: fi-inject, inject: {maxBytes: 64}}, \
                        {name: unused, env: [{name: UNUSED, value: '1'}]}]";
const SCENARIOS: &str =
    "[{name: small, integrity: false, pingPong: {sizes: [64, 4Ki], iterations: 50, warmup: 5}}]";

#[test]
fn run_that_is_interrupted_in_every_stage_measures_only_what_it_still_needs() {
    let dir = TestDir::new();
    let manifest = dir.manifest(&run(VARIANTS, LOOPBACK, SCENARIOS, &[SAMPLING]));
    let directory = dir.run_dir(NAME);
    let mut interrupted = BTreeSet::new();
    let mut before = Vec::new();
    let mut plan = None;
    let mut command = dir.run(&manifest);
    loop {
        let mut running = RunningCommand::start(command);
        let stopped_in =
            running.wait_for_or_exit(|_| stage_to_interrupt(&directory, &mut plan, &interrupted));
        if let Some(stage) = stopped_in {
            // A killed process cannot store anything, whereas an interrupted one updates the status.
            let signal = if stage % 2 == 0 { Signal::KILL } else { Signal::INT };
            running.signal_group(signal);
            interrupted.insert(stage);
        }
        let output = running.wait();
        let after = streams(&directory.join("records.jsonl"));
        assert_eq!(
            after[..before.len()],
            before,
            "the records of an earlier attempt changed"
        );
        if stored_run::run(&directory).status.unwrap().state == Some(State::Complete) {
            break;
        }
        assert!(stopped_in.is_some(), "{output}");
        before = after;
        command = dir.resume(&manifest);
    }
    let stored = StoredRun::read(&directory);
    stored.assert_complete();
    let (plan, reports) = plan_and_reports(&directory);
    let stages: BTreeSet<usize> = stored
        .blocks()
        .iter()
        .flatten()
        .filter_map(|block| stage_of(&plan, *block))
        .collect();
    println!("interrupted in stages {interrupted:?} of {stages:?}");
    assert_eq!(interrupted, stages);
    // Each stage has its own stream, and a second one because of the interruption.
    assert_eq!(stored.streams.len(), 2 * stages.len());
    // Every needed block was measured once, and no other block was measured.
    let measured: Vec<u32> = stored.blocks().into_iter().flatten().collect();
    let stopping = analyze(&plan, &reports).unwrap();
    let needed = plan.legs.iter().flat_map(|leg| {
        let leg = stopping.reduce(&plan, leg).into_owned();
        leg.rounds.into_iter().flat_map(|round| round.blocks)
    });
    let needed: BTreeSet<u32> = needed.map(|block| block.block).collect();
    assert_eq!(measured.len(), needed.len(), "{measured:?}");
    assert_eq!(measured.into_iter().collect::<BTreeSet<_>>(), needed);
}

/// Returns the stage of the run in `directory` that is in progress and has not been interrupted yet, once it has
/// finished enough blocks. `plan` caches the run's plan for the next call.
fn stage_to_interrupt(
    directory: &Path,
    plan: &mut Option<HashedPlan>,
    interrupted: &BTreeSet<usize>,
) -> Option<usize> {
    let last = streams(&directory.join("records.jsonl")).pop()?;
    let plan = plan.get_or_insert_with(|| plan_and_reports(directory).0);
    let stages = blocks(&last)
        .into_iter()
        .filter_map(|block| stage_of(plan, block));
    let stages: Vec<usize> = stages.collect();
    let current = *stages.last()?;
    let finished = stages.iter().filter(|stage| **stage == current).count();
    (finished >= BLOCKS_BEFORE_INTERRUPTION && !interrupted.contains(&current)).then_some(current)
}

fn stage_of(plan: &HashedPlan, block: u32) -> Option<usize> {
    let contains = |leg: &&campaign::plan::Leg| {
        let mut blocks = leg.rounds.iter().flat_map(|round| &round.blocks);
        blocks.any(|one| one.block == block)
    };
    plan.legs.iter().find(contains).map(|leg| plan.stage_of_leg(leg))
}

/// Returns the plan and the verified records of the run in `directory`.
fn plan_and_reports(directory: &Path) -> (HashedPlan, Reports) {
    let run = stored_run::run(directory);
    let plan = campaign::plan::plan(&validate(&run).unwrap()).unwrap();
    let uid = run.metadata.uid.unwrap();
    let records = std::fs::read(directory.join("records.jsonl")).unwrap();
    let reports = collect(&plan, &uid, &records[..]);
    (plan, reports)
}

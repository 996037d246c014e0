//! A run that was stopped, and goes on.

use std::collections::BTreeSet;

use crds::v1alpha1::State;
use rustix::process::Signal;

use super::manifest::{INJECT_64, NAME, SHM, run};
use super::program::{Desk, Running};
use super::stored::{self, Stored, blocks, streams};

/// Blocks of this run: two sizes in an integrity round and four measured ones.
const BLOCKS: u32 = 2 * 5;
const SCENARIOS: &str = "[{name: small, pingPong: {sizes: [64, 256], duration: 150ms}}]";

fn manifest(rounds: u32, last_size: u32) -> String {
    let scenarios = SCENARIOS.replace("256", &last_size.to_string());
    run(
        INJECT_64,
        SHM,
        &scenarios,
        &[&format!("sampling: {{rounds: {rounds}}}")],
    )
}

/// A campaign that has finished some blocks and not all.
fn in_the_middle(desk: &Desk) -> Running {
    let mut running = Running::start(desk.run(&desk.manifest(&manifest(4, 256))));
    let records = desk.run_folder(NAME).join("records.jsonl");
    running.wait_for(|_| {
        let done = streams(&records).first().map(|stream| blocks(stream).len());
        (done >= Some(4)).then_some(())
    });
    running
}

/// Goes on with what is in the folder; only what was missing is measured, and the numbers are of both parts.
fn is_completed(desk: &Desk) {
    let folder = desk.run_folder(NAME);
    let before = streams(&folder.join("records.jsonl"));
    let kept = blocks(&before[0]);
    assert!((4..BLOCKS as usize).contains(&kept.len()), "{kept:?}");

    let command = desk.resume(&desk.manifest(&manifest(4, 256)));
    let ended = Running::start(command).end().exits(0);
    ended.says(&format!("{}/{BLOCKS} blocks", kept.len()));
    ended.says(&format!("{BLOCKS}/{BLOCKS} blocks"));
    let stored = Stored::read(&folder);
    stored.is_complete();
    assert_eq!(stored.streams[0], before[0], "what was measured stays as it was");
    let added = stored.blocks()[1].clone();
    assert!(added.is_disjoint(&kept), "measured twice: {added:?} {kept:?}");
    assert_eq!(&added | &kept, (0..BLOCKS).collect::<BTreeSet<_>>());
    for result in &stored.status().results {
        assert_eq!(result.valid_rounds, 4, "{result:?}");
    }
}

#[test]
fn after_it_was_killed() {
    let desk = Desk::new();
    let running = in_the_middle(&desk);
    running.signal(Signal::KILL);
    running.end().killed_by(Signal::KILL);
    assert_eq!(
        stored::run(&desk.run_folder(NAME)).status.unwrap().state,
        Some(State::Running),
        "nobody was there to write more"
    );
    is_completed(&desk);
}

#[test]
fn after_ctrl_c() {
    let desk = Desk::new();
    let running = in_the_middle(&desk);
    running.signal_group(Signal::INT);
    let ended = running.end().exits(3);
    ended.says("stopping: what is measured so far is kept");
    ended.shows(&format!("of {BLOCKS} blocks: not complete"));
    let stored = Stored::read(&desk.run_folder(NAME));
    assert_eq!(stored.status().state, Some(State::Failed));
    assert_eq!(stored.condition("Failed").reason, "Interrupted");
    is_completed(&desk);
}

#[test]
fn never_as_another_run() {
    let desk = Desk::new();
    let short = |rounds, size| manifest(rounds, size).replace("150ms", "1ms");
    Running::start(desk.run(&desk.manifest(&short(1, 256))))
        .end()
        .exits(0);
    let records = desk.run_folder(NAME).join("records.jsonl");
    let before = streams(&records);
    for (manifest, words) in [
        (short(2, 256), "spec.sampling.rounds was 1 and is 2"),
        (
            short(1, 512),
            "spec.scenarios[0].pingPong.sizes[1] was 256 and is 512",
        ),
    ] {
        let ended = Running::start(desk.resume(&desk.manifest(&manifest)))
            .end()
            .exits(2);
        ended.says(words);
        ended.says("--output");
    }
    assert_eq!(streams(&records), before);
}

#[test]
fn only_where_there_is_one() {
    let desk = Desk::new();
    let ended = Running::start(desk.resume(&desk.manifest(&manifest(4, 256))))
        .end()
        .exits(2);
    ended.says("is no run's folder: it has no run.json");
}

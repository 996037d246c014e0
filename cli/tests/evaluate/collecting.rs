//! Collects complete, truncated, reordered, modified and duplicated streams, and streams of other runs.

use std::sync::LazyLock;

use campaign::collect::{BlockFault, Collector, FaultKind, RefusedStream, Reports, collect};
use campaign::plan::{HashedPlan, Plan};
use crds::record::{BlockRecord, ChainWriter, LineError, MAX_LINE_BYTES, Record};
use proptest::prelude::*;

use crate::fixture::{Campaign, UID, hello, stream_of};

fn read(campaign: &Campaign, text: &str) -> Reports {
    collect(&campaign.plan, UID, text.as_bytes())
}

fn kinds(reports: &Reports) -> Vec<&FaultKind> {
    reports.faults.iter().map(|fault| &fault.kind).collect()
}

/// Number of blocks that the first `count` lines of the stream complete.
fn blocks_in(text: &str, count: usize) -> u32 {
    text.lines()
        .take(count)
        .filter(|line| line.contains(r#""kind":"block""#))
        .count() as u32
}

#[test]
fn counts_every_block_of_a_complete_stream_once() {
    let campaign = Campaign::default();
    let text = campaign.stream(1, &[]);
    let once = read(&campaign, &text);
    assert_eq!(once.blocks_done(), campaign.plan.blocks_total);
    assert_eq!(once.cases.len() as u32, campaign.plan.blocks_total * 6);
    assert!(once.faults.is_empty() && once.streams[0].end.as_ref().is_some_and(|end| end.complete));
    // Reading the same stream again, as after a restart, changes nothing.
    let twice = read(&campaign, &format!("{text}{text}"));
    assert_eq!(twice.cases.len(), once.cases.len());
    assert_eq!(
        (twice.hellos.len(), twice.cold.len()),
        (once.hellos.len(), once.cold.len())
    );
    assert!(twice.faults.is_empty() && twice.streams.len() == 1);
}

#[test]
fn next_attempt_completes_a_truncated_attempt() {
    let campaign = Campaign::default();
    let first = campaign.stream(1, &[]);
    let cut: String = first.lines().take(200).flat_map(|line| [line, "\n"]).collect();
    let done = blocks_in(&first, 200);
    assert!(done > 3);
    let finished: Vec<u32> = (0..done).collect();
    let text = format!("{cut}{}", campaign.stream(2, &finished));
    let reports = read(&campaign, &text);
    assert_eq!(reports.blocks_done(), campaign.plan.blocks_total);
    assert_eq!(
        reports.cases.iter().filter(|case| case.attempt == 1).count() as u32,
        done * 6
    );
    assert!(reports.faults.is_empty());
    assert!(reports.streams[0].end.is_none() && reports.streams[1].end.is_some());
}

#[test]
fn uses_only_the_first_attempt_of_a_block() {
    let campaign = Campaign::default();
    let text = format!("{}{}", campaign.stream(1, &[]), campaign.stream(2, &[]));
    let reports = read(&campaign, &text);
    assert!(reports.cases.iter().all(|case| case.attempt == 1));
    assert_eq!(reports.blocks_done(), campaign.plan.blocks_total);
}

#[test]
fn reports_a_last_line_that_is_too_long() {
    let campaign = Campaign::default();
    let text = campaign.stream(1, &[]);
    let whole: String = text.lines().take(150).map(|line| format!("{line}\n")).collect();
    for rest in ["x".repeat(MAX_LINE_BYTES), "x".repeat(MAX_LINE_BYTES) + "\n"] {
        let reports = read(&campaign, &(whole.clone() + &rest));
        let error = LineError::TooLong {
            seq: 150,
            length: MAX_LINE_BYTES,
        };
        assert_eq!(kinds(&reports), [&FaultKind::from(error)]);
        assert_eq!(reports.faults[0].line, 151);
    }
}

#[test]
fn reports_a_truncated_line_and_counts_everything_before_it() {
    let campaign = Campaign::default();
    let text = campaign.stream(1, &[]);
    let cut = text.lines().take(150).map(|line| line.len() + 1).sum::<usize>() + 40;
    let reports = read(&campaign, &text[..cut]);
    assert_eq!(kinds(&reports), [&FaultKind::Truncated { bytes: 40 }]);
    assert_eq!(reports.faults[0].line, 151);
    assert_eq!(reports.blocks_done(), blocks_in(&text, 150));
}

#[test]
fn reordered_and_edited_streams_are_read_up_to_the_fault() {
    let campaign = Campaign::default();
    let text = campaign.stream(1, &[]);
    let mut lines: Vec<String> = text.lines().map(|line| format!("{line}\n")).collect();
    lines.swap(100, 101);
    let swapped = read(&campaign, &lines.concat());
    assert!(matches!(kinds(&swapped)[..], [FaultKind::Broken { reason }] if reason.contains("reordered")));
    assert_eq!(swapped.blocks_done(), blocks_in(&text, 100));
    assert_eq!(swapped.faults[0].lines_skipped as usize, lines.len() - 101);

    let edited = text.replacen("\"cpuNanos\":", "\"cpuNanos\":1", 1);
    let reports = read(&campaign, &edited);
    assert!(matches!(kinds(&reports)[..], [FaultKind::Broken { reason }] if reason.contains("was changed")));
    assert!(reports.blocks_done() < campaign.plan.blocks_total);
}

#[test]
fn rejects_streams_of_another_run_or_plan() {
    let campaign = Campaign::default();
    let text = campaign.stream(1, &[]);
    let mut other = Plan::from(campaign.plan.clone());
    other.run = "other".to_owned();
    let other = HashedPlan::from(other);
    let read_as = |plan: &HashedPlan, uid: &str| collect(plan, uid, text.as_bytes());
    let refused = |reports: &Reports| match kinds(reports)[..] {
        [FaultKind::Refused { why }] => Some(why.clone()),
        _ => None,
    };
    assert!(matches!(
        refused(&read_as(&campaign.plan, "other")),
        Some(RefusedStream::OtherRun { .. })
    ));
    assert!(matches!(
        refused(&read_as(&other, UID)),
        Some(RefusedStream::OtherPlan { .. })
    ));
    assert!(read_as(&campaign.plan, "other").cases.is_empty());
    let mut newer = hello(0, 1);
    newer.version = 99;
    let reports = read(&campaign, &stream_of(&[Record::Hello(Box::new(newer))]));
    assert!(matches!(
        refused(&reports),
        Some(RefusedStream::Version { found: 99 })
    ));
    let mut elsewhere = hello(0, 1);
    elsewhere.identity.leg = 7;
    let reports = read(&campaign, &stream_of(&[Record::Hello(Box::new(elsewhere))]));
    assert!(matches!(
        refused(&reports),
        Some(RefusedStream::UnknownLeg { leg: 7 })
    ));
}

#[test]
fn rejects_another_stream_of_the_same_attempt() {
    let campaign = Campaign::default();
    let other = Campaign {
        effects: [(("baseline", 64), 2.0)].into(),
        ..Campaign::default()
    };
    let text = format!("{}{}", campaign.stream(1, &[]), other.stream(1, &[]));
    let reports = read(&campaign, &text);
    assert!(matches!(
        kinds(&reports)[..],
        [FaultKind::Refused {
            why: RefusedStream::ConflictingAttempt { leg: 0, attempt: 1 }
        }]
    ));
    assert_eq!(reports.blocks_done(), campaign.plan.blocks_total);
}

#[test]
fn rejects_a_stream_that_does_not_start_with_the_hello_of_rank_0() {
    let campaign = Campaign::default();
    let headless = stream_of(&[Record::Block(BlockRecord { block: 0, cases: 0 })]);
    assert!(matches!(
        kinds(&read(&campaign, &headless))[..],
        [FaultKind::Misplaced { .. }]
    ));
    let rank_1 = stream_of(&[Record::Hello(Box::new(hello(1, 1)))]);
    assert!(matches!(
        kinds(&read(&campaign, &rank_1))[..],
        [FaultKind::Misplaced { .. }]
    ));
}

#[test]
fn block_with_missing_cases_is_not_complete() {
    let campaign = Campaign::default();
    let mut writer = ChainWriter::default();
    let mut text = writer.line(&Record::Hello(Box::new(hello(0, 1)))).unwrap();
    text += &writer
        .line(&Record::Block(BlockRecord { block: 0, cases: 6 }))
        .unwrap();
    text += &writer
        .line(&Record::Block(BlockRecord { block: 1, cases: 0 }))
        .unwrap();
    text += &writer
        .line(&Record::Block(BlockRecord {
            block: 4711,
            cases: 0,
        }))
        .unwrap();
    let reports = read(&campaign, &text);
    let faults: Vec<&BlockFault> = reports
        .faults
        .iter()
        .filter_map(|fault| match &fault.kind {
            FaultKind::Block { why, .. } => Some(why),
            _ => None,
        })
        .collect();
    assert!(matches!(
        faults[..],
        [
            BlockFault::Count { claimed: 6, found: 0 },
            BlockFault::ArmMissing { .. },
            BlockFault::Unknown
        ]
    ));
    assert_eq!(reports.blocks_done(), 0);
}

#[test]
fn case_that_contradicts_the_plan_invalidates_its_block() {
    let campaign = Campaign {
        tweak: |case| {
            if case.block == 9 && case.arm == "doorbell" {
                case.size_bytes += 1;
            }
        },
        ..Campaign::default()
    };
    let reports = campaign.reports();
    assert_eq!(reports.blocks_done(), campaign.plan.blocks_total - 1);
    assert!(!reports.is_done(0, 9));
    assert!(
        reports.faults[0].to_string().contains("does not match the plan"),
        "{}",
        reports.faults[0]
    );
}

#[test]
fn overlong_and_non_text_lines_are_reported() {
    let campaign = Campaign::default();
    let long = format!("{{\"seq\":0,\"x\":\"{}\"}}\n", "a".repeat(1 << 20));
    let reports = read(&campaign, &format!("{long}{}", campaign.stream(1, &[])));
    let too_long = LineError::TooLong {
        seq: 0,
        length: 16 * 1024,
    };
    assert_eq!(kinds(&reports), [&FaultKind::from(too_long)]);
    assert_eq!(reports.blocks_done(), campaign.plan.blocks_total);
    let binary = collect(&campaign.plan, UID, b"\xff\xfe\n");
    assert_eq!(kinds(&binary), [&FaultKind::NotText]);
}

/// Created once, because writing a stream takes longer than reading it.
static WHOLE: LazyLock<(Campaign, String)> = LazyLock::new(|| {
    let campaign = Campaign::default();
    let text = campaign.stream(1, &[]);
    (campaign, text)
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn chunks_of_any_length_produce_the_same_reports(cuts in prop::collection::vec(1usize..20_000, 1..40)) {
        let (campaign, text) = &*WHOLE;
        let mut collector = Collector::new(&campaign.plan, UID);
        let mut rest = text.as_bytes();
        for cut in cuts {
            let (piece, after) = rest.split_at(cut.min(rest.len()));
            collector.feed(piece);
            rest = after;
        }
        let fed = text.len() - rest.len();
        let expected = text[..fed].matches(r#""kind":"block""#).count() as u32;
        let done = collector.reports().blocks_done();
        prop_assert!(done == expected || done + 1 == expected, "{} of {}", done, expected);
        collector.feed(rest);
        let reports = collector.finish();
        prop_assert_eq!(reports.blocks_done(), campaign.plan.blocks_total);
        prop_assert!(reports.faults.is_empty());
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>, at in 0usize..60_000) {
        let (campaign, text) = &*WHOLE;
        let mut text = text.clone().into_bytes();
        let at = at.min(text.len());
        text.splice(at..at, bytes);
        let _ = collect(&campaign.plan, UID, &text);
    }
}

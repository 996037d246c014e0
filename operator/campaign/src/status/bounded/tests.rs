//! Tests the size limit with the largest possible run, in which every string has its maximum length.

use crds::quantity::Quantity;
use crds::v1alpha1::{
    AttemptState, AttemptStatus, CaseValidity, Condition, Engagement, EnvironmentSummary, ExecutionStatus,
    ExpectationOutcome, ExpectationResult, InconclusiveReason, KneePosition, Metric, Optimization,
    OptimizationResult, PairResult, PlacementStatus, SweepKnee, SweepPoint, SweepResult,
};

use super::*;
use crate::status::{MAX_SWEEPS, MAX_TEXT};

const VARIANTS: usize = 16;
const SIZES: u64 = 64;

fn text() -> String {
    "x".repeat(MAX_TEXT)
}

fn arm(index: usize) -> String {
    format!("{:0>38}-{index:x}", "variant")
}

/// More quantities than any scenario has.
fn quantities() -> impl Iterator<Item = Quantity> {
    let absent = [
        "serving",
        "footprint",
        "flush",
        "readBack",
        "firstBatch",
        "meanRoundTrip",
    ];
    let mut all = Vec::from(Quantity::ALL);
    all.retain(|quantity| !absent.iter().any(|prefix| quantity.name().starts_with(prefix)));
    all.into_iter()
}

fn result(arm_index: usize, size: u64) -> ArmResult {
    let optimization = |optimization| OptimizationResult {
        optimization,
        engagement: Engagement::RequestedOnly,
        reason: text(),
    };
    ArmResult {
        scenario: "s".repeat(40),
        size_bytes: (size + 1) << 20,
        arm: arm(arm_index),
        valid_rounds: 15,
        validity: CaseValidity::Valid,
        reason: Some(text()),
        values: quantities().map(|quantity| (quantity, 123_456_789)).collect(),
        optimizations: [
            Optimization::Inject,
            Optimization::Doorbell,
            Optimization::Coalesce,
        ]
        .map(optimization)
        .into(),
        call: None,
        footprint: None,
        fabric: None,
        emulated: None,
        protocols: Vec::new(),
    }
}

fn comparison(arm_index: usize, size: u64) -> ComparisonResult {
    let verdicts = [
        Verdict::NoChange,
        Verdict::Inconclusive,
        Verdict::Improved,
        Verdict::NoChange,
    ];
    ComparisonResult {
        scenario: "s".repeat(40),
        size_bytes: (size + 1) << 20,
        arm: arm(arm_index),
        metric: Metric::LatencyP50,
        primary: true,
        negative_control: arm_index == VARIANTS,
        rounds: 15,
        effect_ppm: Some(-123_456),
        lower_ppm: Some(-123_456),
        upper_ppm: Some(-123_456),
        minimum_detectable_ppm: Some(123_456),
        verdict: verdicts.get(size as usize % 4).copied(),
        withheld: None,
        inconclusive: Some(InconclusiveReason::Resolution),
        reason: Some(text()),
        rounds_to_settle: Some(1000),
        ended: None,
    }
}

fn attempt(number: u32) -> AttemptStatus {
    AttemptStatus {
        leg: 1019,
        attempt: number,
        state: AttemptState::Disrupted,
        job_uid: "0".repeat(36),
        coordinator_pod_uid: Some("0".repeat(36)),
        admitted_at: None,
        image_digest: Some("0".repeat(71)),
        started_at: Some("2026-03-01T10:00:00Z".to_owned()),
        finished_at: Some("2026-03-01T10:00:00Z".to_owned()),
        reason: Some("InvalidRecordStream".to_owned()),
        message: Some(text()),
    }
}

fn sweep(arm_index: usize) -> SweepResult {
    let point = |rate| SweepPoint {
        rate,
        completed_rate: Some(10_000_000),
        p50_nanos: Some(10_000_000_000),
        p99_nanos: Some(10_000_000_000),
        sustained: Some(false),
    };
    SweepResult {
        scenario: "s".repeat(40),
        size_bytes: 1 << 30,
        arm: arm(arm_index),
        knee: Some(SweepKnee {
            position: KneePosition::InRange,
            rate: Some(9_999_999),
            next_rate: Some(10_000_000),
        }),
        capacity: Some(10_000_000),
        capacity_lower: Some(10_000_000),
        capacity_upper: Some(10_000_000),
        points: (1..=32).map(point).collect(),
    }
}

fn largest() -> BenchmarkRunStatus {
    let cells = || (0..SIZES).flat_map(|size| (0..=VARIANTS).map(move |arm| (arm, size)));
    let condition = |type_: &str| Condition {
        type_: type_.to_owned(),
        status: "False".to_owned(),
        reason: "BlocksMissing".to_owned(),
        message: text(),
        last_transition_time: "2026-03-01T10:00:00Z".to_owned(),
        observed_generation: Some(1),
    };
    let types = [
        "Accepted",
        "Suspended",
        "Running",
        "Complete",
        "Failed",
        "CleanupBlocked",
    ];
    BenchmarkRunStatus {
        conditions: types.map(condition).into(),
        placement: Some(PlacementStatus {
            nodes: vec!["n".repeat(64); 64],
        }),
        environment: Some(EnvironmentSummary {
            kernels: vec![text(); 64],
            ..EnvironmentSummary::default()
        }),
        results: cells().map(|(arm, size)| result(arm, size)).collect(),
        comparisons: cells()
            .filter(|(arm, _)| *arm > 0)
            .map(|(arm, size)| comparison(arm, size))
            .collect(),
        expectations: (0..32)
            .map(|index| ExpectationResult {
                index,
                text: text(),
                outcome: ExpectationOutcome::Inconclusive,
                reason: text(),
            })
            .collect(),
        pairs: (0..16)
            .map(|pair| PairResult {
                scenario: "s".repeat(40),
                size_bytes: pair << 20,
                initiator: "i".repeat(253),
                target: "t".repeat(253),
                deviation_ppm: -123_456,
            })
            .collect(),
        sweeps: (0..MAX_SWEEPS).map(sweep).collect(),
        verdict: Some(text()),
        warnings: vec![text(); 64],
        execution: Some(ExecutionStatus {
            attempts: (1..=16).map(attempt).collect(),
            ..ExecutionStatus::default()
        }),
        ..BenchmarkRunStatus::default()
    }
}

#[test]
fn largest_run_stays_below_64_kib_and_lists_omissions() {
    let all = largest();
    assert!(length(&all) > 4_000_000, "{}", length(&all));
    let fitted = fit(all.clone());
    assert!(length(&fitted) <= MAX_STATUS_BYTES, "{}", length(&fitted));
    let warning = &fitted.warnings[0];
    assert!(
        warning.starts_with("to keep the status below 64 KiB, long messages are truncated, "),
        "{warning}"
    );
    assert!(warning.contains("1088 of 1088 results are omitted"), "{warning}");
    assert!(warning.contains(" of 1024 comparisons are omitted"), "{warning}");
    assert_eq!(fitted.conditions, all.conditions);
    assert_eq!(fitted.sweeps.len(), MAX_SWEEPS);
    assert!(fitted.sweeps.iter().all(|sweep| sweep.points.is_empty()));
    let left = &fitted.comparisons;
    assert!(left.len() > 40, "{}", left.len());
    assert!(
        left.iter().all(|one| one.verdict == Some(Verdict::Improved)),
        "changes are kept longest"
    );
    assert!(
        left.is_sorted_by_key(|one| one.size_bytes),
        "comparisons stay in the order of the plan"
    );
}

#[test]
fn omits_detail_before_results_and_results_before_comparisons() {
    let mut status = largest();
    status.results.truncate(38);
    status.comparisons.truncate(40);
    status.expectations.clear();
    status.execution = None;
    status.sweeps.truncate(2);
    let fitted = fit(status.clone());
    assert_eq!((fitted.results.len(), fitted.comparisons.len()), (38, 40));
    let p50 = |status: &BenchmarkRunStatus| status.results[0].value(Quantity::LatencyP50Nanos);
    assert_eq!(p50(&fitted), p50(&status));
    assert!(length(&fitted) <= MAX_STATUS_BYTES);
}

#[test]
fn shortens_messages_before_omitting_values_and_counts_omitted_values() {
    let mut status = largest();
    status.results.truncate(20);
    status.comparisons.truncate(20);
    status.expectations.clear();
    status.execution = None;
    status.pairs.clear();
    status.sweeps.clear();
    let fitted = fit(status.clone());
    assert!(
        fitted
            .results
            .iter()
            .all(|one| one.value(Quantity::LatencyP95Nanos).is_some())
    );
    // Each of the 20 results loses its three disturbances.
    assert_eq!(fitted.omitted_values, Some(3 * 20));

    status.results = largest().results;
    status.results.truncate(200);
    status.omitted_values = Some(5);
    let fitted = fit(status);
    assert!(
        fitted
            .results
            .iter()
            .all(|one| one.value(Quantity::LatencyP95Nanos).is_none())
    );
    let dropped = 200 - fitted.results.len() as u32;
    let values_per_result = quantities().count() as u32;
    // p50, p99, the throughput, and the two values that a command reports.
    let left = 5;
    let result_values =
        dropped * values_per_result + fitted.results.len() as u32 * (values_per_result - left);
    // Each of the 20 comparisons loses its minimum detectable effect and its number of rounds to settle.
    assert_eq!(fitted.omitted_values, Some(5 + result_values + 2 * 20));
}

#[test]
fn leaves_a_status_that_fits_unchanged() {
    let mut status = largest();
    status.results.truncate(2);
    status.comparisons.truncate(3);
    status.warnings.truncate(3);
    status.pairs.truncate(1);
    status.expectations.truncate(3);
    status.sweeps.truncate(1);
    status.environment = None;
    assert_eq!(fit(status.clone()), status);
}

//! OpenMetrics report: its values match those in the status.

use campaign::collect::collect;
use campaign::status::{Phase, StatusInput, status};
use campaign::{Evaluation, evaluate};
use crds::quantity::Quantity;
use crds::v1alpha1::{BenchmarkRun, ComparisonResult, Outcome};
use fabricbench_cli::report::{Report, openmetrics};

use crate::fixture::{Campaign, UID};
use reader::{Labels, Metrics, read};

#[path = "../../../operator/tests/exposition/reader.rs"]
mod reader;

const RUN: &str = r#"
apiVersion: fabricbench.dev/v1alpha1
kind: BenchmarkRun
metadata: {name: planted, namespace: team-a}
spec:
  baseline: baseline
  variants: [{name: baseline}, {name: fi-inject, inject: {maxBytes: 256}}]
  transport: {libfabric: {provider: tcp}}
  scenarios: [{name: small, memory: Heap, pingPong: {sizes: [64], iterations: 100, warmup: 10}}]
"#;

/// The finished run and its metrics.
fn finished_run(campaign: &Campaign) -> (BenchmarkRun, Metrics) {
    let evaluation = campaign.evaluation();
    let phase = Phase::finished(&evaluation);
    run_in_phase(campaign, &evaluation, phase)
}

/// The run in `phase` and its metrics.
fn run_in_phase(campaign: &Campaign, evaluation: &Evaluation, phase: Phase) -> (BenchmarkRun, Metrics) {
    let mut run = manifest::parse(RUN, None).unwrap().remove(0);
    run.status = Some(status(&StatusInput {
        plan: &campaign.plan,
        phase,
        evaluation,
        records: None,
        generation: Some(1),
        now: "2026-03-01T10:01:00Z",
        previous: None,
    }));
    let report = Report {
        plan: &campaign.plan,
        evaluation,
    };
    let metrics = read(&openmetrics::render(&run, &report).unwrap());
    (run, metrics)
}

/// Value of the only series of `metric` with the labels `expected`; `None` if there is no such series.
fn value(metrics: &Metrics, metric: &str, expected: &[(&str, &str)]) -> Option<f64> {
    let has_labels = |labels: &Labels| {
        let mut expected = expected.iter();
        expected.all(|(name, value)| labels.get(*name).is_some_and(|found| found == value))
    };
    let mut found = metrics[metric].iter().filter(|(labels, _)| has_labels(labels));
    let first = found.next().map(|(_, value)| *value);
    assert_eq!(found.next(), None, "{metric} {expected:?}");
    first
}

#[test]
fn metrics_match_the_values_in_the_status() {
    let campaign = Campaign {
        effects: [(("fi-inject", 64), 1.3)].into(),
        ..Campaign::default()
    };
    let (run, metrics) = finished_run(&campaign);
    let status = run.status.unwrap();
    assert_eq!(status.outcome, Some(Outcome::Missed), "fi-inject is worse");
    assert_eq!(
        value(&metrics, "fabricbench_run_outcome", &[("outcome", "Missed")]),
        Some(1.0)
    );
    assert_eq!(value(&metrics, "fabricbench_run_blocks_done", &[]), Some(84.0));
    assert_eq!(
        value(&metrics, "fabricbench_run_finished_timestamp_seconds", &[]),
        Some(1_772_359_260.0)
    );
    assert!(!status.results.is_empty() && !status.comparisons.is_empty());
    for result in &status.results {
        let size = result.size_bytes.to_string();
        let labels = [
            ("scenario", result.scenario.as_str()),
            ("size_bytes", &size),
            ("arm", &result.arm),
        ];
        let median = [&labels[..], &[("quantile_level", "0.5")]].concat();
        assert_eq!(
            value(&metrics, "fabricbench_arm_latency_seconds", &median),
            result
                .value(Quantity::LatencyP50Nanos)
                .map(|nanos| nanos as f64 / 1e9)
        );
        assert_eq!(
            value(&metrics, "fabricbench_arm_throughput_bytes_per_second", &labels),
            result.value(Quantity::BytesPerSecond).map(|rate| rate as f64)
        );
    }
    for one in &status.comparisons {
        let (size, metric) = (one.size_bytes.to_string(), one.metric.to_string());
        let labels = [
            ("scenario", one.scenario.as_str()),
            ("size_bytes", &size),
            ("arm", &one.arm),
            ("metric", &metric),
        ];
        let ratio = |ppm: Option<i64>| ppm.map(|ppm| 1.0 + ppm as f64 / 1e6);
        for (name, ppm) in [
            ("fabricbench_comparison_ratio", one.effect_ppm),
            ("fabricbench_comparison_ratio_lower", one.lower_ppm),
            ("fabricbench_comparison_ratio_upper", one.upper_ppm),
        ] {
            assert_eq!(value(&metrics, name, &labels), ratio(ppm), "{name} {labels:?}");
        }
        let verdict = verdict(one);
        let labels = [&labels[..], &[("verdict", verdict.as_str())]].concat();
        assert_eq!(
            value(&metrics, "fabricbench_comparison_verdict", &labels),
            one.primary.then_some(1.0)
        );
    }
}

fn verdict(one: &ComparisonResult) -> String {
    one.verdict
        .map_or("None".to_owned(), |verdict| format!("{verdict:?}"))
}

#[test]
fn reports_passed_and_suspect_outcomes() {
    let sound = Campaign {
        effects: [(("fi-inject", 64), 0.85), (("coalesce", 32 << 10), 0.9)].into(),
        ..Campaign::default()
    };
    let (_, metrics) = finished_run(&sound);
    let outcome =
        |metrics: &Metrics, outcome: &str| value(metrics, "fabricbench_run_outcome", &[("outcome", outcome)]);
    assert_eq!(outcome(&metrics, "Passed"), Some(1.0));
    let suspect = Campaign {
        effects: [(("control", 64), 1.4)].into(),
        ..Campaign::default()
    };
    let (run, metrics) = finished_run(&suspect);
    assert_eq!(run.status.unwrap().outcome, Some(Outcome::Suspect));
    assert_eq!(outcome(&metrics, "Suspect"), Some(1.0));
    assert_eq!(outcome(&metrics, "Passed"), Some(0.0));
}

#[test]
fn running_run_has_no_outcome() {
    let campaign = Campaign::default();
    let lines = campaign.stream(1, &[5]);
    let reports = collect(&campaign.plan, UID, lines.as_bytes());
    let evaluation = evaluate(&campaign.plan, &reports).unwrap();
    let (_, metrics) = run_in_phase(&campaign, &evaluation, Phase::Running);
    assert!(metrics["fabricbench_run_outcome"].is_empty());
    assert_eq!(
        value(&metrics, "fabricbench_run_state", &[("state", "Running")]),
        Some(1.0)
    );
    assert_eq!(value(&metrics, "fabricbench_run_blocks_done", &[]), Some(83.0));
}

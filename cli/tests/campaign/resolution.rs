//! Commands whose tools print few digits: a difference that is not printed is no verdict.

use crds::quantity::Quantity;
use crds::v1alpha1::{ComparisonResult, InconclusiveReason, Metric, Verdict};

use super::harness::{RunningCommand, TestDir};
use super::stored_run::StoredRun;

/// Prints the output of all_reduce_perf of nccl-tests with the time $1 in us and the bandwidth $2 in GB/s at size $3.
const ALL_REDUCE: &str = r##"
printf '#                                                              out-of-place                       in-place\n'
printf '#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n'
printf '#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n'
printf '%12s %13s %9s %7s %7s %8s %7s %7s %6s %8s %7s %7s %6s\n' $3 256 float sum -1 $1 $2 $2 0 $1 $2 $2 0
printf '# Out of bounds values : 0 OK\n# Avg bus bandwidth    : %s\n' $2
"##;

/// A run with a baseline `a` and a variant `b`, which print the given times in us and bandwidths in GB/s.
fn manifest(metric: Metric, a: [&str; 2], b: [&str; 2]) -> String {
    let arguments = |[time, bandwidth]: [&str; 2]| format!("['{time}', '{bandwidth}']");
    format!(
        "apiVersion: fabricbench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {{name: digits}}\nspec:\n  baseline: a\n  \
         variants: [{{name: a, arguments: {}}}, {{name: b, arguments: {}}}]\n  transport: {{loopback: {{}}}}\n  scenarios:\n  \
         - name: s\n    integrity: false\n    primaryMetric: {metric:?}\n    command:\n      tool: NcclTests\n      sizes: [1Ki]\n      \
         timeoutSeconds: 20\n      client: [sh, -c, {ALL_REDUCE:?}, sh, '{{arguments}}', '{{size}}']\n",
        arguments(a),
        arguments(b)
    )
}

/// Runs `manifest`, and returns the stored run with the standard output. The values in the status are derived again from
/// the records by an independent program.
fn run(manifest: &str) -> (StoredRun, String) {
    let dir = TestDir::new();
    let output = RunningCommand::start(dir.run(&dir.manifest(manifest))).wait();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output}");
    let stored = StoredRun::read(&dir.run_dir("digits"));
    stored.assert_complete();
    assert_eq!(stored.failures(), Vec::new());
    (stored, output.stdout)
}

fn comparison(stored: &StoredRun, arm: &str) -> ComparisonResult {
    let comparisons = &stored.status().comparisons;
    comparisons
        .iter()
        .find(|one| one.arm == arm && one.primary)
        .unwrap()
        .clone()
}

#[test]
fn change_that_is_smaller_than_the_last_digit_is_inconclusive() {
    // The true bandwidths are 0.01495 and 0.01505 GB/s.
    let (base, other) = (["68.50", "0.01"], ["68.05", "0.02"]);
    let (stored, text) = run(&manifest(Metric::ReportedBandwidth, base, other));
    let found = comparison(&stored, "b");
    assert_eq!(found.verdict, Some(Verdict::Inconclusive), "{found:?}");
    assert_eq!(
        found.inconclusive,
        Some(InconclusiveReason::Resolution),
        "{found:?}"
    );
    assert_eq!(found.rounds_to_settle, None, "more rounds do not help");
    let (lower, upper) = (found.lower_ppm.unwrap(), found.upper_ppm.unwrap());
    assert!(
        lower <= 1 && upper >= 3_999_999,
        "0.015 / 0.015 to 0.025 / 0.005: {found:?}"
    );
    let reason = found.reason.unwrap();
    assert!(reason.contains("primaryMetric: ReportedLatency"), "{reason}");
    assert!(
        text.contains("Inconclusive") && !text.contains("Improved"),
        "{text}"
    );
    assert!(text.contains("last digit of the printed values"), "{text}");
    let control = comparison(&stored, "control");
    assert!(
        control.upper_ppm > Some(0),
        "the noise floor includes the resolution: {control:?}"
    );
    assert!(
        !text.contains("noisy"),
        "the tool is the cause, not the machine: {text}"
    );

    let (stored, _) = run(&manifest(Metric::ReportedLatency, base, other));
    let found = comparison(&stored, "b");
    assert_eq!(
        found.verdict,
        Some(Verdict::NoChange),
        "-0.7 %, known to 0.01 %: {found:?}"
    );
}

#[test]
fn large_change_is_decided_although_few_digits_are_printed() {
    let (stored, _) = run(&manifest(
        Metric::ReportedBandwidth,
        ["51.2", "0.02"],
        ["5.1", "0.20"],
    ));
    let found = comparison(&stored, "b");
    assert_eq!(
        (found.verdict, found.inconclusive),
        (Some(Verdict::Improved), None),
        "{found:?}"
    );
    // At least 0.195 / 0.025, at most 0.205 / 0.015.
    assert!(found.lower_ppm.unwrap().abs_diff(6_800_000) < 10, "{found:?}");
    assert!(found.upper_ppm.unwrap().abs_diff(12_666_667) < 10, "{found:?}");
}

#[test]
fn value_that_is_printed_as_zero_has_no_ratio() {
    let (stored, text) = run(&manifest(
        Metric::ReportedBandwidth,
        ["321.4", "0.00"],
        ["318.9", "0.01"],
    ));
    let found = comparison(&stored, "b");
    assert_eq!(found.verdict, Some(Verdict::Inconclusive), "{found:?}");
    assert_eq!(
        found.inconclusive,
        Some(InconclusiveReason::Resolution),
        "{found:?}"
    );
    assert_eq!((found.effect_ppm, found.lower_ppm), (None, None), "{found:?}");
    assert!(found.rounds > 0 && found.reason.unwrap().contains("below its resolution"));
    assert!(text.contains("below the resolution of the tool"), "{text}");
    let mut results = stored.status().results.iter();
    let baseline = results.find(|result| result.arm == "a").unwrap();
    assert_eq!(baseline.value(Quantity::ReportedBytesPerSecond), None);
    assert_eq!(baseline.value(Quantity::ReportedLatencyNanos), Some(321_400));
}

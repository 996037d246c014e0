use campaign::collect::Reports;
use campaign::plan::{HashedPlan, plan};
use campaign::stats::Distribution;
use campaign::summarize::{CallSummary, FootprintMedians, FootprintSummary, Moments};
use campaign::validate::validate;
use campaign::{Evaluation, evaluate};
use crds::histogram::Histogram;
use crds::v1alpha1::{BenchmarkRun, RpcPattern, RpcPayload};

use super::*;
use crate::report::html;

const RUN: &str = "apiVersion: fabricbench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {name: test}\nspec:\n  baseline: unix\n  \
                   transport: {loopback: {}}\n  variants:\n  - {name: unix, channel: UnixSocket}\n  ";
const CALLS: &str = "- {name: direct, channel: Local}\n  scenarios:\n  \
                     - {name: small, rpc: {payloads: [SmallInt, LargeBytes]}}\n  \
                     - {name: chain, rpc: {payloads: [SmallInt], pattern: Chain}}\n";
const FOOTPRINTS: &str = "- {name: shared, channel: SharedMemory}\n  scenarios:\n  \
                          - {name: two, memoryFootprint: {consumers: 2, sizes: [1Mi]}}\n";

/// A plan, and an evaluation without records.
fn unmeasured(more: &str) -> (HashedPlan, Evaluation) {
    let yaml: serde_json::Value = serde_yaml::from_str(&format!("{RUN}{more}")).unwrap();
    let run: BenchmarkRun = serde_json::from_value(yaml).unwrap();
    let plan = plan(&validate(&run).unwrap()).unwrap();
    let evaluation = evaluate(&plan, &Reports::default()).unwrap();
    (plan, evaluation)
}

fn call(payload: RpcPayload, hops: u32, mean_nanos: f64) -> CallSummary {
    CallSummary {
        payload,
        pattern: RpcPattern::Call,
        section: CallSection::Successful,
        cause: None,
        message: None,
        hops,
        is_open_loop: false,
        moments: Some(Moments {
            samples: 10,
            mean_nanos,
            deviation_nanos: None,
        }),
        clock_nanos: Some(20.0),
        below_clock: false,
        memory_growth_bytes: None,
    }
}

/// Sets the calls of every arm: a call takes 10 us over `unix` and 100 ns over `direct`.
fn measure_calls(plan: &HashedPlan, evaluation: &mut Evaluation) {
    for cell in &mut evaluation.summary.cells {
        let payload = RpcPayload::with_size(cell.size_bytes).unwrap();
        let nanos = if plan.arms[cell.arm].name == "direct" {
            100.0
        } else {
            10_000.0
        };
        let hops = if cell.scenario == 1 { 3 } else { 1 };
        (cell.min_nanos, cell.max_nanos) = (Some(50), Some(20_000));
        cell.call = Some(call(payload, hops, nanos * f64::from(hops)));
    }
}

/// Moves the calls of `arm` with `payload` to `section`.
fn fail(
    plan: &HashedPlan,
    evaluation: &mut Evaluation,
    (arm, payload): (&str, RpcPayload),
    (section, cause): (CallSection, CallCause),
) {
    let cells = evaluation.summary.cells.iter_mut();
    let mut calls = cells.filter(|cell| plan.arms[cell.arm].name == arm);
    let call = calls.find_map(|cell| cell.call.as_mut().filter(|call| call.payload == payload));
    let call = call.unwrap();
    (call.section, call.cause, call.message) = (section, Some(cause), Some("because".to_owned()));
}

/// A call of 31 ns, of which one reading of the clock takes 20 ns, is neither the fastest nor a divisor.
fn column_titles(table: &Table) -> Vec<&str> {
    table.columns.iter().map(|column| column.title.as_str()).collect()
}

fn rows(table: &Table) -> Vec<Vec<String>> {
    let rows = table.rows.iter();
    rows.map(|row| row.cells.iter().map(|cell| cell.line()).collect())
        .collect()
}

#[test]
fn calls_below_the_clock_are_not_compared() {
    let (plan, mut evaluation) = unmeasured(CALLS);
    measure_calls(&plan, &mut evaluation);
    for cell in &mut evaluation.summary.cells {
        if let Some(call) = cell
            .call
            .as_mut()
            .filter(|_| plan.arms[cell.arm].name == "direct")
        {
            call.moments = call.moments.map(|moments| Moments {
                mean_nanos: 31.0,
                ..moments
            });
            call.below_clock = true;
            (cell.min_nanos, cell.max_nanos) = (Some(25), Some(20_000));
        }
    }
    let report = Report {
        plan: &plan,
        evaluation: &evaluation,
    };
    for (scenario, columns) in [(0, 7), (1, 9)] {
        let found = of_scenario(&report, scenario).unwrap();
        let table = &found.tables[0];
        assert_eq!(table.columns.len(), columns, "{:?}", table.columns);
        assert!(!column_titles(table).contains(&"x local"));
        assert!(table.notes[0].text.contains("below the clock"));
        let direct = rows(table).into_iter().find(|row| row[1] == "direct").unwrap();
        assert_eq!(direct[2..6], ["below the clock (20 ns)", "n/a", "n/a", "20.0 us"]);
        if scenario == 1 {
            assert_eq!(direct[8], "n/a");
        }
        let (_, counts) = found.counts.unwrap();
        assert!(counts.contains("fastest small_int over unix"), "{counts}");
    }
}

/// A few slow calls raise the mean of calls whose median and minimum are below the clock.
#[test]
fn every_value_below_the_clock_is_withheld_and_no_other() {
    let (plan, mut evaluation) = unmeasured(CALLS);
    measure_calls(&plan, &mut evaluation);
    for cell in &mut evaluation.summary.cells {
        cell.min_nanos = Some(25);
        let mut samples = Histogram::new();
        samples.record(25);
        cell.latency = Distribution::with_maximum(&samples, u64::MAX);
        if let Some(call) = &mut cell.call {
            call.below_clock = true;
        }
    }
    let report = Report {
        plan: &plan,
        evaluation: &evaluation,
    };
    let found = of_scenario(&report, 0).unwrap();
    let direct = rows(&found.tables[0])
        .into_iter()
        .find(|row| row[1] == "direct")
        .unwrap();
    assert_eq!(direct[2..6], ["100 ns", "n/a", "n/a", "20.0 us"]);
    assert!(found.tables[0].notes[0].text.contains("below the clock"));
    let page = html::render(&report.document());
    let results = page.split("<summary>Values of each arm").nth(1).unwrap();
    let results = results.split("</table>").next().unwrap();
    // The minimum and the median, but not the maximum.
    let below = "<td>below the clock (20 ns)</td><td>below the clock (20 ns)</td>";
    assert!(results.contains(below), "{results}");
    assert!(results.contains("<td>20.0 us</td>"), "{results}");
    assert!(!results.contains("<td>25 ns</td>"), "{results}");
}

#[test]
fn tests_are_grouped_by_section_and_compared_with_the_local_arm() {
    let (plan, mut evaluation) = unmeasured(CALLS);
    measure_calls(&plan, &mut evaluation);
    let large_bytes = RpcPayload::LargeBytes;
    let timeout = (CallSection::Failed, CallCause::Timeout);
    let skip = (CallSection::Skipped, CallCause::NotEnoughMemory);
    fail(&plan, &mut evaluation, ("unix", large_bytes), timeout);
    fail(&plan, &mut evaluation, ("direct", large_bytes), skip);
    let report = Report {
        plan: &plan,
        evaluation: &evaluation,
    };
    let found = of_scenario(&report, 0).unwrap();
    let titles: Vec<&str> = found.tables.iter().map(|table| table.title.as_str()).collect();
    assert_eq!(titles, ["successful calls", "failed calls", "skipped calls"]);
    let columns = [
        "test", "arm", "mean", "std dev", "min", "max", "samples", "x local",
    ];
    assert_eq!(column_titles(&found.tables[0]), columns);
    assert_eq!(
        rows(&found.tables[0]),
        [
            [
                "small_int",
                "unix",
                "10.0 us",
                "n/a",
                "50 ns",
                "20.0 us",
                "10",
                "100"
            ],
            [
                "small_int",
                "direct",
                "100 ns",
                "n/a",
                "50 ns",
                "20.0 us",
                "10",
                "1.00"
            ],
        ]
    );
    assert_eq!(
        rows(&found.tables[1]),
        [["large_bytes", "unix", "Timeout: because"]]
    );
    assert_eq!(
        rows(&found.tables[2]),
        [["large_bytes", "direct", "NotEnoughMemory: because"]]
    );
    let skipped = skipped_text(&report).unwrap();
    assert!(
        skipped.starts_with(
            "1 test skipped because there is not enough memory. Therefore, the exit status is 3. "
        ),
        "{skipped}"
    );
    let (heading, counts) = found.counts.unwrap();
    assert_eq!(heading, "calls");
    assert_eq!(
        counts,
        "2 successful, 1 failed, 1 skipped (total 4); fastest small_int over direct, mean 100 ns"
    );
    let chain = of_scenario(&report, 1).unwrap();
    assert_eq!(
        column_titles(&chain.tables[0])[7..],
        ["hops", "per hop", "x local"]
    );
    assert_eq!(rows(&chain.tables[0])[0][7..], ["3", "10.0 us", "100"]);
}

#[test]
fn counts_of_the_run_include_all_scenarios_and_only_successful_calls_are_the_fastest() {
    let (plan, mut evaluation) = unmeasured(CALLS);
    measure_calls(&plan, &mut evaluation);
    // The values from the rounds before the failure must not make this call the fastest.
    let died = (CallSection::Failed, CallCause::Died);
    fail(&plan, &mut evaluation, ("direct", RpcPayload::SmallInt), died);
    fail(&plan, &mut evaluation, ("direct", RpcPayload::LargeBytes), died);
    let report = Report {
        plan: &plan,
        evaluation: &evaluation,
    };
    let counts = counts(&report, TestKind::Calls).unwrap();
    assert_eq!(
        serde_json::to_value(&counts).unwrap(),
        serde_json::json!({
            "successful": 4, "failed": 2, "skipped": 0, "total": 6,
            "fastest": {"scenarioName": "chain", "payload": "SmallInt", "armName": "direct", "meanNanos": 300.0},
        })
    );
    let line = "4 successful, 2 failed, 0 skipped (total 6); fastest small_int over direct in scenario chain, mean 300 ns";
    assert_eq!(run_lines(&report), [("calls", line.to_owned())]);
    assert_eq!(super::counts(&report, TestKind::Footprints), None);
    assert_eq!(skipped_text(&report), None);
}

#[test]
fn footprints_have_the_columns_of_the_suite() {
    let (plan, mut evaluation) = unmeasured(FOOTPRINTS);
    for cell in &mut evaluation.summary.cells {
        let memory = FootprintMedians {
            baseline: 6e6,
            baseline_rss: 9e6,
            own: 2e6,
            own_range: Some((1.9e6, 2.1e6)),
            consumer: 2.5e6,
            consumer_rss: 11e6,
            tensor: 1e6,
            vram: None,
            copies: 4e6,
            slope: -4096.0,
        };
        let measured = plan.arms[cell.arm].name != "unix";
        cell.footprint = Some(FootprintSummary {
            section: if measured {
                CallSection::Successful
            } else {
                CallSection::Skipped
            },
            cause: (!measured).then_some(CallCause::NotEnoughMemory),
            message: (!measured).then(|| "because".to_owned()),
            consumers: 2,
            memory: measured.then_some(memory),
        });
    }
    let report = Report {
        plan: &plan,
        evaluation: &evaluation,
    };
    let found = of_scenario(&report, 0).unwrap();
    assert_eq!(
        rows(&found.tables[0]),
        [[
            "1Mi",
            "shared",
            "2",
            "2.50 MB",
            "11.0 MB",
            "1.90 to 2.10 MB",
            "1.00 MB",
            "n/a",
            "3.00 MB (75.0 %)",
            "6.00 MB",
            "-4.10 kB"
        ]]
    );
    assert_eq!(found.tables[0].columns.len(), 11);
    assert_eq!(
        rows(&found.tables[1]),
        [["1Mi", "unix", "2", "NotEnoughMemory: because"]]
    );
    assert_eq!(
        column_titles(&found.tables[1]),
        ["test", "arm", "consumers", "reason"]
    );
    // No other scenario has such tests, so its counts are those of the run.
    assert_eq!(found.counts, None);
    let line = "1 successful, 0 failed, 1 skipped (total 2)".to_owned();
    assert_eq!(run_lines(&report), [("memory", line)]);
}

#[test]
fn other_workloads_have_no_tests() {
    let (plan, evaluation) = unmeasured(CALLS);
    let report = Report {
        plan: &plan,
        evaluation: &evaluation,
    };
    assert!(of_scenario(&report, 0).is_none());
    assert_eq!(run_lines(&report), []);
    assert_eq!(counts(&report, TestKind::Calls), None);
}

//! A corrupted byte is found in a real campaign, in every kind of scenario that transfers payload, and the arm's results
//! are not used.

use crds::quantity::Quantity;
use crds::record::{CaseResult, IntegrityReport};
use crds::v1alpha1::{CallCause, CallSection, CaseValidity};

use super::harness::{RunningCommand, TestDir, planted_runner};
use super::stored_run::StoredRun;

const MANIFEST: &str = "\
apiVersion: fabricbench.dev/v1alpha1
kind: BenchmarkRun
metadata: {name: corrupted}
spec:
  baseline: baseline
  variants: [{name: baseline}, {name: corrupted, env: [{name: PLANTED, value: corruption}]}]
  transport: {loopback: {}}
  scenarios:
  - {name: ping-pong, pingPong: {sizes: [1000], iterations: 100}}
  - {name: transfer, transfer: {sizes: [1000], operation: Write, window: 4, iterations: 100}}
  - {name: write, segmentTransfer: {workload: Write, sizes: [1000], batch: 2, duration: 50ms}}
  - {name: mix, segmentTransfer: {workload: Mix, sizes: [1000], batch: 2, duration: 50ms}}
  - {name: calls, rpc: {payloads: [SmallString], iterations: 100}}
  sampling: {rounds: 2, control: false}
";

/// Offset of the first wrong byte that a scenario must report: the last one of the payload.
fn expected_offset(scenario: &str) -> u64 {
    if scenario == "calls" { 109 } else { 999 }
}

#[test]
fn a_corrupted_byte_is_found_in_every_kind_of_scenario() {
    let dir = TestDir::new();
    let output = RunningCommand::start(dir.run_with(&planted_runner(), &dir.manifest(MANIFEST))).wait();
    assert_eq!(output.status.code(), Some(3), "{output}");
    let stored = StoredRun::read(&dir.run_dir("corrupted"));
    stored.assert_complete();
    let checked = |arm: &str| -> Vec<(String, IntegrityReport)> {
        let cases = stored.cases().into_iter().filter(|case| case.arm == arm);
        let checked = cases.filter_map(|case| match &case.result {
            CaseResult::Checked(report) => Some((case.scenario.clone(), report.clone())),
            _ => None,
        });
        checked.collect()
    };
    let (intact, corrupted) = (checked("baseline"), checked("corrupted"));
    assert_eq!((intact.len(), corrupted.len()), (5, 5));
    for (scenario, report) in intact {
        assert_eq!(report.first_mismatch, None, "{scenario}: {report:?}");
    }
    for (scenario, report) in corrupted {
        let mismatch = report
            .first_mismatch
            .as_ref()
            .unwrap_or_else(|| panic!("{scenario}: {report:?}"));
        assert_eq!(
            mismatch.offset_bytes,
            expected_offset(&scenario),
            "{scenario}: {report:?}"
        );
        let message = format!("offset {}", expected_offset(&scenario));
        output.expect_stdout(&message);
    }
    for one in &stored.status().results {
        let is_valid = one.arm == "baseline";
        assert_eq!(one.validity == CaseValidity::Valid, is_valid, "{one:?}");
        assert_eq!(
            one.value(Quantity::LatencyP50Nanos).is_some(),
            is_valid,
            "{one:?}"
        );
        if let Some(call) = one.call {
            let expected = match is_valid {
                true => (CallSection::Successful, None),
                false => (CallSection::Failed, Some(CallCause::Invalid)),
            };
            assert_eq!((call.section, call.cause), expected, "{one:?}");
        }
    }
    assert!(!stored.status().comparisons.is_empty());
    for one in &stored.status().comparisons {
        assert_eq!(one.verdict, None, "{one:?}");
    }
}

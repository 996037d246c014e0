//! External benchmark commands: the examples, and programs that misbehave.

use crds::quantity::Quantity;
use crds::record::{CaseResult, FailureReason};
use crds::v1alpha1::FabricProof;

use super::harness::{RunningCommand, TestDir, workspace};
use super::libraries::newer_library;
use super::stored_run::StoredRun;

/// Runs `manifest` for `rounds` rounds.
fn run(manifest: &str, name: &str, rounds: &str) -> StoredRun {
    let dir = TestDir::new();
    let mut command = dir.run(&dir.manifest(manifest));
    command.args(["--rounds", rounds]);
    let output = RunningCommand::start(command).wait();
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{output}");
    StoredRun::read(&dir.run_dir(name))
}

#[test]
fn examples_report_the_values_of_their_tools() {
    for name in ["command-fi-pingpong", "command-ucx-perftest"] {
        let text = std::fs::read_to_string(workspace().join(format!("examples/{name}.yaml"))).unwrap();
        // Fewer messages make the test shorter.
        let stored = run(&text.replace("\"500\"", "\"20\""), name, "1");
        stored.assert_complete();
        assert_eq!(stored.failures(), Vec::new());
        for result in &stored.status().results {
            assert!(
                result
                    .value(Quantity::ReportedLatencyNanos)
                    .or(result.value(Quantity::ReportedBytesPerSecond))
                    > Some(0),
                "{result:?}"
            );
            assert_eq!(
                (
                    result.value(Quantity::LatencyP50Nanos),
                    result.value(Quantity::BytesPerSecond)
                ),
                (None, None),
                "{result:?}"
            );
            assert_eq!(result.fabric, Some(FabricProof::Verified), "{result:?}");
        }
    }
}

/// Creates a run with `variants` whose client executes `script`.
pub fn manifest(variants: &str, script: &str) -> String {
    format!(
        "apiVersion: fabricbench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {{name: script}}\nspec:\n  baseline: base\n  \
         variants: {variants}\n  transport: {{loopback: {{}}}}\n  scenarios:\n  - name: script\n    integrity: false\n    \
         primaryMetric: ReportedLatency\n    command:\n      tool: Fabtests\n      sizes: [64]\n      timeoutSeconds: 2\n      \
         client: [sh, -c, {script:?}]\n  sampling: {{control: false}}\n"
    )
}

/// Commands that print a result of fabtests.
pub const RESULT: &str =
    "echo 'bytes iters total time MB/sec usec/xfer Mxfers/sec'; echo '64 10k 1.2m 0.22s 5.70 11.22 0.09'";

/// Runs a client that executes `script`. Returns the reason and the message of its failure.
fn failure(script: &str) -> (FailureReason, String) {
    let stored = run(&manifest("[{name: base}]", script), "script", "1");
    let mut failed = stored.cases().into_iter().filter_map(|case| match &case.result {
        CaseResult::Failed(failure) => Some((failure.reason, failure.message.clone())),
        _ => None,
    });
    failed.next().unwrap()
}

#[test]
fn failures_of_misbehaving_programs_are_explained() {
    let cases = [
        ("true", FailureReason::CommandOutput, "it printed nothing"),
        (
            "echo 'bytes #sent #ack total time furlong/sec usec/xfer'",
            FailureReason::CommandOutput,
            "the column `furlong/sec` is not one",
        ),
        (
            "echo oops >&2; exit 7",
            FailureReason::CommandFailed,
            "exited with status 7; its output ends with: oops",
        ),
        (
            "echo still here; sleep 600",
            FailureReason::DeadlineExceeded,
            "time limit of 2 s",
        ),
        (
            "setsid sleep 601 & exit 0",
            FailureReason::CommandFailed,
            "left processes behind, which were killed: sleep",
        ),
    ];
    for (script, reason, message) in cases {
        let (found, text) = failure(script);
        assert_eq!(found, reason, "{script}: {text}");
        assert!(text.contains(message), "{script}: {text}");
    }
    let commands = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok());
    let left: Vec<String> = commands
        .filter(|line| ["sleep\u{0}600\u{0}", "sleep\u{0}601\u{0}"].contains(&line.as_str()))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn refused_provider_in_the_output_contradicts_the_requested_fabric() {
    let refused = "libfabric:1:2::core:core:verify_filter_names():554<warn> provider tcp is unknown, misspelled or DL provider?";
    let fallback = format!("echo '{refused}' >&2; {RESULT}");
    let tcp = |manifest: String| manifest.replace("{loopback: {}}", "{libfabric: {provider: tcp}}");
    let stored = run(&tcp(manifest("[{name: base}]", &fallback)), "script", "2");
    assert_eq!(stored.failures(), Vec::new(), "the command itself succeeds");
    let status = stored.status();
    let fabric = status.fabric.as_ref().unwrap();
    assert_eq!(fabric.proof, FabricProof::Contradicted, "{fabric:?}");
    assert!(
        fabric
            .reason
            .contains("line 1 of the standard error of the client on rank 0"),
        "{fabric:?}"
    );
    assert!(fabric.reason.contains("provider tcp is unknown"), "{fabric:?}");
    assert!(
        fabric.reason.contains("rule libfabric/unknown-provider"),
        "{fabric:?}"
    );
    assert!(
        status.comparisons.iter().all(|one| one.verdict.is_none()),
        "{:?}",
        status.comparisons
    );
    let values = status
        .results
        .iter()
        .map(|result| result.value(Quantity::ReportedLatencyNanos));
    assert!(
        values.clone().all(|value| value.is_none()),
        "{:?}",
        values.collect::<Vec<_>>()
    );

    // The same line does not contradict a request for another path, and a line without a rule contradicts nothing.
    let unknown = format!("echo 'WARN: provider unavailable, falling back to sockets'; {RESULT}");
    for (script, text) in [
        (RESULT, None),
        (fallback.as_str(), Some("provider tcp is unknown")),
        (unknown.as_str(), Some("falling back to sockets")),
    ] {
        let stored = run(&manifest("[{name: base}]", script), "script", "1");
        let fabric = stored.status().fabric.as_ref().unwrap();
        assert_ne!(fabric.proof, FabricProof::Contradicted, "{fabric:?}");
        let warnings = stored.status().warnings.join("\n");
        assert!(text.is_none_or(|text| warnings.contains(text)), "{warnings}");
    }
}

#[test]
fn variant_library_and_nccl_variables_reach_the_command_and_the_records() {
    let path = newer_library();
    let variants = format!(
        "[{{name: base}}, {{name: other, library: {path}, env: [{{name: NCCL_ALGO, value: Ring}}]}}]"
    );
    // The latency depends on the settings that reached the command: 11.22 us with both, and 22.44 us without them.
    let script = format!(
        "case \"$LD_LIBRARY_PATH:$NCCL_ALGO\" in {path}:*Ring|{path}:Ring) t=\"5.70 11.22\";; *{path}*|*Ring*) t=\"64.00 1.00\";; *) t=\"2.85 22.44\";; esac; \
         echo 'bytes iters total time MB/sec usec/xfer Mxfers/sec'; echo \"64 1 64 0.22s $t 0.09\""
    );
    let manifest = manifest(&variants, &script).replace("{loopback: {}}", "{libfabric: {provider: tcp}}");
    let stored = run(&manifest, "script", "1");
    assert_eq!(stored.failures(), Vec::new());
    let latency = |arm: &str| {
        let mut results = stored.status().results.iter();
        results
            .find(|result| result.arm == arm)
            .unwrap()
            .value(Quantity::ReportedLatencyNanos)
    };
    assert_eq!((latency("base"), latency("other")), (Some(22_440), Some(11_220)));
    let recorded: Vec<_> = stored
        .endpoints()
        .iter()
        .filter_map(|endpoints| endpoints.fabric.as_ref()?.variables.get("NCCL_ALGO").cloned())
        .collect();
    assert!(
        !recorded.is_empty() && recorded.iter().all(|value| value == "Ring"),
        "{recorded:?}"
    );
}

//! The debug logs of libraries, kept by `--keep-logs`.

use std::fs;

use super::harness::{RunningCommand, TestDir};

/// One variant whose library logs, and a baseline whose library does not.
const MANIFEST: &str = "
apiVersion: fabricbench.dev/v1alpha1
kind: BenchmarkRun
metadata: {name: kept}
spec:
  baseline: quiet
  variants:
  - name: quiet
  - name: logging
    env: [{name: FI_LOG_LEVEL, value: debug}]
  transport: {libfabric: {provider: tcp}}
  scenarios:
  - name: small
    pingPong: {sizes: [64], iterations: 10, warmup: 1}
  sampling: {rounds: 1, minWindow: 0s}
";

#[test]
fn the_whole_log_of_every_process_is_kept() {
    let dir = TestDir::new();
    let logs = dir.run_dir("logs");
    let mut command = dir.run(&dir.manifest(MANIFEST));
    command.arg("--keep-logs").arg(&logs);
    let output = RunningCommand::start(command).wait();
    assert_eq!(output.status.code(), Some(0), "{output}");
    for rank in 0..2 {
        let read = |arms: &str| {
            let path = logs.join(format!("kept/leg-0-round-1-{arms}-rank-{rank}.log"));
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        let log = read("logging");
        // The beginning is kept, which the records do not contain.
        assert!(
            log.len() > 4096 && log.starts_with("libfabric:"),
            "{} bytes",
            log.len()
        );
        assert!(!log.contains("bytes omitted"));
        assert_eq!(read("quiet"), "");
    }
}

#[test]
fn a_directory_that_cannot_be_created_is_reported_before_the_measurement() {
    let dir = TestDir::new();
    let mut command = dir.run(&dir.manifest(MANIFEST));
    command.args(["--keep-logs", "/proc/none"]);
    let output = RunningCommand::start(command).wait();
    assert_eq!(output.status.code(), Some(2), "{output}");
    output.expect_stderr("--keep-logs /proc/none/kept");
    assert!(fs::metadata(dir.run_dir("kept").join("records.jsonl")).map_or(0, |file| file.len()) == 0);
}

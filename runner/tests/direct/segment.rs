//! Tests of the `target` and `initiator` roles, over 127.0.0.1 and shared memory.

use std::process::Command;

use serde_json::Value;

use crate::results::result;
use crate::roles::{Output, Process, finish, runner};

/// Target that is ready for initiators.
pub struct Target {
    process: Process,
    /// Name of the target's segment.
    pub segment: String,
    port: u16,
    /// Arguments of the initiator command that the target prints.
    pub command: Vec<String>,
}

impl Target {
    pub fn start(flags: &[&str]) -> Self {
        let process = Process::start(runner().arg("target").args(flags));
        let line = process.wait_for_line("listening on ");
        let port = line.rsplit_once(':').unwrap().1.parse().unwrap();
        process.wait_for_line("start the initiator with:");
        let line = process.wait_for_line("fabricbench-runner initiator ");
        process.wait_for_line("ready; ");
        let command: Vec<String> = line.split_whitespace().skip(1).map(str::to_owned).collect();
        assert_eq!(command[..2], ["initiator", "--remote-segment"]);
        Self {
            process,
            segment: command[2].clone(),
            port,
            command,
        }
    }

    /// Runs the printed command with additional flags.
    pub fn initiator(&self, flags: &[&str]) -> Output {
        finish(runner().args(&self.command).args(flags))
    }

    /// TCP port of the target.
    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn wait_for_line(&self, text: &str) -> String {
        self.process.wait_for_line(text)
    }

    /// Sends a signal and waits until the target exits.
    pub fn stop(self, signal: &str) -> Output {
        let status = Command::new("kill")
            .args(["-s", signal, &self.process.id().to_string()])
            .status()
            .unwrap();
        assert!(status.success());
        self.process.finish()
    }
}

/// Short measurement of small batches.
const SMALL: [&str; 8] = [
    "--threads",
    "2",
    "--batch",
    "4",
    "--size",
    "16Ki",
    "--duration",
    "1",
];

fn with<'a>(flags: &[&'a str]) -> Vec<&'a str> {
    SMALL.iter().chain(flags).copied().collect()
}

fn measure(target: &Target, flags: &[&str]) -> Value {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("results.json");
    let output = target.initiator(&[flags, &["--output", file.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{output:?}");
    let document: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    document
}

#[test]
fn the_printed_command_measures_and_the_target_deregisters_its_segment() {
    for signal in ["TERM", "INT"] {
        let target = Target::start(&with(&["--provider", "tcp", "--workload", "write"]));
        for _ in 0..2 {
            let document = measure(&target, &[]);
            let result = result(&document, "segment-transfer");
            assert_eq!(result["validCases"], 1, "{result}");
            // One block verifies every byte, and one measures.
            assert_eq!(
                (&document["complete"], &document["blocksDone"]),
                (&true.into(), &2.into())
            );
            let value = |name: &str| result["values"][name].as_f64().unwrap();
            let (rate, requests) = (value("bytesPerSecond"), value("completionsPerSecond"));
            assert!((rate / requests - f64::from(16 << 10)).abs() < 1e-3, "{result}");
            for name in [
                "firstBatchNanos",
                "cpuNanosPerGib",
                "latencyP50Nanos",
                "cpuPercent",
            ] {
                assert!(value(name) > 0.0, "{name}: {result}");
            }
            let cold = &document["coldStarts"][0];
            assert!(
                cold["nanos"]["registration"]["median"].as_f64().unwrap() > 0.0,
                "{cold:?}"
            );
            // Each of the two threads has a source area and a landing area.
            assert!(
                cold["registeredBytes"].as_u64().unwrap() >= 2 * 2 * 4 * (16 << 10),
                "{cold:?}"
            );
            target.wait_for_line("the initiator has finished");
            target.wait_for_line("ready; ");
        }
        let output = target.stop(signal);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let end: Vec<&str> = output.stdout.lines().collect();
        assert!(
            end.len() == 2
                && end[0].starts_with("deregistered segment 127.0.0.1:")
                && end[1] == "stopped by a signal",
            "{output:?}"
        );
    }
}

#[test]
fn mix_workload_reads_back_over_shared_memory_and_reports_the_requested_unit() {
    let flags = with(&[
        "--tls",
        "sm",
        "--allow-emulation",
        "--workload=mix",
        "--shmfs",
        "--report_unit=Kb",
    ]);
    let target = Target::start(&flags);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("results.json");
    let output = target.initiator(&["--report_precision=0", "--output", file.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    let document: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let values = &result(&document, "segment-transfer")["values"];
    assert!(values["readBackP50Nanos"].is_number(), "{values}");
    let expected = values["bytesPerSecond"].as_f64().unwrap() * 8e-3;
    assert!(
        output.stdout.contains(&format!("{} Kb/s", expected.round())),
        "{expected}: {output:?}"
    );
    assert!(output.stdout.contains("shared memory"), "{output:?}");
}

#[test]
fn requests_that_do_not_fit_the_segment_are_rejected_with_its_name() {
    let target = Target::start(&with(&["--provider", "tcp"]));
    for (flags, message) in [
        (
            &["--size", "256Mi", "--batch", "5", "--threads", "1"][..],
            "start the target with the same values",
        ),
        (
            &["--shmfs"],
            "use the same --shmfs, --use-dram and --use-vram as on the target",
        ),
        (&["--duration", "0"], "use a whole number from 1 to 1800"),
    ] {
        // Later flags override the flags of the printed command.
        let output = target.initiator(flags);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(output.stderr.contains(message), "{output:?}");
    }
    let (_, port) = target.segment.rsplit_once(':').unwrap();
    let output = finish(runner().args(["connect", "--provider", "tcp", "--port", port]));
    assert!(
        output.status.code() == Some(2) && output.stderr.contains("fabricbench-runner serve"),
        "{output:?}"
    );
    let output = target.stop("TERM");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn a_server_without_a_segment_rejects_an_initiator() {
    let server = crate::roles::Server::start(&["--provider", "tcp"]);
    let segment = format!("127.0.0.1:{}", server.port);
    let output = finish(runner().args(["initiator", "--remote-segment", &segment, "--provider", "tcp"]));
    assert!(
        output.status.code() == Some(2) && output.stderr.contains("start `fabricbench-runner target`"),
        "{output:?}"
    );
}

#[test]
fn a_signal_ends_a_session() {
    let target = Target::start(&with(&["--provider", "tcp"]));
    let words: Vec<String> = target
        .command
        .iter()
        .map(|word| {
            if word == "1" {
                "60".to_owned()
            } else {
                word.clone()
            }
        })
        .collect();
    let initiator = Process::start(runner().args(words));
    target.wait_for_line("initiator 127.0.0.1:");
    let output = target.stop("TERM");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stdout.ends_with("stopped by a signal\n"), "{output:?}");
    let output = initiator.finish();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
}

#[test]
fn invalid_flags_are_reported_before_the_segment_is_registered() {
    for (flags, message) in [
        (
            &["--provider", "tcp", "--use-dram=false", "--use-vram=false"][..],
            "choose at least one of them",
        ),
        (&["--provider", "tcp", "--threads", "65"], "from 1 to 64"),
        (
            &["--provider", "tcp", "--size", "1Gi", "--batch", "64"],
            "need a segment of",
        ),
        (&["--provider", "tcp", "--report-precision", "10"], "from 0 to 9"),
        (&["--provider", "tcp", "--duration", "0"], "from 1 to 1800"),
        (
            &["--provider", "tcp", "--local-segment", "here"],
            "use ADDRESS:PORT",
        ),
    ] {
        let output = finish(runner().arg("target").args(flags));
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(output.stderr.contains(message), "{output:?}");
    }
}

#[test]
fn a_duration_beyond_the_targets_time_limit_is_refused() {
    let short = [
        "--provider",
        "tcp",
        "--threads",
        "1",
        "--batch",
        "2",
        "--size",
        "4Ki",
    ];
    let refused = finish(
        runner()
            .arg("target")
            .args(short)
            .args(["--time-limit", "40", "--duration", "20"]),
    );
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let mut flags = short.to_vec();
    flags.extend(["--time-limit", "40", "--duration", "1"]);
    let target = Target::start(&flags);
    let initiator = finish(
        runner()
            .args(["initiator", "--remote-segment", &target.segment])
            .args(short)
            .args(["--duration", "20"]),
    );
    assert_eq!(initiator.status.code(), Some(2), "{initiator:?}");
    for output in [refused, initiator] {
        assert!(
            output
                .stderr
                .contains("--duration is 20, but the target ends a session after 40 s")
                && output.stderr.contains("--time-limit"),
            "{output:?}"
        );
    }
    // A duration that no target accepts is rejected with the name of its flag.
    let long = finish(
        runner()
            .args(["initiator", "--remote-segment", &target.segment])
            .args(short)
            .args(["--duration", "5000"]),
    );
    assert_eq!(long.status.code(), Some(2), "{long:?}");
    assert!(
        long.stderr.contains("--duration") && long.stderr.contains("from 1 to 1800"),
        "{long:?}"
    );
    assert_eq!(target.stop("TERM").status.code(), Some(0));
}

/// Directory in which the dynamic linker finds `libcuda`: the simulated driver of the memory tests, or a file that is not a
/// library. `None` if there is no C compiler.
fn cuda_directory(has_driver: bool) -> Option<tempfile::TempDir> {
    let directory = tempfile::tempdir().unwrap();
    let library = directory.path().join("libcuda.so.1");
    if !has_driver {
        for name in ["libcuda.so.1", "libcuda.so"] {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        return Some(directory);
    }
    let mut compile = Command::new("cc");
    compile.args(["-shared", "-fPIC", "-pthread", "-o"]).arg(&library);
    compile.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/src/memory/tests/driver.c"));
    match compile.status() {
        Ok(status) => assert!(status.success()),
        Err(error) => {
            println!("skipped: there is no C compiler: {error}");
            return None;
        }
    }
    Some(directory)
}

/// Without a usable GPU, a segment has only DRAM unless VRAM is requested, and the target says so.
#[test]
fn a_segment_has_vram_only_if_it_can() {
    let driver_failed = "the CUDA driver failed: cuInit returned ";
    let (no_gpu, broken) = (
        "offers none to this process",
        format!("needs a GPU, but {driver_failed}"),
    );
    for (has_driver, init_error, reason, requested) in [
        (false, None, "there is no GPU", no_gpu),
        // CUDA_ERROR_NO_DEVICE.
        (true, Some("100"), "there is no GPU", no_gpu),
        // CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: whether there is a GPU is unknown.
        (true, Some("803"), driver_failed, broken.as_str()),
        // The simulated driver has GPUs, but libfabric's tcp provider cannot access their memory.
        (true, None, "its VRAM cannot be used: ", " memory"),
    ] {
        let Some(directory) = cuda_directory(has_driver) else {
            return;
        };
        let runner = || {
            let mut command = runner();
            command.env("LD_LIBRARY_PATH", directory.path());
            command.envs(init_error.map(|error| ("TEST_DRIVER_INIT", error)));
            command
        };
        let target = |flags: &[&str]| {
            let mut command = runner();
            command.args(["target", "--provider", "tcp"]).args(with(flags));
            command
        };
        let process = Process::start(&mut target(&[]));
        let command = process.wait_for_line("fabricbench-runner initiator ");
        assert!(command.contains(" --use-vram=false"), "{command}");
        process.wait_for_line("ready; ");
        let command: Vec<&str> = command.split_whitespace().skip(1).collect();
        let initiator = finish(runner().args(&command));
        assert!(initiator.status.success(), "{initiator:?}");
        assert!(initiator.stdout.contains(" · heap · "), "{initiator:?}");
        // The memory of the two sides must be the same.
        let cuda = finish(runner().args(&command).args(["--use-dram=false", "--use-vram"]));
        assert!(!cuda.status.success(), "{cuda:?}");
        let signal = Command::new("kill").arg(process.id().to_string()).status();
        assert!(signal.unwrap().success());
        let output = process.finish();
        assert!(output.status.success(), "{output:?}");
        let note = format!("the segment has only DRAM, because {reason}");
        assert!(output.stderr.contains(&note), "{output:?}");
        for flags in [&["--use-vram"][..], &["--use-dram=false"]] {
            let output = finish(&mut target(flags));
            assert!(!output.status.success(), "{output:?}");
            assert!(output.stderr.contains(requested), "{output:?}");
        }
    }
}

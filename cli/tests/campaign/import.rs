//! Imports logs, reports and compares them, and rejects files that must not be imported.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::command::{RESULT, manifest};
use super::harness::{CommandOutput, RunningCommand, TestDir, fabricbench, workspace};

/// Returns the path of a log in the parser golden files.
fn golden_log_path(name: &str) -> String {
    let file = workspace().join(format!("command-output/tests/golden/{name}.txt"));
    file.display().to_string()
}

/// Runs `fabricbench import` with the output directory of `dir`.
fn import(dir: &TestDir, arguments: &[&str]) -> CommandOutput {
    let mut command = fabricbench(["import", "--output"]);
    command.arg(dir.output_dir()).args(arguments);
    RunningCommand::start(command).wait()
}

fn run(arguments: &[&str]) -> CommandOutput {
    let mut command = fabricbench([]);
    command.args(arguments);
    RunningCommand::start(command).wait()
}

/// Writes a fabtests log with a latency of `latency` microseconds at 64 bytes.
fn fabtests_log(dir: &Path, name: &str, latency: &str) -> String {
    let path = dir.join(name);
    let rate = 64.0 / latency.parse::<f64>().unwrap();
    let text = format!(
        "bytes   iters   total       time     MB/sec    usec/xfer   Mxfers/sec\n\
         64      10k     1.2m        0.22s      {rate:.2}      {latency}       0.09\n"
    );
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn path(directory: PathBuf) -> String {
    directory.display().to_string()
}

#[test]
fn every_format_says_that_an_imported_run_is_not_controlled() {
    let dir = TestDir::new();
    let logs = tempfile::tempdir().unwrap();
    let log = |name, latency| fabtests_log(logs.path(), name, latency);
    let variants = [
        format!("old={}", log("1", "10.00")),
        format!("old={}", log("2", "12.00")),
        format!("new={}", log("3", "22.00")),
    ];
    let [first, second, third] = &variants;
    let imported = import(
        &dir,
        &[
            "--tool",
            "fabtests",
            "--name",
            "nics",
            "--variant",
            first,
            "--variant",
            second,
            "--variant",
            third,
        ],
    );
    let imported = imported.expect_code(0);
    imported.expect_stdout("11.0 us (10.0 us to 12.0 us, 2 logs)");
    imported.expect_stdout("22.0 us (1 log), +100.0 % [+99.9, +100.1] not controlled");
    imported.expect_stdout("verdict none: not controlled");

    let directory = path(dir.run_dir("nics"));
    for format in ["text", "html", "markdown", "junit", "csv", "json"] {
        let report = run(&["report", &directory, "--format", format]).expect_code(3);
        assert!(report.stdout.contains("not controlled"), "{format}: {report}");
        for verdict in ["Improved", "Regressed", "NoChange", "Inconclusive"] {
            assert!(!report.stdout.contains(verdict), "{format}: {verdict}: {report}");
        }
    }
    let stored = fs::read_to_string(dir.run_dir("nics").join("report.html")).unwrap();
    assert!(stored.contains("Not controlled"));
    let metrics = run(&["report", &directory, "--format", "openmetrics"]).expect_code(2);
    metrics.expect_stderr("an imported run has no metrics");

    let json = run(&["report", &directory, "--format", "json"]);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["status"]["reason"], "NotControlled");
    assert_eq!(
        (&json["controlled"], &json["verdict"]),
        (&Value::Bool(false), &Value::Null)
    );
    let stored: Value =
        serde_json::from_slice(&fs::read(dir.run_dir("nics").join("import.json")).unwrap()).unwrap();
    assert_eq!(stored["status"], json["status"]);

    // Commands that need a measured run reject it.
    let demo = path(workspace().join("examples/demo.yaml"));
    let replay = run(&["replay", &directory]).expect_code(2);
    replay.expect_stderr("is an imported run: it has no plan");
    let against = run(&["run", &demo, "--against", &directory]).expect_code(2);
    against.expect_stderr("is an imported run: it has no plan");
    let again = import(
        &dir,
        &[
            &golden_log_path("published/fabtests-fi_rdm_pingpong"),
            "--tool",
            "Fabtests",
            "--name",
            "nics",
        ],
    );
    again.expect_code(2).expect_stderr("already contains a run");
}

#[test]
fn imported_runs_are_compared_without_a_verdict() {
    let dir = TestDir::new();
    for (name, log) in [
        ("latency", "perftest-ib_write_lat"),
        ("bandwidth", "perftest-ib_write_bw-mib"),
        ("nccl", "nccl-tests-all_reduce_perf-2.13"),
    ] {
        let tool = if name == "nccl" { "NcclTests" } else { "Perftest" };
        let log = golden_log_path(&format!("published/{log}"));
        import(&dir, &[&log, "--tool", tool, "--name", name]).expect_code(0);
    }
    let [latency, bandwidth, nccl] = ["latency", "bandwidth", "nccl"].map(|name| path(dir.run_dir(name)));
    let tools = run(&["compare", &latency, &nccl]).expect_code(2);
    tools.expect_stderr("latency was measured with Perftest, but nccl was measured with NcclTests");
    let metrics = run(&["compare", &latency, &bandwidth]).expect_code(2);
    metrics.expect_stderr("have no size and metric in common");
    let same = run(&["compare", &latency, &latency]).expect_code(2);
    same.expect_stderr("are the same run");

    let logs = tempfile::tempdir().unwrap();
    let import_one = |name: &str, latency: &str| {
        let log = fabtests_log(logs.path(), name, latency);
        import(&dir, &[&log, "--tool", "Fabtests", "--name", name]).expect_code(0);
        path(dir.run_dir(name))
    };
    let (first, second) = (import_one("first", "11.22"), import_one("second", "5.61"));
    let text = run(&["compare", &first, &second]).expect_code(3);
    text.expect_stdout("second compared with first: not controlled");
    text.expect_stdout("11.2 us (1 log) 5.61 us (1 log) -50.0 % [-50.1, -49.9], not controlled");
    let json = run(&["compare", &first, &second, "--format", "json"]).expect_code(3);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["controlled"], false);
    let difference = &json["comparisons"][0];
    assert_eq!(difference["verdict"], Value::Null);
    let percent = difference["differencePercent"].as_f64().unwrap();
    assert!((percent + 50.0).abs() < 1e-9, "{percent}");
}

#[test]
fn imported_run_is_compared_with_a_measured_run_of_the_same_tool() {
    let dir = TestDir::new();
    let mut command = dir.run(&dir.manifest(&manifest("[{name: base}]", RESULT)));
    command.args(["--rounds", "2"]);
    RunningCommand::start(command).wait();
    let measured = path(dir.run_dir("script"));
    let logs = tempfile::tempdir().unwrap();
    let log = fabtests_log(logs.path(), "log", "22.44");
    import(&dir, &[&log, "--tool", "Fabtests", "--name", "one"]).expect_code(0);
    // Each run has one variant, so their names may differ.
    let compared = run(&["compare", &path(dir.run_dir("one")), &measured]).expect_code(3);
    for value in [
        "22.4 us (1 log)",
        "11.2 us (11.2 us to",
        "-50.0 %, not controlled",
    ] {
        compared.expect_stdout(value);
    }
    let variants = [
        format!("a={log}"),
        format!("b={}", fabtests_log(logs.path(), "other", "3.00")),
    ];
    let [a, b] = &variants;
    import(
        &dir,
        &[
            "--tool",
            "Fabtests",
            "--name",
            "two",
            "--variant",
            a,
            "--variant",
            b,
        ],
    )
    .expect_code(0);
    let compared = run(&["compare", &path(dir.run_dir("two")), &measured]).expect_code(2);
    compared.expect_stderr("two has a, b, script has base");
}

#[test]
fn rejects_changed_stored_files() {
    let dir = TestDir::new();
    let log = golden_log_path("published/nixlbench-1.0");
    import(&dir, &[&log, "--tool", "Nixlbench"]).expect_code(0);
    let directory = path(dir.run_dir("imported"));
    let stored = dir.run_dir("imported").join("logs/1.log");
    let text = fs::read_to_string(&stored).unwrap();
    fs::write(&stored, text.replace("0.229964", "0.329964")).unwrap();
    let changed = run(&["report", &directory]).expect_code(2);
    changed.expect_stderr("was changed after the import");
    fs::remove_file(&stored).unwrap();
    run(&["report", &directory])
        .expect_code(2)
        .expect_stderr("logs/1.log: no such file");
    let manifest = dir.run_dir("imported").join("import.json");
    let text = fs::read_to_string(&manifest).unwrap();
    for (from, to) in [
        ("NotControlled", "Controlled"),
        ("\"kind\"", "\"kinds\""),
        ("\"logs\": [", "\"logs\": [], \"x\": ["),
    ] {
        fs::write(&manifest, text.replace(from, to)).unwrap();
        run(&["report", &directory])
            .expect_code(2)
            .expect_stderr("invalid ImportedRun");
    }
    fs::write(dir.run_dir("imported").join("run.json"), "{}").unwrap();
    run(&["report", &directory])
        .expect_code(2)
        .expect_stderr("both an imported and a measured run");
}

#[test]
fn errors_explain_why_files_cannot_be_imported() {
    let dir = TestDir::new();
    let logs = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = logs.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.display().to_string()
    };
    let perftest = golden_log_path("published/perftest-ib_write_bw-mib");
    let text = fs::read_to_string(&perftest).unwrap();
    let gbits = fs::read_to_string(golden_log_path("published/perftest-ib_write_bw-gbits")).unwrap();
    let twice = format!("base={perftest}");
    let copy = format!("base={}", file("copy", text.as_bytes()));
    let sizes = golden_log_path("made/fabtests-1.17-fi_rdm_tagged_bw");
    let prefixed: String = fs::read_to_string(&sizes)
        .unwrap()
        .lines()
        .map(|line| format!("[pod/worker-0/worker] {line}\r\n"))
        .collect();
    let sizes = format!("base={sizes}");
    let prefixed = format!("other={}", file("prefixed", prefixed.as_bytes()));
    let latency = format!("base={}", golden_log_path("published/perftest-ib_write_lat"));
    let other_test = fs::read_to_string(golden_log_path("published/perftest-ib_write_lat")).unwrap();
    let other_test = file("read", other_test.replace("RDMA_Write", "RDMA_Read").as_bytes());
    let other_test = format!("other={other_test}");
    let cases: &[(&[&str], &str)] = &[
        (
            &[&perftest, "--tool", "NcclTests"],
            "the log was written by Perftest, not by NcclTests. Specify --tool Perftest",
        ),
        (&[&file("empty", b""), "--tool", "Perftest"], "the file is empty"),
        (
            &[&file("binary", b"\x7fELF\0"), "--tool", "Perftest"],
            "the file is not text: byte 4",
        ),
        (
            &[
                &file("cut", &text.as_bytes()[..text.len() - 30]),
                "--tool",
                "Perftest",
            ],
            "the file ends within the line",
        ),
        (
            &[
                &file("units", format!("{text}{gbits}").as_bytes()),
                "--tool",
                "Perftest",
            ],
            "different columns or units",
        ),
        (
            &[&file("again", text.repeat(2).as_bytes()), "--tool", "Perftest"],
            "the output contains several invocations",
        ),
        (
            &[&file("huge", &vec![b'\n'; (16 << 20) + 1]), "--tool", "Perftest"],
            "longer than 16 MiB",
        ),
        (
            &["/dev/zero", "--tool", "Perftest"],
            "/dev/zero is not a regular file",
        ),
        (
            &[&path(logs.path().to_owned()), "--tool", "Perftest"],
            "is not a regular file",
        ),
        (&["/nowhere/x", "--tool", "Perftest"], "/nowhere/x: no such file"),
        (
            &["--tool", "Perftest", "--variant", &twice, "--variant", &copy],
            "has the same content as",
        ),
        (
            &["--tool", "Fabtests", "--variant", &sizes, "--variant", &prefixed],
            "has the same results as",
        ),
        (
            &[
                "--tool",
                "Perftest",
                "--variant",
                &latency,
                "--variant",
                &other_test,
            ],
            "is a log of `RDMA_Read Latency Test`",
        ),
        (
            &[&perftest, "--tool", "Perftest", "--size", "64"],
            "the log contains sizes, so --size cannot apply",
        ),
        (
            &[&perftest, "--tool", "Perftest", "--name", "A/b"],
            "--name: `A/b` is not a valid name",
        ),
        (
            &["--tool", "Perftest", "--variant", "Old=x"],
            "`Old` is not a valid name",
        ),
        (
            &["--tool", "Perftest", "--variant", "old"],
            "use the form NAME=FILE",
        ),
        (&[&perftest, "--tool", "iperf"], "Use one of NcclTests, Perftest"),
        (&[&perftest], "--tool <TOOL>"),
        (&["--tool", "Perftest"], "required arguments were not provided"),
        (
            &[&perftest, "--tool", "Regex"],
            "--tool Regex requires --expression",
        ),
        (
            &[&perftest, "--tool", "Perftest", "--expression", "x"],
            "--expression applies only to --tool Regex",
        ),
        (
            &[&perftest, "--tool", "Regex", "--expression", "(?<latency>x)"],
            "--latency-unit: the latency group needs a unit",
        ),
    ];
    for (arguments, message) in cases {
        let output = import(&dir, arguments).expect_code(2);
        output.expect_stderr(message);
        assert!(!dir.output_dir().exists(), "nothing is written: {arguments:?}");
    }
}

#[test]
fn accepts_a_size_and_a_pattern_for_tools_that_need_them() {
    let dir = TestDir::new();
    let log = golden_log_path("made/ucx_perftest-1.22-tag_lat");
    let sized = import(
        &dir,
        &[&log, "--tool", "UcxPerftest", "--size", "64", "--name", "sized"],
    )
    .expect_code(0);
    sized.expect_stdout("64 B 337 us (1 log)");
    let other = import(
        &dir,
        &[&log, "--tool", "UcxPerftest", "--size", "4Ki", "--name", "other"],
    )
    .expect_code(2);
    other.expect_stderr(
        "the values of the result imply a size of 62 to 65 bytes, not of 4096. Specify the size with which the tool ran, \
         probably --size 64",
    );
    let unsized_run = import(&dir, &[&log, "--tool", "UcxPerftest", "--name", "unsized"]).expect_code(0);
    unsized_run.expect_stdout("not printed 337 us (1 log)");
    let logs = tempfile::tempdir().unwrap();
    let file = logs.path().join("log");
    fs::write(&file, "64: 1.5 ms\n").unwrap();
    let file = file.display().to_string();
    let regex = [
        "--tool",
        "Regex",
        "--expression",
        r"^(?<size>\d+): (?<latency>[0-9.]+)",
        "--latency-unit",
        "ms",
    ];
    let mut arguments = vec![file.as_str(), "--name", "regex"];
    arguments.extend(regex);
    import(&dir, &arguments)
        .expect_code(0)
        .expect_stdout("64 B 1.5 ms (1 log)");
    let report = run(&["report", &path(dir.run_dir("regex")), "--format", "csv"]).expect_code(3);
    assert!(
        report
            .stdout
            .contains("regex,Regex,64,imported,ReportedLatency,ns,1,1500000,"),
        "{report}"
    );
}

//! Tests that every question becomes a file that `plan` accepts, and that refusals name the flag.

use clap::Parser;

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    init: Init,
}

/// The command with the flags in `line`.
fn init(line: &str) -> Init {
    let words = shlex::split(line).unwrap();
    let words = ["init".to_owned()].into_iter().chain(words);
    Line::try_parse_from(words)
        .unwrap_or_else(|error| panic!("{line}: {error}"))
        .init
}

/// Text of the file for the flags in `line`, which `plan` accepts.
fn accepted(line: &str) -> String {
    let (_, text, _) = init(line)
        .manifest()
        .unwrap_or_else(|failure| panic!("{line}: {failure}"));
    text
}

#[test]
fn every_question_becomes_a_file_that_plan_accepts() {
    let subjects = [
        "--env FI_X=1",
        "--env FI_X=1 --env FI_X=2 --env 'FI_X=3 FI_Y=\"a b\"'",
        "--env UCX_TCP_TX_SEG_SIZE=64k",
        "--env NIXL_LOG_LEVEL=debug",
        "--library /opt/lib",
        "--library /opt/lib --env FI_X=1 --inject 8",
        "--inject",
        "--inject 100k",
        "--command 'ib_write_bw -p {port} -s {size}'",
        "--command 'fi_pingpong -B {port}' --command 'fi_pingpong -P {port} {server}' --env FI_X=1",
        "--command 'ucx_perftest -p {port} -t tag_bw -s {size} {server} -f'",
        "--command 'my-tool --quiet'",
        "--command 'my-tool --bandwidth'",
        "--command 'all_reduce_perf -b {size} -e {size}'",
    ];
    for subject in subjects {
        for place in [
            "",
            " --on this-machine",
            " --on machines",
            " --on p5",
            " --on p5 --nodes 3",
            " --on machines --nodes all",
        ] {
            accepted(&format!("{subject}{place}"));
        }
    }
    for line in [
        "--image a --image b:1 --on p5",
        "--nodes all --on machines",
        "--nodes 32 --on p5",
    ] {
        accepted(line);
    }
}

#[test]
fn every_transport_is_accepted() {
    for name in [
        "tcp",
        "net",
        "tcp;ofi_rxm",
        "shm",
        "verbs;ofi_rxm",
        "efa",
        "efa-direct",
        "ucx",
        "nixl",
        "verbs",
        "loopback",
    ] {
        let subject = if name == "loopback" {
            "--nodes all --on machines"
        } else {
            "--env FI_X=1"
        };
        let line = format!("{subject} --transport '{name}'");
        match name {
            // No library reads variables.
            "loopback" => assert!(init(&line).manifest().is_err()),
            _ => assert!(accepted(&line).contains("  transport:\n"), "{name}"),
        }
    }
    for (line, expected) in [
        (
            "--env UCX_X=1 --on p5",
            "    ucx: {transports: [tcp], rails: 1, emulation: Allow}\n",
        ),
        (
            "--env FI_X=1 --on p5",
            "    libfabric: {provider: efa, rails: 1}\n",
        ),
        (
            "--env FI_X=1 --transport nixl --on p5",
            "    nixl: {backend: LIBFABRIC}\n",
        ),
        ("--env FI_X=1", "    libfabric: {provider: tcp, rails: 1}\n"),
    ] {
        let text = accepted(line);
        assert!(text.contains(expected), "{line}: {text}");
    }
}

#[test]
fn refusals_name_the_flag() {
    for (line, expected) in [
        (
            "",
            "nothing to compare. Set --env, --image (twice), --library, --inject, --command or --nodes",
        ),
        ("--on p5", "nothing to compare"),
        ("--env FI_X", "--env: `FI_X` is not NAME=VALUE, such as FI_X=1"),
        ("--env ''", "--env: "),
        ("--env fi_x=1", "--env: "),
        ("--env FI_X=1 --env FI_X=1", "--env, --library: "),
        (
            "--image a --image b",
            "--image: only pods have images. Add `--on p5`",
        ),
        ("--image a --on p5", "--image: 1 given. Two are compared"),
        ("--image a --image 'b c' --on p5", "--image: "),
        ("--library lib", "--library: lib is not an absolute path"),
        ("--inject many", "--inject: "),
        ("--command '{server}'", "--command: "),
        (
            "--command 'a {server}'",
            "--command: the client is started when the server is ready",
        ),
        ("--command \"'\"", "--command: "),
        (
            "--command a --command b --command c",
            "--command: set it once, or twice",
        ),
        (
            "--nodes all",
            "--nodes: workers on one machine are not different nodes",
        ),
        (
            "--nodes 1 --on machines",
            "--nodes: `1` is neither `all` nor a number from 2 to 64",
        ),
        (
            "--env FI_X=1 --transport tpc",
            "--transport: `tpc` is not a transport. Did you mean `tcp`?",
        ),
        (
            "--env FI_X=1 --transport shm --on machines",
            "--transport: shm connects only processes of one machine",
        ),
        (
            "--command 'tool -h {server} -p {port}'",
            "--command: the server would have the option -h without a value",
        ),
        ("--env FI_X=1 --name A", "--name: "),
    ] {
        let failure = init(line).manifest().unwrap_err();
        assert_eq!(failure.exit, Exit::InvalidInput, "{line}");
        let message = failure.to_string();
        assert!(message.starts_with(expected), "{line}: {message}");
    }
}

#[test]
fn a_text_with_a_line_feed_does_not_leave_a_comment() {
    let failure = init("--env \"FI_X=1\nfoo=2\"").manifest();
    let text = failure.map(|(_, text, _)| text).unwrap_or_default();
    assert!(!text.contains("\nfoo"), "{text}");
    assert_eq!(init("--env \"A='1\n2'\"").command_line().lines().count(), 1);
}

#[test]
fn an_existing_file_is_replaced_only_with_force() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a.yaml");
    write(&file, "one", false).unwrap();
    let failure = write(&file, "two", false).unwrap_err();
    let message = failure.to_string();
    assert!(
        message.ends_with("a.yaml exists. Choose another file, or replace it with --force"),
        "{message}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one");
    write(&file, "two", true).unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "two");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    let failure = write(&directory.path().join("none/a.yaml"), "one", false).unwrap_err();
    assert!(
        failure.to_string().starts_with("--output: cannot write "),
        "{failure}"
    );
}

#[test]
fn text_for_an_environment_variable_on_p5() {
    insta::assert_snapshot!(accepted("--env FI_EFA_USE_DEVICE_RDMA=1 --on p5"));
}

#[test]
fn text_for_a_command_on_this_machine() {
    insta::assert_snapshot!(accepted(
        "--command 'ucx_perftest -p {port} -t tag_lat -s {size}' --env UCX_TCP_NODELAY=n"
    ));
}

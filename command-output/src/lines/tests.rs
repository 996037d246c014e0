use super::*;

/// Tag and text of each line.
fn read(output: &str) -> Vec<(String, String)> {
    let found = Lines::read(output);
    let line = |line: &Line<'_>| (found.streams[line.stream].tag.clone(), line.text.to_string());
    found.lines.iter().map(line).collect()
}

fn texts(output: &str) -> Vec<String> {
    read(output).into_iter().map(|(_, text)| text).collect()
}

#[test]
fn prefixes_of_launchers_and_collectors_are_removed() {
    for prefix in [
        "",
        "2026-03-04T09:12:00.123456789Z ",
        "2026-03-04T02:12:00.5-07:00 ",
        "[2026-02-24T08:52:13.374Z] ",
        "2026-03-04T09:12:00.123456789Z stdout F ",
        "2026-03-04 09:12:00,123 ",
        "2026-03-04T09:12:00+0000 node-1 nccl[812]: ",
        "Nov 28 21:10:24 node-1 nccl[812]: ",
        "2026-03-04T09:12:00.123000+00:00 jobs/default/mpi-launcher ",
        "[pod/nccl-launcher-x7k2p/mpi] ",
        "[pod/nccl-launcher-x7k2p/mpi] 2026-03-04T09:12:00.123456789Z ",
        "[1,0]<stdout>:",
        "[prterun-node-1@1,0]<stdout>: ",
        "[1,0][node-1:4101]<stdout>:",
        "Sat Nov 28 21:10:24 2026[1,0]<stdout>:",
        "Sat Nov 28 21:10:24 2026<stdout>:",
        "2026-03-04T09:12:00.123456789Z [1,0]<stdout>:",
        "0: ",
        " 3: ",
        "worker-0: ",
        "[0] ",
        "nccl-1  | ",
        "2026-03-04T09:12:00Z 0: ",
        "worker-0: [1,0]<stdout>:",
        "\u{1b}[32m0: \u{1b}[0m",
    ] {
        let log = format!("{prefix}# size time\n{prefix}#\n{prefix}     8388608 1.5\n");
        assert_eq!(
            texts(&log),
            ["# size time", "#", "     8388608 1.5"],
            "{prefix:?}"
        );
        let streams = Lines::read(&log).streams.len();
        assert_eq!(streams, 1, "{prefix:?}");
    }
}

#[test]
fn a_number_is_not_a_prefix() {
    for log in [
        "0 1 2\n3 4 5\n",
        "64: 1.5 ms\nplain\n128: 2 ms\n",
        "[1795632881.451743] [vm:25261:0] UCX  INFO x\n[1795632881.451744] [vm:25261:0] UCX  INFO y\n",
        "n:1:1 [0] NCCL INFO a\n  8 2 float\n",
        "only: one\n",
    ] {
        let lines: Vec<&str> = log.lines().collect();
        assert_eq!(texts(log), lines, "{log:?}");
    }
}

#[test]
fn processes_are_separate_streams() {
    let log = "0: header\n1: header\n0: 1\n1: 2\n";
    let found = read(log);
    let tags: Vec<&str> = found.iter().map(|(tag, _)| tag.as_str()).collect();
    assert_eq!(tags, ["0", "1", "0", "1"]);
    let lines = Lines::read(log);
    assert_eq!(
        lines.by_stream()[1]
            .iter()
            .map(|line| line.text.as_ref())
            .collect::<Vec<_>>(),
        ["header", "2"]
    );
    assert_eq!(lines.lines[3].raw, "1: 2");
    assert_eq!(lines.lines[3].number, 4);
}

#[test]
fn a_line_without_the_prefix_is_another_stream() {
    let log = "[1,0]<stdout>:header\n[1,0]<stdout>:64 1\n4 1\n";
    let streams: Vec<usize> = Lines::read(log).lines.iter().map(|line| line.stream).collect();
    assert_eq!(streams, [0, 0, 1]);
    let log = "Attaching to nccl-1\nnccl-1  | a\nnccl-1  | b\nnccl-1  | c\nnccl-1 exited with code 0\n";
    assert_eq!(texts(log)[1..4], ["a", "b", "c"]);
}

#[test]
fn carriage_returns_byte_order_mark_and_colors_are_removed() {
    assert_eq!(texts("\u{feff}a\r\nb \r\r\n"), ["a", "b"]);
    assert_eq!(texts("10 %\r64 1\n"), ["10 %", "64 1"]);
    assert_eq!(texts("\u{1b}[1;31m64\u{1b}[0m 1\u{1b}]0;title\u{7}\n"), ["64 1"]);
    assert_eq!(texts("\u{1b}"), [""]);
}

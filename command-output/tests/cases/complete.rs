//! Outputs that do not come from exactly one complete run, or whose values exclude a size. An imported log and the output of a
//! command are checked alike.

use command_output::import::read;
use command_output::{OutputOrigin, ParseError, parse, select};
use crds::v1alpha1::CommandTool;

use crate::logs::{FABTESTS, LATENCY, MOONCAKE, NCCL, NIXLBENCH, PERFTEST, UCX};

/// Output of `ib_write_bw -b --report-both`.
const BOTH: &str = "                    RDMA_Write Bidirectional BW Test
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]
 65536      5000             22016.02            22001.35\t\t     0.352022
---------------------------------------------------------------------------------------

 Local results: 
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]
 65536      5000             11008.01            11001.02\t\t     0.176016
---------------------------------------------------------------------------------------

 Remote results: 
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]
 65536      5000             11008.01            11000.33\t\t     0.176005
---------------------------------------------------------------------------------------
";

/// The error for `output`, which both readers return, as it is shown to the user of each of them.
fn rejected(tool: CommandTool, output: &str) -> [String; 2] {
    let case = match parse(tool, None, output) {
        Ok(rows) => panic!("accepted {rows:?}:\n{output}"),
        Err(error) => error,
    };
    let log = read(tool, None, output.as_bytes()).unwrap_err().to_string();
    assert_eq!(log, case.explained(OutputOrigin::Log), "{output}");
    [log, case.explained(OutputOrigin::Command)]
}

#[test]
fn a_log_and_the_output_of_a_command_are_checked_alike() {
    let lines = |log: &str, count: usize| -> String { log.split_inclusive('\n').take(count).collect() };
    let without = |log: &str, part: &str| -> String {
        let kept = log.split_inclusive('\n').filter(|line| !line.contains(part));
        kept.collect()
    };
    let twice = |log: &str, row: &str| {
        let line = log.split_inclusive('\n').find(|line| line.contains(row)).unwrap();
        log.replace(line, &format!("{line}{line}"))
    };
    let tool = CommandTool::NcclTests;
    let perftest = CommandTool::Perftest;
    let cases = [
        // The process was aborted before it printed the end.
        (
            tool,
            lines(NCCL, 12),
            "`# Avg bus bandwidth` does not follow",
            "ended early",
        ),
        (
            tool,
            lines(NCCL, 13),
            "`# Avg bus bandwidth` does not follow",
            "ended early",
        ),
        (
            tool,
            without(NCCL, "Avg bus"),
            "`# Avg bus bandwidth` does not follow",
            "ended early",
        ),
        (
            perftest,
            lines(PERFTEST, 15),
            "a line of hyphens does not follow",
            "ended early",
        ),
        (
            perftest,
            lines(PERFTEST, 14),
            "has the header of a table but no result of Perftest",
            "ended early",
        ),
        (
            perftest,
            lines(LATENCY, 5),
            "a line of hyphens does not follow",
            "ended early",
        ),
        (
            perftest,
            lines(BOTH, 7),
            "one of them has no result",
            "ended early",
        ),
        (
            perftest,
            lines(BOTH, 11),
            "one of them has no result",
            "ended early",
        ),
        // An announced result is missing.
        (
            tool,
            without(NCCL, "    4194304  "),
            "announces 4194304 bytes",
            "ended early",
        ),
        (
            tool,
            without(NCCL, "    8388608  "),
            "announces 8388608 bytes",
            "ended early",
        ),
        (
            tool,
            without(NCCL, "   16777216  "),
            "announces 16777216 bytes",
            "ended early",
        ),
        // Several runs.
        (
            tool,
            NCCL.replace(
                "16777216       4194304     float",
                "16777216       8388608      half",
            ),
            "the data type `float`, `half`",
            "once in each command",
        ),
        (
            tool,
            NCCL.replace("float     sum      -1    310.5", "float     max      -1    310.5"),
            "the reduction `sum`, `max`",
            "once in each command",
        ),
        (
            perftest,
            PERFTEST.repeat(2),
            "more than once",
            "once in each command",
        ),
        (
            perftest,
            format!("{PERFTEST}{BOTH}"),
            "different columns or units",
            "once in each command",
        ),
        (
            perftest,
            twice(LATENCY, " 4096 "),
            "several results of 4096 bytes",
            "once in each command",
        ),
        (
            CommandTool::Fabtests,
            twice(FABTESTS, "256 "),
            "several results of 256 bytes",
            "once in each command",
        ),
        (
            CommandTool::Nixlbench,
            twice(NIXLBENCH, "65536 "),
            "several results of 65536 bytes",
            "once in each command",
        ),
        (
            CommandTool::UcxPerftest,
            twice(UCX, "Final:"),
            "several results without a size",
            "once in each command",
        ),
        (
            CommandTool::TransferEngineBench,
            twice(MOONCAKE, "completed"),
            "several results without a size",
            "once in each command",
        ),
    ];
    for (tool, output, cause, remedy) in cases {
        let [log, command] = rejected(tool, &output);
        assert!(log.contains(cause) && command.contains(cause), "{log}\n{output}");
        assert!(command.contains(remedy), "{command}");
        assert!(!command.contains("log") && !command.contains("file"), "{command}");
    }
}

#[test]
fn values_that_were_not_measured_are_named() {
    let tool = CommandTool::Perftest;
    let cases = [
        (tool, PERFTEST.replace("97.20 ", "  inf ").replace("1.483154", "     inf"), "`inf` in"),
        (tool, PERFTEST.replace("97.94 ", "-nan  ").replace("0.186806", "    -nan"), "`-nan` in"),
        (tool, LATENCY.replace(" 2.09 ", "  nan "), "`nan` in"),
        (tool, LATENCY.replace("1000          12.01", "0          12.01"), "the result of 4096 bytes has 0 iterations"),
        (CommandTool::NcclTests, NCCL.replace("200.0   20.97   20.97", "  0.00    inf     inf"), "`inf` in"),
        (CommandTool::Nixlbench, NIXLBENCH.replace("6.553600", "inf     "), "`inf` in"),
        (CommandTool::Nixlbench, NIXLBENCH.replace("20.0  ", "-nan  "), "`-nan` in"),
        (CommandTool::UcxPerftest, UCX.replace("Final:                100000      9.881    20.000    20.000", "Final:                100000      9.881    20.000      -nan"), "`-nan` in"),
        (CommandTool::UcxPerftest, UCX.lines().take(5).chain([
            "Final:                     0      0.000     0.000     0.000        0.00       0.00           0           0",
        ]).map(|line| format!("{line}\n")).collect(), "the result without a size has 0 iterations"),
        (CommandTool::TransferEngineBench, MOONCAKE.replace("5.12 GB", "inf GB"), "`inf` in"),
        (CommandTool::TransferEngineBench, MOONCAKE.replace("5.12 GB", "-nan GB"), "`-nan` in"),
    ];
    for (tool, output, cause) in cases {
        let [log, command] = rejected(tool, &output);
        assert!(log.contains(cause), "{log}\n{output}");
        assert!(
            log.contains("Repeat the run with a larger size or more iterations"),
            "{log}"
        );
        assert!(
            command.contains("Specify a larger size or more iterations"),
            "{command}"
        );
    }
}

#[test]
fn both_directions_of_perftest_are_parts_of_the_total() {
    let tool = CommandTool::Perftest;
    let rows = parse(tool, None, BOTH).unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(read(tool, None, BOTH.as_bytes()).unwrap().rows, rows);
    assert_eq!(rows[0].bytes_per_second(), Some(22001.35 * 1_048_576.0));
    let changed = BOTH
        .replace("11000.33", "10000.33")
        .replace("0.176005", "0.160005");
    let [log, _] = rejected(tool, &changed);
    assert!(
        log.contains("the total is not the sum of the local and the remote results"),
        "{log}"
    );
    let [log, _] = rejected(tool, &BOTH.replace(" Remote results: \n", ""));
    assert!(log.contains("more than once"), "{log}");
}

/// The unidirectional tests of UCT count one more message at the end, without bytes.
#[test]
fn an_extra_message_does_not_exclude_the_size() {
    let header = UCX.split_inclusive('\n').take(5).collect::<String>();
    let header = header.replace("latency (usec)", "overhead (usec)");
    let output = |values: &str| format!("{header}Final: {values}\n");
    for (values, right, wrong) in [
        // 1000 messages of 64 KiB and the extra one in 0.1 s.
        (
            "1000 99.980 100.000 100.000 625.00 625.00 10010 10010",
            &[65_536][..],
            &[32_768, 65_000, 131_072][..],
        ),
        (
            "1 99.980 100.000 100.000 625.00 625.00 20000 20000",
            &[65_536],
            &[16_384, 131_072],
        ),
        // After the last row that was printed during the test, there was one message and the extra one, or only the latter.
        (
            "3000 999.980 1000.000 1000.000 62.50 62.50 2000 1000",
            &[65_536],
            &[32_768, 131_072],
        ),
        (
            "3000 999.980 inf 1000.000 0.00 62.50 1000 1000",
            &[65_536],
            &[32_768, 131_072],
        ),
        // The last row was printed at the very end.
        (
            "3000 999.980 -nan 1000.000 -nan 62.50 -nan 1000",
            &[65_536],
            &[32_768, 131_072],
        ),
        // Several threads.
        ("4000 100.000 625.00 10010", &[65_536, 66_000], &[32_768, 131_072]),
    ] {
        let rows = parse(CommandTool::UcxPerftest, None, &output(values)).unwrap();
        for size in right {
            assert!(select(&rows, *size).is_ok(), "{values}: {size}: {rows:?}");
        }
        for size in wrong {
            let error = select(&rows, *size).unwrap_err();
            assert!(
                matches!(error, ParseError::ImpliedSize { .. }),
                "{values}: {error}"
            );
        }
    }
    for values in [
        "3000 inf 1000.000 1000.000 62.50 62.50 1000 1000",
        "3000 999.980 1000.000 inf 62.50 62.50 1000 1000",
        "3000 999.980 1000.000 1000.000 62.50 nan 1000 1000",
        "3000 999.980 1000.000 1000.000 62.50 62.50 3000 1000",
    ] {
        assert!(
            parse(CommandTool::UcxPerftest, None, &output(values)).is_err(),
            "{values}"
        );
    }
}

#[test]
fn values_exclude_a_wrong_size() {
    let mooncake = CommandTool::TransferEngineBench;
    for (tool, output, right, wrong, implied) in [
        // 3.05 MiB/s at 50000 messages per second.
        (
            CommandTool::UcxPerftest,
            UCX.to_owned(),
            &[64][..],
            &[60, 70, 4096][..],
            "64 bytes",
        ),
        (
            mooncake,
            MOONCAKE.to_owned(),
            &[1, 65_536, 8_390_000],
            &[8_410_000, 1 << 30],
            "at most",
        ),
        (mooncake, MOONCAKE.replace("6102", "0"), &[1, 1 << 40], &[], ""),
    ] {
        let rows = parse(tool, None, &output).unwrap();
        for size in right {
            assert!(select(&rows, *size).is_ok(), "{tool:?}: {size}");
        }
        for size in wrong {
            let error = select(&rows, *size).unwrap_err();
            assert!(matches!(error, ParseError::ImpliedSize { .. }), "{error}");
            assert!(error.to_string().contains(implied), "{error}");
            let text = error.explained(OutputOrigin::Command);
            assert!(
                text.ends_with("Pass the size to the tool with the placeholder {size}"),
                "{text}"
            );
        }
    }
    let rows = parse(CommandTool::UcxPerftest, None, UCX).unwrap();
    let text = select(&rows, 4096).unwrap_err().explained(OutputOrigin::Log);
    assert!(
        text.contains("not of 4096") && text.ends_with("probably --size 64"),
        "{text}"
    );
    let text = select(&rows, 4096)
        .unwrap_err()
        .explained_with(OutputOrigin::Command, "2 lines not understood");
    assert!(
        text.ends_with(
            "not of 4096; 2 lines not understood. Pass the size to the tool with the placeholder {size}"
        ),
        "{text}"
    );
}

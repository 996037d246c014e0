//! Imports the outputs in `golden/`, and outputs that must not be imported.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use command_output::ParseError;
use command_output::import::{ImportError, MAX_LOG_BYTES, read};
use crds::v1alpha1::{CommandPattern, CommandTool, TimeUnit};

macro_rules! golden {
    ($name:literal) => {
        include_str!(concat!("golden/", $name, ".txt"))
    };
}

/// Outputs that contain results, each with its tool and its number of results.
const LOGS: [(CommandTool, &str, usize); 17] = [
    (
        CommandTool::NcclTests,
        golden!("published/nccl-tests-all_reduce_perf-2.13"),
        3,
    ),
    (
        CommandTool::NcclTests,
        golden!("published/nccl-tests-all_reduce_perf-2.10-mpirun"),
        2,
    ),
    (
        CommandTool::Perftest,
        golden!("published/perftest-ib_write_bw-gbits"),
        1,
    ),
    (
        CommandTool::Perftest,
        golden!("published/perftest-ib_write_bw-mb"),
        2,
    ),
    (
        CommandTool::Perftest,
        golden!("published/perftest-ib_write_bw-mib"),
        1,
    ),
    (
        CommandTool::Perftest,
        golden!("published/perftest-ib_write_lat"),
        2,
    ),
    (CommandTool::Fabtests, golden!("made/fi_pingpong-1.17-default"), 6),
    (
        CommandTool::Fabtests,
        golden!("published/fabtests-fi_rdm_pingpong"),
        2,
    ),
    (
        CommandTool::Fabtests,
        golden!("published/fabtests-fi_rma_bw-named"),
        1,
    ),
    (
        CommandTool::Fabtests,
        golden!("published/fabtests-machine-readable"),
        2,
    ),
    (
        CommandTool::UcxPerftest,
        golden!("made/ucx_perftest-1.13-tag_lat"),
        1,
    ),
    (
        CommandTool::UcxPerftest,
        golden!("made/ucx_perftest-1.13-put-info"),
        1,
    ),
    (CommandTool::UcxPerftest, golden!("made/ucx_perftest-1.22-csv"), 1),
    (
        CommandTool::UcxPerftest,
        golden!("made/ucx_perftest-1.22-tag_bw-final"),
        1,
    ),
    (CommandTool::Nixlbench, golden!("published/nixlbench-1.0"), 2),
    (CommandTool::Nixlbench, golden!("published/nixlbench-1.0-ci"), 1),
    (
        CommandTool::TransferEngineBench,
        golden!("made/transfer_engine_bench-0.3.13-write"),
        1,
    ),
];

fn error(tool: CommandTool, log: &str) -> ImportError {
    read(tool, None, log.as_bytes()).unwrap_err()
}

#[test]
fn complete_logs_are_accepted_only_for_the_tool_that_wrote_them() {
    for (tool, log, results) in LOGS {
        let found = read(tool, None, log.as_bytes()).unwrap_or_else(|error| panic!("{tool:?}: {error}"));
        assert_eq!(found.rows.len(), results, "{tool:?}");
        let others = CommandTool::ALL.into_iter();
        let others = others.filter(|other| *other != tool && *other != CommandTool::Regex);
        for other in others {
            let expected = ImportError::OtherTool {
                tool: other,
                actual: tool,
            };
            assert_eq!(error(other, log), expected);
        }
    }
}

#[test]
fn a_truncated_log_contains_only_results_of_the_complete_log() {
    for (tool, log, _) in LOGS {
        let complete = read(tool, None, log.as_bytes()).unwrap().rows;
        for end in (0..log.len()).filter(|end| log.is_char_boundary(*end)) {
            // fabtests and nixlbench print nothing after their results. A log of these tools that is cut after a line
            // is therefore accepted, but it contains only results of the complete log.
            if let Ok(cut) = read(tool, None, &log.as_bytes()[..end]) {
                assert_eq!(cut.rows, complete[..cut.rows.len()], "{tool:?} up to {end}");
                let has_end = !matches!(tool, CommandTool::Fabtests | CommandTool::Nixlbench);
                assert!(
                    !has_end || cut.rows.len() == complete.len(),
                    "{tool:?} up to {end}"
                );
            }
        }
    }
}

#[test]
fn rejects_logs_of_several_runs() {
    for (tool, log, _) in LOGS {
        let twice = error(tool, &log.repeat(2)).to_string();
        assert!(twice.contains("several"), "{tool:?}: {twice}");
        for (other, second, _) in LOGS.into_iter().filter(|(other, ..)| *other != tool) {
            let both = error(tool, &format!("{log}{second}"));
            assert!(
                matches!(both, ImportError::SeveralTools { .. }),
                "{tool:?}, {other:?}: {both}"
            );
        }
    }
    let units = [
        golden!("published/perftest-ib_write_bw-gbits"),
        golden!("published/perftest-ib_write_bw-mb"),
    ];
    let error = error(CommandTool::Perftest, &units.concat());
    let text = error.to_string();
    assert!(
        text.contains("BW average[Gb/sec]") && text.contains("BW average[MB/sec]"),
        "{text}"
    );
}

#[test]
fn rejects_files_that_are_not_logs() {
    let tool = CommandTool::Perftest;
    assert_eq!(error(tool, ""), ImportError::Empty);
    assert_eq!(error(tool, " \n\n"), ImportError::Empty);
    let binary = |bytes: &[u8]| read(tool, None, bytes).unwrap_err();
    assert_eq!(binary(b"\x7fELF\x02\0\xff"), ImportError::NotText { offset: 5 });
    assert_eq!(binary(b"ab\xff\0"), ImportError::NotText { offset: 2 });
    assert_eq!(binary(&vec![b'\n'; MAX_LOG_BYTES + 1]), ImportError::TooLong);
    let cut = error(tool, "#bytes #iterations\n64 10");
    assert_eq!(
        cut,
        ImportError::CutLine {
            line: "64 10".to_owned()
        }
    );
    assert!(matches!(error(tool, "hello\n"), ImportError::Parse { .. }));
}

#[test]
fn rejects_incomplete_tables() {
    let log = golden!("published/nccl-tests-all_reduce_perf-2.13");
    let lines = |count: usize| {
        log.lines()
            .take(count)
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    let tool = CommandTool::NcclTests;
    let parse_error = |count| match error(tool, &lines(count)) {
        ImportError::Parse { source } => source,
        other => panic!("{other}"),
    };
    assert!(matches!(parse_error(9), ParseError::OnlyHeader { .. }));
    assert!(matches!(parse_error(11), ParseError::NoEnd { .. }));
    let short = log.replace("   1835.9  292.43  576.74      0", "");
    let text = error(tool, &short).to_string();
    assert!(
        text.contains("`536870912 134217728 float") || text.contains("536870912"),
        "{text}"
    );
    assert!(
        text.contains("its columns differ from those of the header"),
        "{text}"
    );
    let stages = golden!("made/ucx_perftest-1.22-nodev");
    let text = error(CommandTool::UcxPerftest, stages).to_string();
    assert!(
        text.contains("no result of UcxPerftest") && text.contains("No such device"),
        "{text}"
    );
}

#[test]
fn rejects_corrupted_data_and_zeros() {
    let wrong = error(CommandTool::NcclTests, golden!("published/nccl-tests-wrong-data"));
    assert!(wrong.to_string().contains("corrupted data"), "{wrong}");
    let zeros = "bytes   iters   total       time     MB/sec    usec/xfer   Mxfers/sec\n\
                 64      10k     1.2m        0.00s      0.00       0.00       0.00\n";
    assert_eq!(error(CommandTool::Fabtests, zeros), ImportError::NoValue);
}

#[test]
fn test_name_and_library_log_lines_are_parsed() {
    let log = golden!("published/perftest-ib_write_lat");
    let found = read(CommandTool::Perftest, None, log.as_bytes()).unwrap();
    assert_eq!(found.test.as_deref(), Some("RDMA_Write Latency Test"));
    let log = golden!("published/nccl-tests-all_reduce_perf-2.10-mpirun");
    let found = read(CommandTool::NcclTests, None, log.as_bytes()).unwrap();
    assert_eq!(found.test, None);
    assert_eq!(found.evidence.lines[0].names, ["efa"]);
    let log = format!("{log}W: falling back to sockets\n");
    let found = read(CommandTool::NcclTests, None, log.as_bytes()).unwrap();
    let last = found.evidence.lines.last().unwrap();
    assert_eq!(
        (last.text.as_str(), &last.rule, last.line),
        ("W: falling back to sockets", &None, log.lines().count() as u64)
    );
    assert_eq!(found.evidence.unrecognized, 1);
}

#[test]
fn custom_patterns_parse_other_log_formats() {
    let pattern = CommandPattern {
        expression: r"^(?<size>\d+): (?<latency>[0-9.]+) ms".to_owned(),
        latency_unit: Some(TimeUnit::Ms),
        bandwidth_unit: None,
    };
    let log = b"64: 1.5 ms\n128: 2 ms\n";
    let found = read(CommandTool::Regex, Some(&pattern), log).unwrap();
    assert_eq!(found.rows[1].latency_nanos(), Some(2e6));
    let error = read(CommandTool::Regex, Some(&pattern), b"64: 1.5 us\n").unwrap_err();
    assert!(
        error.to_string().contains("a line that matches the pattern"),
        "{error}"
    );
}

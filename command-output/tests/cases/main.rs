//! Outputs that were cut, glued, mixed, tagged or repeated on their way into a file, one test for each kind.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod complete;
mod kinds;
mod logs;

use command_output::import::{ImportError, Log, read};
use command_output::{ParseError, parse, select, unknown_lines};
use crds::v1alpha1::{CommandPattern, CommandTool};
use logs::{FABTESTS, LATENCY, LOGS, MACHINE_READABLE, NCCL, NIXLBENCH, PERFTEST, UCX, error, import};

/// Adds a prefix to each line; the argument of `prefix` is the index of the line.
fn prefixed(log: &str, prefix: impl Fn(usize) -> String) -> String {
    let lines = log.lines().enumerate();
    lines
        .map(|(index, line)| format!("{}{line}\n", prefix(index)))
        .collect()
}

#[test]
fn prefixes_do_not_change_the_values() {
    for (tool, log) in LOGS {
        let plain = import(tool, log).rows;
        let prefixes: [&dyn Fn(usize) -> String; 16] = [
            &|index| format!("2026-03-04T09:12:{:02}.123456789Z ", index % 60),
            &|index| format!("2026-03-04T02:12:{:02}.1-07:00 ", index % 60),
            &|index| format!("[2026-03-04T02:12:{:02}.123Z] ", index % 60),
            &|index| format!("2026-03-04T02:12:{:02}.1Z stdout F ", index % 60),
            &|index| format!("2026-03-04T02:12:{:02}+00:00 jobs/mpi/8f1c ", index % 60),
            &|index| format!("Nov 28 21:10:{:02} node-3 launcher[812]: ", index % 60),
            &|_| "[pod/launcher-x7k2p/mpi] ".to_owned(),
            &|index| format!("[pod/launcher-x7k2p/mpi] 2026-03-04T02:12:{:02}.1Z ", index % 60),
            &|_| "[1,0]<stdout>:".to_owned(),
            &|_| "[prterun-node-1-12@1,0]<stdout>: ".to_owned(),
            &|index| format!("Sat Nov 28 21:10:{:02} 2026[1,0]<stdout>:", index % 60),
            &|_| "0: ".to_owned(),
            &|_| "[3] ".to_owned(),
            &|_| "worker-0: ".to_owned(),
            &|_| "bench-1  | ".to_owned(),
            &|_| "\u{1b}[36m0: \u{1b}[0m".to_owned(),
        ];
        for prefix in prefixes {
            let tagged = prefixed(log, prefix);
            let found = import(tool, &tagged);
            assert_eq!(found.rows, plain, "{tagged}");
        }
        let windows = format!("\u{feff}{}", log.replace('\n', "\r\n"));
        assert_eq!(import(tool, &windows).rows, plain, "{tool:?}");
        let colored = prefixed(log, |_| "\u{1b}[0;1m".to_owned()).replace('\n', "\u{1b}[0m\n");
        assert_eq!(import(tool, &colored).rows, plain, "{tool:?}");
    }
}

#[test]
fn results_of_several_processes_are_never_mixed() {
    for (tool, log) in LOGS {
        let both: String = log
            .lines()
            .map(|line| format!("0: {line}\n1: {line}\n"))
            .collect();
        let text = error(tool, &both);
        assert!(
            text.contains("the processes `0` and `1` both printed results"),
            "{tool:?}: {text}"
        );
        // The other process prints only log lines.
        let others: String = log
            .lines()
            .map(|line| format!("[1,0]<stdout>:{line}\n[1,1]<stderr>:ready\n"))
            .collect();
        let found = import(tool, &others);
        assert_eq!(found.rows, import(tool, log).rows);
        assert!(found.unknown.count >= 1);
        // Without tags, two logs of which the lines alternate cannot be separated.
        let mixed: String = log.lines().map(|line| format!("{line}\n{line}\n")).collect();
        error(tool, &mixed);
        error(tool, &log.repeat(2));
    }
}

#[test]
fn rows_that_lost_their_line_break_are_rejected() {
    for (tool, log) in LOGS {
        let lines: Vec<&str> = log.lines().collect();
        let rows = import(tool, log).rows;
        for at in 1..lines.len() {
            for glue in ["", " "] {
                let mut changed = lines[..at - 1].to_vec();
                let glued = format!("{}{glue}{}", lines[at - 1], lines[at]);
                changed.push(&glued);
                changed.extend(&lines[at + 1..]);
                let changed = changed.join("\n") + "\n";
                if let Ok(found) = read(tool, None, changed.as_bytes()) {
                    assert_eq!(found.rows, rows, "{tool:?}: {glued}");
                }
            }
        }
    }
}

#[test]
fn a_row_with_other_text_in_its_line_is_not_lost() {
    // The program prints neither totals nor the sizes, which would show that a row is missing, and does not check its data.
    let unchecked = NCCL
        .replace("# nThread 1", "# threads 1")
        .replace("27.1333", "-")
        .replace("      0\n", "    N/A\n")
        .replace("      0  ", "    N/A  ");
    for (tool, log) in LOGS
        .into_iter()
        .chain([(CommandTool::NcclTests, unchecked.as_str())])
    {
        let rows = import(tool, log).rows;
        for text in [
            "node-1:812:812 [0] NCCL INFO Connected all rings",
            "libfabric:101:1764316800::efa:ep_ctrl:efa_rdm_ep_open():12<warn> unable to open",
            "[1795632881.451743] [vm:25261:0]     ucp_context.c:2725 UCX  INFO  Version 1.22.0",
            "warning: something happened",
        ] {
            for at in 0..log.lines().count() {
                let at_line = |index: usize, text: &'static str| if index == at { text } else { "" };
                let before: String = log
                    .lines()
                    .enumerate()
                    .map(|(index, line)| format!("{}{line}\n", at_line(index, text)))
                    .collect();
                let after: String = log
                    .lines()
                    .enumerate()
                    .map(|(index, line)| format!("{line}{}\n", at_line(index, text)))
                    .collect();
                // Lines of these libraries may be omitted without a message.
                let is_omitted = text.contains(" NCCL ") || text.contains(" UCX  ");
                for changed in std::iter::once(before).chain(is_omitted.then_some(after)) {
                    if let Ok(found) = read(tool, None, changed.as_bytes()) {
                        assert_eq!(found.rows, rows, "{tool:?}: {text} in line {at}");
                    }
                }
            }
        }
    }
}

#[test]
fn cut_rows_are_rejected() {
    for (tool, log) in LOGS {
        let rows = import(tool, log).rows;
        for end in (0..log.len()).filter(|end| log.is_char_boundary(*end)) {
            let cut = format!("{}\n", &log[..end]);
            if let Ok(found) = read(tool, None, cut.as_bytes()) {
                assert_eq!(found.rows, rows[..found.rows.len()], "{tool:?}: {cut}");
            }
        }
    }
    let text = error(CommandTool::Fabtests, &format!("{}\n", &MACHINE_READABLE[..150]));
    assert!(text.contains("not exactly one whole result"), "{text}");
}

#[test]
fn missing_results_of_nccl_tests_are_found_by_its_totals() {
    for (size, row) in [("4194304", 9), ("8388608", 10), ("16777216", 11)] {
        let lines = NCCL.lines().enumerate().filter(|(index, _)| *index != row);
        let log: String = lines.map(|(_, line)| format!("{line}\n")).collect();
        let text = error(CommandTool::NcclTests, &log);
        assert!(text.contains(&format!("announces {size} bytes")), "{text}");
        // Without the announcement, the average shows it.
        let log = log.split_once('\n').unwrap().1;
        let text = error(CommandTool::NcclTests, log);
        assert!(
            text.contains("the average bus bandwidth of the results is"),
            "{text}"
        );
    }
}

#[test]
fn a_result_below_the_resolution_keeps_its_limit() {
    let log = NCCL.replace("20.97   20.97", " 0.00    0.00").replace(
        "     4194304       1048576     float     sum      -1    200.0",
        "          64            16     float     sum      -1     14.2",
    );
    let found = import(CommandTool::NcclTests, &log);
    assert_eq!(found.notes.len(), 2, "{:?}", found.notes);
    assert!(
        found.notes[0].contains("contains a result for 64 bytes"),
        "{:?}",
        found.notes
    );
    let bandwidth = found.rows[0].bandwidth.unwrap();
    assert!(bandwidth.is_below_resolution() && bandwidth.least == 0.0);
    assert!((bandwidth.most - 5e6).abs() < 1.0);
    assert_eq!(found.rows[0].bytes_per_second(), None);
    assert_eq!(found.rows[0].latency_nanos(), Some(14_200.0));
    // fabtests prints inf for the rate of a run whose duration its clock cannot resolve.
    let log = FABTESTS.replace(
        "256     20k     4.8m        0.02s    251.97       1.02       0.98",
        "256     10      2.5k        0.00s       inf       0.00        inf",
    );
    let found = import(CommandTool::Fabtests, &log);
    assert_eq!(found.rows.len(), 3);
    assert_eq!(
        (found.rows[0].bytes_per_second(), found.rows[0].latency_nanos()),
        (None, None)
    );
    assert_eq!(found.rows[0].bandwidth.unwrap().most, f64::MAX);
}

#[test]
fn columns_of_a_row_must_agree() {
    let changes = [
        (CommandTool::NcclTests, NCCL, "310.5", "410.5"),
        (CommandTool::NcclTests, NCCL, "27.02   27.02", "27.02   37.02"),
        (CommandTool::NcclTests, NCCL, "26.97   26.97", "26.97   66.97"),
        (CommandTool::NcclTests, NCCL, "   8388608 ", "    388608 "),
        (CommandTool::NcclTests, NCCL, "27.1333", "7.1333"),
        (CommandTool::Perftest, PERFTEST, "97.94", "17.94"),
        (CommandTool::Perftest, PERFTEST, " 8192  ", " 819   "),
        (CommandTool::Perftest, PERFTEST, "0.186806", "0.286806"),
        (CommandTool::Perftest, LATENCY, " 2.09 ", "12.09"),
        (CommandTool::Perftest, LATENCY, " 12.09 ", " 2.09 "),
        (CommandTool::Fabtests, FABTESTS, "251.97", " 25.97"),
        (
            CommandTool::Fabtests,
            FABTESTS,
            "4k      20k     78m ",
            "4k      2k      78m ",
        ),
        (CommandTool::Fabtests, FABTESTS, "  2.00 ", " 12.00 "),
        (
            CommandTool::Fabtests,
            MACHINE_READABLE,
            "usec/xfer: 2.5",
            "usec/xfer: 2.4",
        ),
        (
            CommandTool::Fabtests,
            MACHINE_READABLE,
            "xfer_size: 128,",
            "xfer_size: 12,",
        ),
        (CommandTool::Nixlbench, NIXLBENCH, "6.553600", "5.553600"),
        (CommandTool::Nixlbench, NIXLBENCH, "131072 ", "13107  "),
        (CommandTool::Nixlbench, NIXLBENCH, "20.0  ", "2.0   "),
        (
            CommandTool::UcxPerftest,
            UCX,
            "20.000        3.05",
            " 2.000        3.05",
        ),
    ];
    for (tool, log, from, to) in changes {
        assert!(log.contains(from), "{from}");
        let changed = log.replacen(from, to, if tool == CommandTool::UcxPerftest { 9 } else { 1 });
        let text = error(tool, &changed);
        assert!(
            text.contains("damaged") || text.contains("whole result"),
            "{tool:?} {from}: {text}"
        );
        assert!(parse(tool, None, &changed).is_err(), "{tool:?} {from}");
    }
}

#[test]
fn corrupted_data_is_reported_by_each_tool() {
    let reports = [
        (
            CommandTool::Nixlbench,
            NIXLBENCH,
            "Consistency check failed for iov 2:5",
        ),
        (CommandTool::Nixlbench, NIXLBENCH, "Consistency check failed"),
        (
            CommandTool::Fabtests,
            FABTESTS,
            "Data check error (a!=b) at byte 7 for buffer size 64",
        ),
        (
            CommandTool::Fabtests,
            FABTESTS,
            "Error at iteration=3 size=64 byte=2",
        ),
        (
            CommandTool::UcxPerftest,
            UCX,
            "[1.5] [vm:1:0] ucp_tests.h:166 UCX  ERROR data validation failed at offset 3",
        ),
        (
            CommandTool::Perftest,
            PERFTEST,
            "VALIDATION: FAILED (server) - 3 error(s), first at QP 0, Chunk 1, Offset 2",
        ),
        (CommandTool::NcclTests, NCCL, "# Out of bounds values : 4 FAILED"),
    ];
    for (tool, log, report) in reports {
        for tagged in [format!("{log}{report}\n"), format!("{report}\n{log}")] {
            let text = error(tool, &tagged);
            assert!(text.contains("reports corrupted data"), "{tool:?}: {text}");
        }
    }
}

#[test]
fn several_invocations_are_rejected_with_the_cause() {
    let read = PERFTEST
        .replace("RDMA_Write", "RDMA_Read")
        .replace("8192 ", "1024 ");
    let read = read
        .replace("97.20", "12.15")
        .replace(" 65536", " 32768")
        .replace("97.94", "48.97");
    let text = error(CommandTool::Perftest, &format!("{PERFTEST}{read}"));
    assert!(
        text.contains("several invocations") && text.contains("more than once"),
        "{text}"
    );
    let titles = PERFTEST.replace(" Dual-port", "                    RDMA_Read BW Test\n Dual-port");
    let text = error(CommandTool::Perftest, &titles);
    assert!(
        text.contains("`RDMA_Write BW Test` and `RDMA_Read BW Test`"),
        "{text}"
    );
    let other = FABTESTS
        .lines()
        .take(1)
        .chain(["16k     20k     312m        0.08s   4096.00       4.00       0.25"]);
    let other: String = other.map(|line| format!("{line}\n")).collect();
    let text = error(
        CommandTool::Fabtests,
        &format!("$ fi_rdm_pingpong\n{FABTESTS}$ fi_rdm_bw\n{other}"),
    );
    assert!(text.contains("several invocations"), "{text}");
    let other = NIXLBENCH
        .replace("65536  ", "262144 ")
        .replace("131072 ", "524288 ")
        .replace("4.369067", "17.47627")
        .replace("6.553600", "26.21440");
    let text = error(CommandTool::Nixlbench, &format!("{NIXLBENCH}{other}"));
    assert!(text.contains("several invocations"), "{text}");
    // Two data types in one process.
    let half = NCCL.replace(
        "    16777216       4194304     float",
        "    16777216       8388608      half",
    );
    let text = error(CommandTool::NcclTests, &half);
    assert!(
        text.contains("the results have the data type `float`, `half`"),
        "{text}"
    );
}

#[test]
fn cycles_of_nccl_tests_are_repetitions() {
    let rows: String = NCCL
        .lines()
        .skip(9)
        .take(3)
        .map(|line| format!("{line}\n"))
        .collect();
    let twice = NCCL.replace("# Out of bounds", &format!("{rows}# Out of bounds"));
    let found = import(CommandTool::NcclTests, &twice);
    assert_eq!((found.rows.len(), found.cycles), (6, 2));
    let row = rows.lines().next().unwrap();
    let part = NCCL.replace("# Out of bounds", &format!("{row}\n# Out of bounds"));
    error(CommandTool::NcclTests, &part);
}

#[test]
fn settings_and_tests_are_read() {
    let found = import(CommandTool::Perftest, PERFTEST);
    assert_eq!(found.test.as_deref(), Some("RDMA_Write BW Test"));
    let list = PERFTEST
        .replace("Write BW", "Write Post List BW")
        .replace(" Mtu ", " Post List       : 16\n Mtu ");
    let listed = import(CommandTool::Perftest, &list);
    assert_eq!(listed.test, found.test);
    let value = |log: &Log, name: &str| {
        log.settings
            .iter()
            .find(|setting| setting.name == name)
            .map(|setting| setting.value.clone())
    };
    assert_eq!(value(&listed, "Post List").as_deref(), Some("16"));
    assert_eq!(value(&found, "Post List"), None);
    assert_eq!(value(&found, "Number of qps").as_deref(), Some("4"));
    assert_eq!(value(&found, "Transport type").as_deref(), Some("IB"));
    let named = format!("# nccl-tests version 2.17.6\n# Collective test starting: alltoall_perf\n{NCCL}");
    let named = import(CommandTool::NcclTests, &named);
    assert_eq!(named.test.as_deref(), Some("alltoall_perf"));
    assert_eq!(value(&named, "ranks").as_deref(), Some("2"));
    assert_eq!(value(&named, "data type").as_deref(), Some("float"));
    let program = import(CommandTool::Fabtests, MACHINE_READABLE);
    assert_eq!(program.test.as_deref(), Some("fi_rdm_bw"));
    assert_eq!(
        value(&program, "arguments").as_deref(),
        Some("-p tcp -m 10.1.0.4")
    );
}

#[test]
fn columns_of_two_ports_are_known() {
    for unit in ["MB", "MiB", "Gb"] {
        let log = format!(
            "---------------------------------------------------------------------------------------\n \
             #bytes     #iterations    BW peak[{unit}/sec]    BW average[{unit}/sec]   MsgRate[Mpps]   BW Port1[{unit}/sec]   MsgRate Port1[Mpps]   BW Port2[{unit}/sec]   MsgRate Port2[Mpps]\n \
             65536      10000      100.00            100.00\t\t   {rate}        50.00            0.190735              50.00            0.190735\n\
             ---------------------------------------------------------------------------------------\n",
            rate = if unit == "Gb" { "0.190735" } else { "0.001600" },
        );
        assert_eq!(import(CommandTool::Perftest, &log).rows.len(), 1, "{unit}");
    }
}

#[test]
fn options_of_ucx_perftest_are_known() {
    let separated = UCX
        .replace("Final:                100000", "Final:               100,000")
        .replace("50000       50000\nF", "50,000      50,000\nF");
    let found = import(CommandTool::UcxPerftest, &separated);
    assert_eq!(found.rows[0].operations, Some(100_000));
    let names = UCX
        .replace("Stage", " Test")
        .replace("[thread 0]             50000      9.881    20.000    20.000        3.05       3.05       50000       50000\n", "")
        .replace("Final:                100000", " tag_lat/64           100000");
    let more = names.clone()
        + "tag_lat/128            100000      9.881    20.000    20.000        6.10       6.10       50000       50000\n";
    let found = import(CommandTool::UcxPerftest, &more);
    assert_eq!(found.rows.len(), 2);
    assert!(select(&found.rows, 64).is_ok() && select(&found.rows, 128).is_ok());
    assert_eq!(found.notes, Vec::<String>::new());
    // A name that is something else than a size is noted, and is not the size.
    let other = import(
        CommandTool::UcxPerftest,
        &names.replace("tag_lat/64", " tag_lat/7"),
    );
    assert_eq!((other.notes.len(), other.rows[0].size), (1, None));
    assert!(select(&other.rows, 64).is_ok() && select(&other.rows, 7).is_err());
}

#[test]
fn sizes_that_fabtests_cuts_off_match_by_its_rule() {
    let log = "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n\
               1.3k    200     =200     547k        0.05s     11.20     125.00       0.01\n";
    let rows = parse(CommandTool::Fabtests, None, log).unwrap();
    for (size, is_found) in [
        (1331, false),
        (1332, true),
        (1400, true),
        (1433, true),
        (1434, false),
    ] {
        assert_eq!(select(&rows, size).is_ok(), is_found, "{size}");
    }
    let text = select(&rows, 1500).unwrap_err().to_string();
    assert!(text.contains("only for 1332 to 1433"), "{text}");
}

#[test]
fn lines_that_are_not_understood_are_counted_and_shown() {
    let log = format!("{FABTESTS}something\u{7} new\nanother line\nthird line\nfourth line\n");
    let found = import(CommandTool::Fabtests, &log);
    assert_eq!(found.unknown.count, 4);
    assert_eq!(
        found.unknown.first,
        ["something  new", "another line", "third line"]
    );
    for (tool, log) in LOGS {
        assert_eq!(
            import(tool, log).unknown.count,
            0,
            "{tool:?}: {:?}",
            import(tool, log).unknown
        );
    }
}

#[test]
fn lines_that_are_not_understood_explain_why_parsing_failed() {
    let log = format!("cannot pin memory\n{FABTESTS}retrying\n").replace("usec/xfer", "msec/xfer");
    assert!(parse(CommandTool::Fabtests, None, &log).is_err());
    let unknown = unknown_lines(CommandTool::Fabtests, None, "usage: tool [options]\n");
    assert_eq!(
        unknown.to_string(),
        "1 line not understood, and not used: usage: tool [options]"
    );
    let pattern = CommandPattern {
        expression: r"lat (?<latency>[0-9.]+)".to_owned(),
        latency_unit: None,
        bandwidth_unit: None,
    };
    let unknown = unknown_lines(CommandTool::Regex, Some(&pattern), "lat 1.5\n\nlatency 7\nbye\n");
    assert_eq!((unknown.count, unknown.first.len()), (2, 2), "{unknown}");
    // The parser fails at the header, so the lines after it are unknown.
    let unknown = unknown_lines(CommandTool::Fabtests, None, &log.replace("cannot pin", "pinned"));
    assert_eq!(unknown.first, ["pinned memory"]);
}

#[test]
fn large_sizes_are_read() {
    let log = NCCL.replace(
        "minBytes 4194304 maxBytes 16777216",
        "minBytes 17179869184 maxBytes 17179869184",
    );
    let log: String = log
        .lines()
        .enumerate()
        .filter(|(index, _)| !(9..=10).contains(index))
        .map(|(_, line)| format!("{line}\n"))
        .collect();
    let log = log
        .replace("    16777216       4194304     float     sum      -1    500.5   33.52   33.52      0    501.5   33.45   33.45", " 17179869184    4294967296     float     sum      -1   171799  100.00  100.00      0   171799  100.00  100.00")
        .replace("27.1333", "100");
    let found = import(CommandTool::NcclTests, &log);
    assert_eq!(found.rows[0].size.unwrap().bytes, 16 << 30);
}

#[test]
fn errors_name_what_to_do() {
    let error = read(
        CommandTool::Fabtests,
        None,
        FABTESTS.replace("4k  ", "4k 1k").as_bytes(),
    )
    .unwrap_err();
    assert!(
        matches!(
            error,
            ImportError::Parse {
                source: ParseError::NotWhole { .. }
            }
        ),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains("Specify the complete output of one process"),
        "{error}"
    );
}

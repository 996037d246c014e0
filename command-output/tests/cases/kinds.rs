//! Further kinds of outputs: colors, titles with options, sizes that are cut off, and reports of wrong data.

use command_output::import::read;
use command_output::{parse, select};
use crds::v1alpha1::CommandTool;

use crate::logs::{FABTESTS, LATENCY, LOGS, MACHINE_READABLE, NCCL, NIXLBENCH, PERFTEST, UCX, error, import};

/// Output of `ib_write_bw` with another title.
fn titled(title: &str) -> String {
    PERFTEST.replace("RDMA_Write BW Test", title)
}

#[test]
fn colors_and_other_escape_sequences_do_not_change_the_values() {
    for (tool, log) in LOGS {
        let plain = import(tool, log).rows;
        for (start, end) in [
            ("\u{1b}[31m", "\u{1b}[0m"),
            ("\u{1b}[38;5;208m", "\u{1b}[39m"),
            ("\u{1b}[1;38;2;10;20;30m", "\u{1b}[m"),
            ("\u{1b}[2K", ""),
            ("\r", ""),
            ("\u{1b}[0;1;4m", "\u{1b}[0m\u{1b}[K"),
        ] {
            let colored: String = log.lines().map(|line| format!("{start}{line}{end}\n")).collect();
            assert_eq!(import(tool, &colored).rows, plain, "{start:?}\n{colored}");
        }
    }
    // Within a row.
    for (tool, log, value) in [
        (CommandTool::NcclTests, NCCL, "27.02"),
        (CommandTool::Perftest, PERFTEST, "97.94"),
        (CommandTool::Perftest, LATENCY, "12.09"),
        (CommandTool::Fabtests, FABTESTS, "251.97"),
        (CommandTool::Nixlbench, NIXLBENCH, "6.553600"),
        (CommandTool::UcxPerftest, UCX, "3.05"),
    ] {
        let colored = log.replace(value, &format!("\u{1b}[1;32m{value}\u{1b}[0m"));
        assert_eq!(import(tool, &colored).rows, import(tool, log).rows, "{colored}");
    }
}

#[test]
fn options_in_the_title_are_no_part_of_the_test() {
    for (title, test) in [
        ("RDMA_Write Post List BW Test", "RDMA_Write BW Test"),
        (
            "RDMA_Write Bidirectional Post List BW Test",
            "RDMA_Write Bidirectional BW Test",
        ),
        ("RDMA_Read Post List BW Test", "RDMA_Read BW Test"),
        ("Send Bidirectional BW Test", "Send Bidirectional BW Test"),
        ("Send Post List BW Multicast Test", "Send BW Multicast Test"),
        (
            "Atomic FETCH_AND_ADD Post List BW Test",
            "Atomic FETCH_AND_ADD BW Test",
        ),
        (
            "Atomic CMP_AND_SWAP Bidirectional BW Test",
            "Atomic CMP_AND_SWAP Bidirectional BW Test",
        ),
        ("Send   BW   Test ", "Send BW Test"),
    ] {
        let found = import(CommandTool::Perftest, &titled(title));
        assert_eq!((found.test.as_deref(), found.unknown.count), (Some(test), 0));
    }
    // Another line that ends with a colon or begins otherwise is not a title.
    let events = PERFTEST.replace(" Dual-port", " Test with events. Using mlx5_2_comp0\n Dual-port");
    let found = import(CommandTool::Perftest, &events);
    assert_eq!(
        (found.test.as_deref(), found.unknown.count),
        (Some("RDMA_Write BW Test"), 0)
    );
}

#[test]
fn sizes_of_every_magnitude_are_cut_off_alike() {
    let header = "bytes   iters   total       time     MB/sec    usec/xfer   Mxfers/sec\n";
    for (row, least, most) in [
        (
            "1k      10      10k         0.00s    102.40      10.00       0.10",
            1024,
            1126,
        ),
        (
            "1.9k    10      19k         0.00s    195.00      10.00       0.10",
            1946,
            2047,
        ),
        (
            "63k     10      630k        0.00s   6451.20      10.00       0.10",
            64_512,
            65_535,
        ),
        (
            "64k     10      640k        0.00s   6553.60      10.00       0.10",
            65_536,
            66_559,
        ),
        (
            "1m      10      10m         0.00s 104857.60      10.00       0.10",
            1 << 20,
            1_153_433,
        ),
        (
            "16m     10      160m        0.00s 1677721.60     10.00       0.10",
            16 << 20,
            (17 << 20) - 1,
        ),
    ] {
        let rows = parse(CommandTool::Fabtests, None, &format!("{header}{row}\n")).unwrap();
        let printed = rows[0].size.unwrap();
        assert_eq!((printed.bytes, printed.most), (least, most), "{row}");
        for (size, is_found) in [(least - 1, false), (least, true), (most, true), (most + 1, false)] {
            assert_eq!(select(&rows, size).is_ok(), is_found, "{row}: {size}");
        }
    }
}

#[test]
fn failed_checks_of_the_data_are_found_in_every_form_of_a_log() {
    let report = "Consistency check failed for iov 2:5";
    for line in [
        report.to_owned(),
        format!("   {report}"),
        format!("\u{1b}[31m{report}\u{1b}[0m"),
        format!("E1128 21:10:24.123456  4101 utils.cpp:357] {report}"),
        format!("nixlbench: {report} at address 0x7f00"),
    ] {
        for log in [format!("{line}\n{NIXLBENCH}"), format!("{NIXLBENCH}{line}\n")] {
            let text = error(CommandTool::Nixlbench, &log);
            assert!(text.contains("reports corrupted data"), "{text}");
            let tagged: String = log
                .lines()
                .map(|line| format!("[pod/bench-0/main] {line}\n"))
                .collect();
            let text = error(CommandTool::Nixlbench, &tagged);
            assert!(text.contains("reports corrupted data"), "{text}");
        }
    }
    for (tool, log, report) in [
        (
            CommandTool::Fabtests,
            MACHINE_READABLE,
            "Data check error (0!=1) at byte 0 for buffer size 1",
        ),
        (
            CommandTool::Fabtests,
            FABTESTS,
            "Tag mismatch!. Expected: 1, actual: 2",
        ),
        (CommandTool::Perftest, LATENCY, " VALIDATION: ERROR"),
        (
            CommandTool::Perftest,
            PERFTEST,
            " VALIDATION: FAILED (client) - 1 error(s)",
        ),
        (CommandTool::UcxPerftest, UCX, "data validation failed"),
    ] {
        let text = error(tool, &format!("{log}{report}\n"));
        assert!(text.contains("reports corrupted data"), "{tool:?}: {text}");
    }
}

#[test]
fn a_log_line_between_the_rows_is_not_a_result() {
    for line in [
        "node-1:1:1 [0] NCCL INFO Channel 00/02 : 0 1 2 3 4 5 6 7",
        "node-1:1:1 [0] NCCL INFO 8 coll channels, 8 collnet channels, 0 nvls channels, 8 p2p channels",
        "[1795632881.451743] [vm:25261:0]     ucp_context.c:2725 UCX  INFO  Version 1.22.0 (loaded from /opt/ucx/libucp.so.0)",
        "libfabric:101:1764316800::tcp:ep_ctrl:xnet_ep_accept():12<info> accepted connection 1 of 2",
        "I1128 21:10:24.123456  4101 topology.cpp:201] Found 2 HCAs",
    ] {
        for (tool, log) in LOGS {
            let lines: Vec<&str> = log.lines().collect();
            for at in 0..=lines.len() {
                let (before, after) = lines.split_at(at);
                let mixed = [before, &[line], after].concat().join("\n") + "\n";
                let found = read(tool, None, mixed.as_bytes());
                let rows = found.map(|found| found.rows);
                assert_eq!(rows, Ok(import(tool, log).rows), "{tool:?}: {line} at {at}");
            }
        }
    }
}

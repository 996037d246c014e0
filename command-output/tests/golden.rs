//! Reads the outputs in `golden/`, which were printed by several versions of each tool or have the published format.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use command_output::{ParseError, log, parse, select};
use crds::record::LogLineKind;
use crds::v1alpha1::CommandTool;

macro_rules! golden {
    ($name:literal) => {
        include_str!(concat!("golden/", $name, ".txt"))
    };
}

const MIB: f64 = 1_048_576.0;

/// Latency in microseconds, bytes per second, and payload bytes of the row for `size` bytes.
fn values(tool: CommandTool, output: &str, size: u64) -> (Option<f64>, Option<f64>, Option<u64>) {
    let rows = parse(tool, None, output).unwrap_or_else(|error| panic!("{tool:?}: {error}"));
    let row = select(&rows, size).unwrap_or_else(|error| panic!("{tool:?}: {error}"));
    (
        row.latency_nanos().map(round),
        row.bytes_per_second().map(f64::round),
        row.payload_bytes,
    )
}

/// Microseconds with three decimals.
fn round(nanos: f64) -> f64 {
    nanos.round() / 1e3
}

#[test]
fn fi_pingpong() {
    let output = golden!("made/fi_pingpong-1.17-default");
    let tool = CommandTool::Fabtests;
    assert_eq!(parse(tool, None, output).unwrap().len(), 6);
    assert_eq!(values(tool, output, 64), (Some(1995.59), Some(3e4), Some(12_800)));
    assert_eq!(
        values(tool, output, 4096),
        (Some(2356.68), Some(1.74e6), Some(819_200))
    );
    assert_eq!(
        values(tool, output, 1 << 20),
        (Some(10490.13), Some(99.96e6), Some(200 << 20))
    );
    let datagrams = golden!("made/fi_pingpong-1.17-udp");
    assert_eq!(
        values(tool, datagrams, 512),
        (Some(245.14), Some(2.09e6), Some(102_400))
    );
    // A size that the tool cuts off matches the size that was requested.
    let cut = golden!("made/fi_pingpong-1.17-size-1100");
    assert_eq!(
        values(tool, cut, 1100),
        (Some(7624.48), Some(1.4e5), Some(110_000))
    );
    assert!(select(&parse(tool, None, cut).unwrap(), 1127).is_err());
    let error = parse(tool, None, golden!("made/fi_pingpong-1.17-no-server")).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("failed to connect: Connection refused"),
        "{error}"
    );
}

#[test]
fn lost_messages_are_reported_as_corrupted_data() {
    let output = "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n\
                  512     200     +3       200k        0.10s      2.09     245.14       0.00\n";
    let error = parse(CommandTool::Fabtests, None, output).unwrap_err();
    assert!(matches!(error, ParseError::WrongData { .. }), "{error}");
}

#[test]
fn fabtests() {
    let tool = CommandTool::Fabtests;
    let latency = golden!("published/fabtests-fi_rdm_pingpong");
    assert_eq!(
        values(tool, latency, 64),
        (Some(11.22), Some(5.7e6), Some(640_000))
    );
    assert_eq!(
        values(tool, latency, 4096),
        (Some(17.67), Some(231.85e6), Some(40_960_000))
    );
    let named = golden!("published/fabtests-fi_rma_bw-named");
    assert_eq!(
        values(tool, named, 65_536),
        (Some(30.0), Some(2184.53e6), Some(65_536_000))
    );
    let machine = golden!("published/fabtests-machine-readable");
    assert_eq!(
        values(tool, machine, 64),
        (Some(15.956), Some(4_011_030.0), Some(640_000))
    );
}

#[test]
fn fabtests_of_a_machine_without_rdma() {
    let tool = CommandTool::Fabtests;
    let tagged = golden!("made/fabtests-1.17-fi_rdm_tagged_bw");
    assert_eq!(parse(tool, None, tagged).unwrap().len(), 6);
    assert_eq!(
        values(tool, tagged, 1024),
        (Some(6.85), Some(149.49e6), Some(20_480))
    );
    // The tool cuts the total of 1.25 MiB off to "1.2m".
    assert_eq!(
        values(tool, tagged, 65_536),
        (Some(3923.45), Some(16.7e6), Some(1_310_720))
    );
    let written = golden!("made/fabtests-1.17-fi_rma_bw");
    assert_eq!(
        values(tool, written, 65_536),
        (Some(41.79), Some(1568.22e6), Some(6_553_600))
    );
    let ping_pong = golden!("made/fabtests-1.17-fi_rdm_pingpong");
    assert_eq!(
        values(tool, ping_pong, 1024),
        (Some(34.13), Some(30e6), Some(102_400))
    );
    // This size is not rounded, unlike that of the table.
    let machine = golden!("made/fabtests-1.17-machine-readable");
    assert_eq!(
        values(tool, machine, 1100),
        (Some(30.26), Some(36_351_619.0), Some(110_000))
    );
}

#[test]
fn ucx_perftest() {
    let tool = CommandTool::UcxPerftest;
    assert_eq!(
        values(tool, golden!("made/ucx_perftest-1.13-tag_lat"), 64),
        (Some(49.53), Some((1.23 * MIB).round()), Some(64_000))
    );
    assert_eq!(
        values(tool, golden!("made/ucx_perftest-1.22-tag_lat"), 64),
        (Some(337.422), Some((0.18 * MIB).round()), Some(64_000))
    );
    // A bandwidth test prints an overhead, which is not a latency.
    assert_eq!(
        values(tool, golden!("made/ucx_perftest-1.13-tag_bw-final"), 4096),
        (None, Some((401.8 * MIB).round()), Some(5000 * 4096))
    );
    assert_eq!(
        values(tool, golden!("made/ucx_perftest-1.22-tag_bw-final"), 4096),
        (None, Some((20.14 * MIB).round()), Some(5000 * 4096))
    );
    assert_eq!(
        values(tool, golden!("made/ucx_perftest-1.22-csv"), 64),
        (None, Some((0.14 * MIB).round()), Some(64_000))
    );
    // The option -N prints separators. Rows that are printed during the test are skipped.
    assert_eq!(
        values(tool, golden!("made/ucx_perftest-1.13-tag_bw-numeric"), 65_536),
        (None, Some((42.55 * MIB).round()), Some(2000 * 65_536))
    );
    assert_eq!(
        values(tool, golden!("made/ucx_perftest-1.13-csv-threads"), 64),
        (None, Some((0.01 * MIB).round()), Some(128_000))
    );
    // In a batch, the header belongs to the command, and the rows begin with the names of the tests.
    let batch = golden!("made/ucx_perftest-1.13-tag_lat-batch");
    for (size, rate) in [(64, 0.01), (1024, 0.15)] {
        let payload = Some(500 * size);
        assert_eq!(
            values(tool, batch, size),
            (None, Some((rate * MIB).round()), payload)
        );
    }
    assert_eq!(
        values(tool, golden!("made/ucx_perftest-1.13-am_lat"), 256),
        (Some(151.381), Some((1.61 * MIB).round()), Some(256_000))
    );
    assert_eq!(
        values(tool, golden!("made/ucx_perftest-1.13-stream_bw"), 8192),
        (None, Some((707.33 * MIB).round()), Some(8_192_000))
    );
    let loopback = golden!("made/ucx_perftest-1.13-tag_lat-loopback");
    assert_eq!(
        values(tool, loopback, 64),
        (Some(0.013), Some((4740.74 * MIB).round()), Some(32_000))
    );
    assert!(
        select(&parse(tool, None, loopback).unwrap(), 65).is_err(),
        "the size is in the banner"
    );
    // Log lines between the header and the row are skipped.
    assert_eq!(
        values(tool, golden!("made/ucx_perftest-1.22-info"), 64),
        (Some(239.683), Some((0.25 * MIB).round()), Some(12_800))
    );
    let error = parse(tool, None, golden!("made/ucx_perftest-1.22-nodev")).unwrap_err();
    assert!(error.to_string().contains("No such device"), "{error}");
}

#[test]
fn transfer_engine_bench() {
    let tool = CommandTool::TransferEngineBench;
    let (latency, rate, payload) = values(tool, golden!("made/transfer_engine_bench-0.3.13-write"), 65_536);
    assert_eq!((latency, rate), (None, Some(0.33e9)));
    // 1251 batches of 8 requests of 64 KiB; the lower bound follows from the rounded values.
    let moved = 1251 * 8 * 65_536_u64;
    let payload = payload.unwrap();
    assert!(
        payload <= moved && payload as f64 > moved as f64 * 0.95,
        "{payload} of {moved}"
    );
    assert_eq!(
        values(
            tool,
            golden!("made/transfer_engine_bench-0.3.13-read-mib"),
            65_536
        )
        .1,
        Some((385.8036 * MIB).round())
    );
    let error = parse(tool, None, golden!("made/transfer_engine_bench-0.3.13-no-target")).unwrap_err();
    assert!(
        error.to_string().contains("Unable to get target segment ID"),
        "{error}"
    );
    let other = "I1 x.cpp:1] Test completed: duration 2.00, batch count 1, throughput 0.33 parsec/s\n";
    assert!(matches!(parse(tool, None, other), Err(ParseError::Unit { .. })));
}

#[test]
fn perftest() {
    let tool = CommandTool::Perftest;
    let megabytes = golden!("published/perftest-ib_write_bw-mb");
    assert_eq!(
        values(tool, megabytes, 1024),
        (None, Some((5544.28 * MIB).round()), Some(1_024_000))
    );
    let gigabits = golden!("published/perftest-ib_write_bw-gbits");
    assert_eq!(
        values(tool, gigabits, 65_536),
        (None, Some(22.665e9), Some(1_037_502 * 65_536))
    );
    let mebibytes = golden!("published/perftest-ib_write_bw-mib");
    assert_eq!(values(tool, mebibytes, 65_536).1, Some((11720.10 * MIB).round()));
    let latency = golden!("published/perftest-ib_write_lat");
    assert_eq!(values(tool, latency, 64), (Some(1.97), None, Some(64_000)));
    let error = parse(tool, None, golden!("made/perftest-4.5-no-device")).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("Unable to find the Infiniband/RoCE device"),
        "{error}"
    );
    // An unknown column would shift the average to the position of the peak.
    for other in [
        megabytes.replace("MB/sec", "furlong/sec"),
        megabytes.replace("BW peak", "Jitter[us]    BW peak"),
    ] {
        let error = parse(tool, None, &other).unwrap_err();
        assert!(matches!(error, ParseError::UnknownColumn { .. }), "{error}");
    }
}

#[test]
fn nccl_tests() {
    let tool = CommandTool::NcclTests;
    let new = golden!("published/nccl-tests-all_reduce_perf-2.13");
    assert_eq!(values(tool, new, 1 << 30), (Some(3108.8), Some(681.17e9), None));
    let old = golden!("published/nccl-tests-all_reduce_perf-2.10-mpirun");
    assert_eq!(values(tool, old, 1 << 20), (Some(92.3), Some(11.36e9), None));
    // A rate that is printed as 0.00 is unknown.
    assert_eq!(values(tool, old, 8), (Some(12.9), None, None));
    let error = parse(tool, None, golden!("published/nccl-tests-wrong-data")).unwrap_err();
    assert!(matches!(error, ParseError::WrongData { .. }), "{error}");
    let other = new.replace("(us)", "(ms)");
    assert!(matches!(parse(tool, None, &other), Err(ParseError::Unit { .. })));
}

#[test]
fn nixlbench() {
    let tool = CommandTool::Nixlbench;
    let output = golden!("published/nixlbench-1.0");
    assert_eq!(
        values(tool, output, 4096),
        (Some(17.8), Some(229_964_000.0), None)
    );
    let several = golden!("published/nixlbench-1.0-ci");
    assert_eq!(
        values(tool, several, 4096),
        (Some(9.8), Some(415_997_000.0), None)
    );
    let error = parse(tool, None, golden!("published/nixlbench-other-unit")).unwrap_err();
    assert!(matches!(error, ParseError::UnknownColumn { .. }), "{error}");
}

/// Kind and names of each line of evidence in a log.
fn evidence(output: &str) -> Vec<(LogLineKind, String)> {
    let lines = log::read(output).lines.into_iter();
    lines.map(|line| (line.kind, line.names.join(" "))).collect()
}

/// Lines of the tools' own libraries on a machine without RDMA devices.
#[test]
fn lanes_of_ucx_are_the_data_path() {
    let path = |names: &str| vec![(LogLineKind::Path, names.to_owned())];
    assert_eq!(evidence(golden!("made/ucx_perftest-1.13-info")), path("tcp"));
    assert_eq!(evidence(golden!("made/ucx_perftest-1.22-info")), path("tcp"));
    assert_eq!(
        evidence(golden!("made/ucx_perftest-1.22-put-info")),
        path("sysv posix")
    );
    // Remote access over TCP is emulated.
    assert_eq!(
        evidence(golden!("made/ucx_perftest-1.13-put-info")),
        [(LogLineKind::Emulation, "tcp".to_owned())]
    );
    assert_eq!(
        evidence(golden!("made/ucx_perftest-1.13-put-protocols")),
        [(LogLineKind::Emulation, "tcp".to_owned())]
    );
    assert_eq!(
        evidence(golden!("made/ucx_perftest-1.13-rc-not-available")),
        [
            (LogLineKind::Refusal, "rc_x".to_owned()),
            (LogLineKind::Path, "tcp".to_owned())
        ]
    );
}

#[test]
fn networks_of_nccl_are_the_data_path() {
    assert_eq!(
        evidence(golden!("published/nccl-tests-all_reduce_perf-2.10-mpirun")),
        [
            (LogLineKind::Path, "efa".to_owned()),
            (LogLineKind::Path, "AWS Libfabric".to_owned())
        ]
    );
}

#[test]
fn libfabric_reports_the_fabric_and_providers_without_devices() {
    assert_eq!(
        evidence(golden!("made/fi_pingpong-1.17-info")),
        [
            (LogLineKind::Refusal, "verbs".to_owned()),
            (LogLineKind::Path, "192.0.2.0/24".to_owned())
        ]
    );
}

#[test]
fn perftest_reports_that_its_clock_is_uncertain() {
    for output in [
        golden!("published/perftest-ib_write_bw-gbits"),
        golden!("published/perftest-ib_write_lat"),
    ] {
        assert_eq!(evidence(output), [(LogLineKind::Time, String::new())]);
    }
}

#[test]
fn other_golden_logs_contain_no_doubtful_line() {
    for (output, names) in [
        (golden!("made/fi_pingpong-1.17-default"), &[][..]),
        (golden!("made/transfer_engine_bench-0.3.13-write"), &["tcp"]),
        (golden!("published/fabtests-machine-readable"), &[]),
        (golden!("published/nixlbench-1.0-ci"), &[]),
        (golden!("published/nccl-tests-all_reduce_perf-2.13"), &[]),
        (golden!("published/perftest-ib_write_bw-mb"), &["IB"]),
    ] {
        let found = evidence(output);
        let doubtful: Vec<_> = found
            .iter()
            .filter(|(kind, _)| *kind != LogLineKind::Path)
            .collect();
        assert!(doubtful.is_empty(), "{doubtful:?}");
        let found: Vec<_> = found.iter().map(|(_, names)| names.as_str()).collect();
        assert_eq!(found, names);
    }
}

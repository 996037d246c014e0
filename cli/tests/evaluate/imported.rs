//! Report formats of an imported run.

use command_output::import::read;
use crds::v1alpha1::{CommandTool, Metric};
use fabricbench_cli::imported::{
    ImportedRun, ImportedRunError, Manifest, ManifestKind, ManifestStatus, StoredLog,
};
use fabricbench_cli::report::text::{self, TextOptions};
use fabricbench_cli::report::{Subject, html, junit, markdown};

macro_rules! golden {
    ($name:literal) => {
        include_str!(concat!("../../../command-output/tests/golden/", $name, ".txt"))
    };
}

/// Imports `logs`, each given as variant, path and content.
fn import(tool: CommandTool, logs: &[(&str, &str, &str)]) -> Result<ImportedRun, ImportedRunError> {
    let stored = |(variant, source, text): &(&str, &str, &str)| StoredLog {
        variant: (*variant).to_owned(),
        source: (*source).to_owned(),
        // A sum in which the position of a byte counts, so that different logs get different hashes.
        sha256: format!(
            "{:064x}",
            text.bytes()
                .fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()))
        ),
    };
    let manifest = Manifest {
        kind: ManifestKind::ImportedRun,
        name: "all-reduce".to_owned(),
        status: ManifestStatus::IMPORTED,
        tool,
        pattern: None,
        size: None,
        imported_at: "2026-03-01T10:00:00Z".to_owned(),
        version: "0.1.0".to_owned(),
        logs: logs.iter().map(stored).collect(),
    };
    let read = |(_, source, text): &(&str, &str, &str)| {
        read(tool, None, text.as_bytes()).unwrap_or_else(|error| panic!("{source}: {error}"))
    };
    ImportedRun::new(manifest, &logs.iter().map(read).collect::<Vec<_>>())
}

/// Three logs of nccl-tests in two variants; one reports a fallback, and one has fewer sizes.
fn nccl_run() -> ImportedRun {
    let first = golden!("published/nccl-tests-all_reduce_perf-2.13");
    let second = first.replace("   1806.7  297.16  586.06", "   1906.7  281.57  555.32");
    let third = first.replace("   1806.7  297.16  586.06", "   1206.7  444.92  877.48");
    let second = second.replace("683.24", "678.115");
    let third: String = third
        .lines()
        .filter(|line| !line.contains("  1073741824 "))
        .map(|line| format!("{line}\n"))
        .collect();
    let third = third
        .replace("step: 2(factor)", "step: 4(factor)")
        .replace("683.24", "746.405");
    let third = format!("{third}node-0: falling back to sockets\n");
    let logs = [
        ("default", "logs/1 <b>.txt", first),
        ("default", "logs/2.txt", second.as_str()),
        ("tuned", "logs/3.txt", third.as_str()),
    ];
    // The first two logs are equally long.
    let mut run = import(CommandTool::NcclTests, &[logs[0], logs[2]]).unwrap();
    run.manifest.logs.insert(
        1,
        StoredLog {
            variant: "default".to_owned(),
            source: logs[1].1.to_owned(),
            sha256: "1".repeat(64),
        },
    );
    let logs = logs.map(|(_, _, text)| read(CommandTool::NcclTests, None, text.as_bytes()).unwrap());
    ImportedRun::new(run.manifest, &logs).unwrap()
}

#[test]
fn formats_of_an_imported_run() {
    let run = nccl_run();
    let options = TextOptions {
        full_report: Some("output/all-reduce/report.html"),
        ..TextOptions::default()
    };
    insta::assert_snapshot!("text", text::render(&run.document(), &options));
    let narrow = TextOptions {
        width: 60,
        ..TextOptions::default()
    };
    let narrow = text::render(&run.document(), &narrow);
    assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
    insta::assert_snapshot!("markdown", markdown::render(&run.document()));
    insta::assert_snapshot!("csv", run.csv().unwrap());
    insta::assert_snapshot!("json", run.json().unwrap());
    insta::assert_snapshot!("junit", junit::render(&run.document()).unwrap());
    let html = html::render(&run.document());
    for text in [
        "Not controlled",
        "none: not controlled",
        "555 GB/s to 586 GB/s",
        "1 &lt;b&gt;.txt",
        "falling back to sockets",
    ] {
        assert!(html.contains(text), "{text}: {html}");
    }
    assert!(!html.contains("<script") && !html.contains("http"), "{html}");
}

#[test]
fn values_are_medians_and_ranges_of_logs() {
    let run = nccl_run();
    let at = |variant, size| {
        run.value_summary(variant, Some(size), Metric::ReportedLatency)
            .copied()
    };
    let default = at(0, 1 << 29).unwrap();
    assert_eq!(
        (default.logs, default.median, default.min, default.max),
        (2, 1_856_700.0, 1_806_700.0, 1_906_700.0)
    );
    assert_eq!(at(1, 1 << 30), None, "its log does not contain this size");
    let difference = at(1, 1 << 29).unwrap().difference(&default).unwrap();
    let percent = |other: f64, one: f64| (other / one - 1.0) * 100.0;
    assert!(
        (difference.percent - percent(1206.7, 1856.7)).abs() < 1e-9,
        "{difference:?}"
    );
    // The tool prints one decimal: each value is known to within 0.05 us.
    let (least, most) = difference.range_percent;
    assert!((least - percent(1206.65, 1856.75)).abs() < 1e-6, "{difference:?}");
    assert!((most - percent(1206.75, 1856.65)).abs() < 1e-6, "{difference:?}");
}

#[test]
fn a_value_below_the_resolution_is_not_a_missing_log() {
    let log = golden!("published/fabtests-fi_rdm_pingpong");
    let zero = log.replace("5.70      11.22", "0.00      11.22");
    let run = import(
        CommandTool::Fabtests,
        &[("a", "1", &format!("{zero}\n")), ("b", "2", log)],
    )
    .unwrap();
    let text = text::render(&run.document(), &TextOptions::default());
    assert!(
        text.contains("below the resolution (1 log)") && !text.contains("no log"),
        "{text}"
    );
    assert_eq!(
        run.value_summary(0, Some(64), Metric::ReportedBandwidth)
            .unwrap()
            .median,
        0.0
    );
}

#[test]
fn other_settings_are_a_warning_and_other_measurements_an_error() {
    let log = golden!("published/perftest-ib_write_bw-mb");
    let list = log
        .replace("RDMA_Write BW", "RDMA_Write Post List BW")
        .replace(" CQ Moderation", " Post List       : 16\n CQ Moderation");
    let run = import(
        CommandTool::Perftest,
        &[("one", "a.txt", log), ("list", "b.txt", &list)],
    )
    .unwrap();
    let warning = "b.txt differs from a.txt in Post List (not printed, 16)";
    assert!(run.warnings.contains(&warning.to_owned()), "{:?}", run.warnings);
    let log = golden!("published/nccl-tests-all_reduce_perf-2.13");
    for (from, to, found) in [
        (
            "#  Rank  1",
            "#  Rank  2 Group  0 Pid  14842 on node-2 device  0 [0x19] NVIDIA H100 80GB HBM3\n#  Rank  1",
            "ranks 3",
        ),
        ("     float     sum", "  bfloat16     sum", "data type bfloat16"),
        ("   sum      -1", "   max      -1", "reduction max"),
    ] {
        let other = log.replace(from, to);
        let error = import(
            CommandTool::NcclTests,
            &[("a", "a.txt", log), ("b", "b.txt", &other)],
        )
        .unwrap_err();
        assert!(error.to_string().contains(found), "{error}");
    }
    let named = format!("# Collective test starting: all_gather_perf\n{log}");
    let run = import(
        CommandTool::NcclTests,
        &[("a", "a.txt", log), ("b", "b.txt", &named)],
    )
    .unwrap();
    assert!(
        run.warnings
            .iter()
            .any(|warning| warning.contains("all_gather_perf in one of them")),
        "{:?}",
        run.warnings
    );
}

#[test]
fn rejects_logs_of_other_tests_and_duplicate_logs() {
    let write = golden!("published/perftest-ib_write_lat");
    let read = write.replace("RDMA_Write", "RDMA_Read");
    let error = import(CommandTool::Perftest, &[("a", "1", write), ("b", "2", &read)]).unwrap_err();
    assert!(matches!(error, ImportedRunError::OtherTest { .. }), "{error}");
    let error = import(CommandTool::Perftest, &[("a", "1", write), ("b", "2", write)]).unwrap_err();
    assert!(matches!(error, ImportedRunError::SameLog { .. }), "{error}");
    // Latency and bandwidth come from different tests, and are not compared with each other.
    let bandwidth = golden!("published/perftest-ib_write_bw-mb");
    let run = import(CommandTool::Perftest, &[("a", "1", write), ("a", "2", bandwidth)]).unwrap();
    let metrics: Vec<Metric> = run.values.iter().map(|value| value.metric).collect();
    assert!(metrics.contains(&Metric::ReportedLatency) && metrics.contains(&Metric::ReportedBandwidth));
}

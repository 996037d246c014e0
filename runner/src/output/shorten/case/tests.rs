//! Tests with the longest records that an assignment can produce.

use crds::assignment::Pass;
use crds::histogram::Histogram;
use crds::quantity::Observation;
use crds::record::{
    ChainWriter, DatagramReport, Durations, ExclusiveQuantiles, Observations, Observed, OpenLoopReport,
    OriginalStaleness, Posted, PostedStaleness, PostingCounters, Record, ServingReport, WorkerReport,
};

use super::super::encode_within_limit;
use super::*;

/// Latency histogram with a log-uniform distribution between `min` and `max`, drawn from a linear congruential
/// generator (Knuth's MMIX).
fn log_uniform(samples: u32, min: f64, max: f64) -> Histogram {
    let mut latency = Histogram::new();
    let mut state = 1_u64;
    for _ in 0..samples {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let uniform = (state >> 11) as f64 / (1_u64 << 53) as f64;
        latency.record((min * (uniform * (max / min).ln()).exp()) as u64);
    }
    latency
}

fn side(rails: u32, latency: &Histogram, number: u64) -> SideReport {
    let interface = |rail: u32| InterfaceDelta {
        name: format!("rdmap{rail}s{rail}-with-a-suffix-that-pads-the-name-to-about-63-bytes"),
        rails: vec![rail],
        tx_bytes: number,
        rx_bytes: number,
        tx_packets: Some(number),
        rx_packets: Some(number),
        software: None,
        retransmits: Some(number),
        interval_nanos: number,
        line_bits_per_second: Some(number),
    };
    let per_rail = vec![number; rails as usize];
    SideReport {
        window_nanos: number,
        cpu_nanos: number,
        voluntary_switches: number,
        involuntary_switches: number,
        posted: Some(Posted {
            operations: number,
            payload_bytes: number,
            elapsed_nanos: number,
            latency: latency.clone(),
            min_nanos: number,
            max_nanos: number,
            exclusive_quantiles: Some(ExclusiveQuantiles {
                p50_nanos: 12_345.678_9,
                p95_nanos: 12_345.678_9,
                p99_nanos: 12_345.678_9,
            }),
            open_loop: Some(OpenLoopReport {
                intended_nanos: number,
                late: number,
            }),
            call: None,
            footprint: None,
            simultaneous: Some(crds::record::Simultaneous {
                operations: number,
                payload_bytes: number,
                elapsed_nanos: number,
                lead_nanos: number,
                tail_nanos: number,
            }),
            command: None,
            observations: Observations::default(),
            counters: PostingCounters {
                posts: number,
                injected: number,
                inject_limit_bytes: Some(number),
                more: number,
                app_doorbells: number,
                completions: number,
                bytes_per_rail: per_rail.clone(),
                posts_per_rail: per_rail,
                ..PostingCounters::default()
            },
        }),
        interfaces: (0..rails).map(interface).collect(),
        contention: Some(crds::record::CpuContention {
            interval_nanos: number,
            run_queue_nanos: Some(number),
            longest_run_queue_nanos: Some(number),
            cpus: Some("0-95,192-287".to_owned()),
            busy_nanos: Some(number),
            own_nanos: Some(number),
        }),
        ..SideReport::default()
    }
}

fn case(rails: u32, latency: &Histogram, number: u64) -> Record {
    let report = side(rails, latency, number);
    let mut initiator = report.clone();
    let durations = Durations {
        histogram: latency.clone(),
        min_nanos: number,
        max_nanos: number,
    };
    // Only the initiator sends pings, and a workload with pings has no flushes.
    if let Some(posted) = &mut initiator.posted {
        posted.observations = [Observation::PingIdle, Observation::PingLoaded]
            .map(|observation| (observation, Observed::Distribution(durations.clone())))
            .into_iter()
            .collect();
    }
    Record::Case(Box::new(CaseRecord {
        block: u32::MAX,
        round: u32::MAX,
        restart: u32::MAX,
        pass: Pass::Measure,
        scenario: "s".repeat(63),
        size_bytes: number,
        arm: "a".repeat(63),
        position: u32::MAX,
        initiator: u32::MAX,
        target: u32::MAX,
        started_nanos: number,
        span_nanos: Some(number),
        result: CaseResult::Measured(Box::new(Measurement {
            initiator,
            target: report,
        })),
    }))
}

/// Encodes and decodes `record`. Returns the measurement and the reductions.
fn encode_and_decode(record: Record) -> (Measurement, Vec<String>) {
    let (line, reductions) = encode_within_limit(&mut ChainWriter::default(), record).unwrap();
    assert!(line.len() <= MAX_LINE_BYTES);
    let Record::Case(case) = crds::record::Chain::default().read(line.trim_end()).unwrap() else {
        panic!("expected a case");
    };
    match case.result {
        CaseResult::Measured(measured) => (*measured, reductions),
        other => panic!("{other:?}"),
    }
}

#[test]
fn largest_case_with_64_rails_does_not_exceed_the_line_limit() {
    // The latencies span an unrealistically wide range, so that a histogram with three significant digits would be
    // several times as long as the line limit.
    let latency = log_uniform(1_000_000, 1.0, 2e11);
    let (measured, reductions) = encode_and_decode(case(64, &latency, u64::MAX / 128));
    for side in [&measured.initiator, &measured.target] {
        let posted = side.posted.as_ref().unwrap();
        assert_eq!(posted.latency.count(), latency.count());
        assert_eq!(posted.counters.bytes_per_rail.len(), 64);
        let sent: u64 = side.interfaces.iter().map(|delta| delta.tx_bytes).sum();
        assert_eq!(sent, 64 * (u64::MAX / 128));
        let rails: Vec<u32> = side
            .interfaces
            .iter()
            .flat_map(|delta| delta.rails.clone())
            .collect();
        assert_eq!(rails, (0..64).collect::<Vec<_>>());
    }
    assert!(
        reductions
            .iter()
            .any(|reduction| reduction.contains("significant digits")),
        "{reductions:?}"
    );
}

#[test]
fn reduces_long_histograms_to_two_digits() {
    let latency = log_uniform(200_000, 1e3, 1e7);
    let (measured, reductions) = encode_and_decode(case(2, &latency, 1_000_000));
    let [reduction] = &reductions[..] else {
        panic!("expected one reduction: {reductions:?}");
    };
    assert!(reduction.contains("2 significant digits"), "{reduction}");
    let found = measured.target.posted.unwrap().latency;
    for quantile in [0.5, 0.95, 0.999] {
        let exact = latency.quantile(quantile).unwrap() as f64;
        let found = found.quantile(quantile).unwrap() as f64;
        assert!(
            (found - exact).abs() <= exact * 0.006,
            "found {found} instead of {exact}"
        );
    }
    assert_eq!(measured.initiator.interfaces.len(), 2);
}

#[test]
fn does_not_change_records_within_the_line_limit() {
    let mut latency = Histogram::new();
    latency.record(1234);
    let record = case(4, &latency, 1000);
    let (measured, reductions) = encode_and_decode(record.clone());
    assert!(reductions.is_empty());
    let Record::Case(record) = record else {
        panic!("expected a case");
    };
    assert_eq!(record.result, CaseResult::Measured(Box::new(measured)));
}

/// Longest parameter serving report: 16 workers, and distributions that span many orders of magnitude.
fn serving(number: u64) -> ServingReport {
    let wide = log_uniform(500_000, 1.0, 2e11);
    let durations = || Durations {
        histogram: wide.clone(),
        min_nanos: number,
        max_nanos: number,
    };
    let worker = WorkerReport {
        versions: number,
        steps: number,
        cold_steps: number,
        cold_nanos: number,
        version_lag_sum: number,
        version_lag_p50: number,
        version_lag_p99: number,
        version_lag_max: number,
        time_lag_p50_nanos: number,
        time_lag_p99_nanos: number,
        time_lag_max_nanos: number,
        posts: number,
        posted: Some(PostedStaleness {
            posts: number,
            store_versions: 1.0 / 3.0,
            post_versions: 2.0 / 3.0,
        }),
        original: Some(OriginalStaleness {
            posts: number,
            versions: 4.0 / 3.0,
        }),
        torn: number,
        datagrams: Some(DatagramReport {
            sent: number,
            received: number,
            duplicates: number,
            lost: number,
            incomplete_versions: number,
            receive_buffer_bytes: number,
        }),
    };
    ServingReport {
        published: number,
        workers: vec![worker; 16],
        version_lag: log_uniform(500_000, 1.0, 30_000.0),
        max_version_lag: number,
        time_lag: durations(),
        pull: Some(durations()),
        same_clock: false,
        clock_bound_nanos: number,
    }
}

#[test]
fn report_of_sixteen_workers_fits_in_a_line() {
    // The numbers with the most digits that 60 s and 30,000 versions can produce.
    let number = 60_000_000_000;
    let latency = log_uniform(500_000, 1.0, 2e11);
    let mut record = case(1, &latency, number);
    if let Record::Case(case) = &mut record
        && let CaseResult::Measured(measured) = &mut case.result
    {
        measured.target.serving = Some(Box::new(serving(number)));
    }
    let (line, reductions) = encode_within_limit(&mut ChainWriter::default(), record).unwrap();
    println!("{} bytes: {reductions:?}", line.len());
}

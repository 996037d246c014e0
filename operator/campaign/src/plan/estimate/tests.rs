use crds::histogram::Histogram;
use crds::record::{
    CaseRecord, CaseResult, ChainWriter, CpuContention, ExclusiveQuantiles, InterfaceDelta, LineError,
    Measurement, Posted, PostingCounters, Record, SideReport, Simultaneous,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

/// Length of the longest possible case record, in which every rail has a separate interface and all numbers are
/// large.
fn case_line_bytes(samples: u32, sides: u64, rails: u32) -> usize {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut latency = Histogram::new();
    for _ in 0..samples {
        // Log-normal with a heavy tail, from 1 us to a few milliseconds. The sum of uniform values approximates a
        // normal distribution.
        let normal: f64 = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        let tail = if random.random::<f64>() < 0.01 { 100.0 } else { 1.0 };
        latency.record((20_000.0 * (0.7 * normal).exp() * tail) as u64);
    }
    let many = 10_000_000_000_u64;
    let interface = |name: u32| InterfaceDelta {
        name: format!("rdmap{name}s0-interface"),
        rails: vec![name],
        tx_bytes: many,
        rx_bytes: many,
        tx_packets: Some(many),
        rx_packets: Some(many),
        software: None,
        retransmits: Some(many),
        interval_nanos: many,
        line_bits_per_second: Some(many),
    };
    let counters = PostingCounters {
        posts: many,
        injected: many,
        over_limit: many,
        app_doorbells: many,
        more: many,
        completions: many,
        bytes_per_rail: vec![many; rails as usize],
        posts_per_rail: vec![many; rails as usize],
        ..PostingCounters::default()
    };
    let side = SideReport {
        window_nanos: many,
        cpu_nanos: many,
        throttled_nanos: Some(many),
        interfaces: (0..rails).map(interface).collect(),
        contention: Some(CpuContention {
            interval_nanos: many,
            run_queue_nanos: Some(many),
            longest_run_queue_nanos: Some(many),
            cpus: Some("0-95,192-287".to_owned()),
            busy_nanos: Some(many),
            own_nanos: Some(many),
        }),
        ..SideReport::default()
    };
    let posted = Posted {
        operations: many,
        payload_bytes: many,
        elapsed_nanos: many,
        latency,
        min_nanos: many,
        max_nanos: many,
        exclusive_quantiles: Some(ExclusiveQuantiles {
            p50_nanos: 12_345.678_9,
            p95_nanos: 12_345.678_9,
            p99_nanos: 12_345.678_9,
        }),
        counters,
        // Only an open loop has `open_loop`, and only a closed loop has `simultaneous`, which is the longer field.
        open_loop: None,
        call: None,
        footprint: None,
        command: None,
        simultaneous: Some(Simultaneous {
            operations: many,
            payload_bytes: many,
            elapsed_nanos: many,
            lead_nanos: many,
            tail_nanos: many,
        }),
        observations: Default::default(),
    };
    let record = Record::Case(Box::new(CaseRecord {
        block: 100_000,
        round: 60,
        restart: 0,
        pass: Pass::Measure,
        scenario: "a-scenario-with-a-long-name".to_owned(),
        size_bytes: many,
        arm: "an-arm-with-a-long-name".to_owned(),
        position: 10,
        initiator: 60,
        target: 61,
        started_nanos: many,
        span_nanos: (sides == 1).then_some(many),
        result: CaseResult::Measured(Box::new(Measurement {
            initiator: SideReport {
                posted: Some(posted.clone()),
                ..side.clone()
            },
            target: SideReport {
                posted: (sides == 2).then_some(posted),
                ..side
            },
        })),
    }));
    match ChainWriter::default().line(&record) {
        Ok(line) => line.len(),
        Err(LineError::TooLong { length, .. }) => length,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn case_records_are_not_longer_than_estimated() {
    for samples in [0, 100, 1_000, 10_000, 100_000, 1_000_000] {
        for (sides, rails) in [(1, 4), (2, 4), (1, 64), (2, 64)] {
            let line = case_line_bytes(samples, sides, rails) as u64;
            let estimated = case_bytes(samples.into(), sides, rails.into()) + (sides - 1) * WINDOWS_BYTES;
            assert!(
                line <= estimated,
                "{samples} samples, {sides} sides, {rails} rails: {line} bytes, estimated {estimated}"
            );
        }
    }
}

fn plan_with_threads(threads: u32, iterations: u32) -> Plan {
    let run = crate::fixture::run_from_yaml(&format!(
        "apiVersion: fabricbench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {{name: test}}\nspec:\n  baseline: a\n  \
         transport: {{loopback: {{rails: 4}}}}\n  variants: [{{name: a}}, {{name: b, library: /x}}]\n  scenarios: \
         [{{name: s, transfer: {{sizes: [4Ki], threads: {threads}, iterations: {iterations}, warmup: 0}}}}]\n"
    ));
    let validated = crate::validate::validate(&run).unwrap();
    Plan::clone(&crate::plan::plan(&validated).unwrap())
}

#[test]
fn windows_fill_the_minimum_with_any_number_of_threads() {
    for threads in [1, 2, 8, 64] {
        let plan = plan_with_threads(threads, 1);
        let seconds = case_seconds(&plan, &plan.scenarios[0], 4096);
        assert!((seconds - 0.025).abs() < 0.0005, "{threads} threads: {seconds} s");
    }
    // A million operations take longer than the minimum window.
    let plan = plan_with_threads(8, 1_000_000);
    assert!(case_seconds(&plan, &plan.scenarios[0], 4096) > 1.0);
}

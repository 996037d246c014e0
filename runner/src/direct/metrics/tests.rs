use crds::record::{
    InterfaceDelta, LibraryFacts, PingReport, PostingCounters, RailFacts, SideReport, Simultaneous,
};
use crds::v1alpha1::{LargeArray, PingpongFlag, SmallMessages, StreamingDuplex};

use super::*;

fn histogram(samples: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    samples.iter().for_each(|sample| histogram.record(*sample));
    histogram
}

fn durations(samples: &[u64]) -> Durations {
    Durations {
        histogram: histogram(samples),
        min_nanos: samples.iter().copied().min().unwrap_or(0),
        max_nanos: samples.iter().copied().max().unwrap_or(0),
    }
}

/// Report of a side that posted one operation of `size` bytes for each sample.
fn side(size: u64, elapsed_nanos: u64, samples: &[u64]) -> SideReport {
    let distribution = durations(samples);
    SideReport {
        window_nanos: elapsed_nanos + 1,
        posted: Some(Posted {
            operations: samples.len() as u64,
            payload_bytes: size * samples.len() as u64,
            elapsed_nanos,
            latency: distribution.histogram,
            min_nanos: distribution.min_nanos,
            max_nanos: distribution.max_nanos,
            counters: PostingCounters {
                bytes_per_rail: vec![size * samples.len() as u64],
                ..PostingCounters::default()
            },
            ..Posted::default()
        }),
        ..SideReport::default()
    }
}

fn measurement(initiator: SideReport, target: SideReport) -> Measurement {
    Measurement { initiator, target }
}

fn large_array_scenario() -> RequestedScenario {
    RequestedScenario::LargeArray(LargeArray {
        sizes: vec![crds::units::Size(8_000_000)],
        ..LargeArray::default()
    })
}

#[test]
fn large_array_rates_use_the_median_shortest_and_longest_times() {
    let mut client = side(8_000_000, 7_000_000, &[1_000_000, 4_000_000, 2_000_000]);
    client.posted.as_mut().unwrap().flush = Some(durations(&[1000, 3000, 2000]));
    let found = compute(
        &large_array_scenario(),
        &measurement(client, SideReport::default()),
        [None; 2],
    )
    .unwrap();
    let Metrics::LargeArray(metrics) = found.metrics else {
        panic!("metrics of a different scenario");
    };
    assert!((metrics.median_gigabytes_per_second - 4.0).abs() < 0.01);
    assert_eq!(metrics.best_gigabytes_per_second, 8.0);
    assert_eq!(metrics.worst_gigabytes_per_second, 2.0);
    assert_eq!(metrics.total.gigabytes_per_second, 24.0 / 7.0);
    let flush = metrics.flush.unwrap();
    assert_eq!((flush.min_microseconds, flush.max_microseconds), (1.0, 3.0));
    assert!((flush.p50_microseconds - 2.0).abs() < 0.01);
    assert_eq!(flush.p95_microseconds, None);
    assert_eq!(found.omitted["flush.p95Microseconds"], "3 samples are too few");
}

#[test]
fn a_missing_flush_is_omitted_with_the_reason() {
    let client = side(8_000_000, 1_000_000, &[1_000_000]);
    let fabric = FabricFacts {
        library: Some(LibraryFacts {
            name: "libfabric".into(),
            ..LibraryFacts::default()
        }),
        ..FabricFacts::default()
    };
    let found = compute(
        &large_array_scenario(),
        &measurement(client, SideReport::default()),
        [Some(&fabric), None],
    )
    .unwrap();
    assert_eq!(found.omitted["flush"], "libfabric has no flush");
    assert_eq!(
        serde_json::to_value(&found.metrics).unwrap()["flush"],
        serde_json::Value::Null
    );
}

#[test]
fn percentiles_need_a_sample_above_them() {
    let scenario = RequestedScenario::SmallMessages(SmallMessages::default());
    for (count, has_p95, has_p99) in [
        (19, false, false),
        (20, true, false),
        (99, true, false),
        (100, true, true),
    ] {
        let samples: Vec<u64> = (1..=count).map(|sample| sample * 1000).collect();
        let client = side(1024, count * 1000, &samples);
        let found = compute(&scenario, &measurement(client, SideReport::default()), [None; 2]).unwrap();
        let Metrics::SmallMessages(metrics) = found.metrics else {
            panic!("metrics of a different scenario");
        };
        let latency = metrics.latency;
        assert_eq!(
            (
                latency.p95_microseconds.is_some(),
                latency.p99_microseconds.is_some()
            ),
            (has_p95, has_p99),
            "{count} samples"
        );
        assert!((metrics.messages_per_second - 1e6).abs() < 1e-3);
        assert!((metrics.total.gigabytes_per_second - 1.024).abs() < 1e-9);
    }
}

#[test]
fn a_round_trip_is_twice_its_sample() {
    let client = side(1, 2 * 6000, &[1000, 2000, 3000]);
    let scenario = RequestedScenario::PingpongFlag(PingpongFlag::default());
    let found = compute(&scenario, &measurement(client, SideReport::default()), [None; 2]).unwrap();
    let Metrics::PingpongFlag(metrics) = found.metrics else {
        panic!("metrics of a different scenario");
    };
    assert_eq!(metrics.mean_round_trip_microseconds, 4.0);
    assert_eq!(metrics.mean_one_way_microseconds, 2.0);
    let trips = metrics.round_trip;
    assert_eq!((trips.min_microseconds, trips.max_microseconds), (2.0, 6.0));
}

#[test]
fn direction_rates_cover_only_the_windows_in_which_both_sides_send() {
    let with_window = |mut side: SideReport, elapsed_nanos: u64| {
        let posted = side.posted.as_mut().unwrap();
        posted.simultaneous = Some(Simultaneous {
            operations: posted.operations,
            payload_bytes: posted.payload_bytes,
            elapsed_nanos,
            ..Simultaneous::default()
        });
        // These operations are before and after the window.
        posted.operations += 10;
        posted.payload_bytes *= 3;
        side
    };
    let mut client = with_window(side(4000, 20_000, &[1000; 4]), 4000);
    let idle: Vec<u64> = (1..=200).map(|sample| sample * 10).collect();
    let loaded: Vec<u64> = idle.iter().map(|sample| sample * 5).collect();
    client.posted.as_mut().unwrap().ping = Some(PingReport {
        idle: durations(&idle),
        loaded: durations(&loaded),
    });
    let server = with_window(side(4000, 20_000, &[4000; 4]), 16_000);
    let scenario = RequestedScenario::StreamingDuplex(StreamingDuplex::default());
    let alone = measurement(client.clone(), side(4000, 16_000, &[4000; 4]));
    assert!(
        compute(&scenario, &alone, [None; 2])
            .unwrap_err()
            .contains("both sides")
    );
    let found = compute(&scenario, &measurement(client, server), [None; 2]).unwrap();
    let Metrics::StreamingDuplex(metrics) = found.metrics else {
        panic!("metrics of a different scenario");
    };
    assert_eq!(metrics.client_to_server.gigabytes_per_second, 4.0);
    assert_eq!(metrics.server_to_client.gigabytes_per_second, 1.0);
    assert_eq!(
        (metrics.combined_gigabytes_per_second, metrics.balance),
        (5.0, 0.25)
    );
    assert!((metrics.ping_p99_ratio.unwrap() - 5.0).abs() < 0.02);
}

#[test]
fn an_incorrect_measurement_has_no_metrics() {
    let scenario = large_array_scenario();
    let reason = |client: SideReport, fabric: Option<&FabricFacts>| {
        compute(
            &scenario,
            &measurement(client, SideReport::default()),
            [fabric, None],
        )
        .unwrap_err()
    };
    assert_eq!(reason(side(8, 5, &[]), None), "nothing was measured");
    let mut long = side(8, 1000, &[1000]);
    long.window_nanos = 999;
    assert!(reason(long, None).contains("longer than the window"));
    assert!(reason(side(8, 500, &[1000]), None).contains("less time than the sum"));
    let mut few = side(8, 1000, &[1000]);
    few.posted.as_mut().unwrap().operations = 2;
    assert!(reason(few, None).contains("2 operations have 1 samples"));
    let fabric = FabricFacts {
        rails: vec![RailFacts {
            interface: Some("eth0".into()),
            pci: Some("0000:00:01.0".into()),
            line_bits_per_second: Some(1_000_000_000),
            ..RailFacts::default()
        }],
        ..FabricFacts::default()
    };
    let fast = side(8_000_000, 1_000_000, &[1_000_000]);
    assert!(reason(fast, Some(&fabric)).contains("line rate of 1 Gbit/s"));
}

#[test]
fn an_interface_that_did_not_carry_the_payload_is_named() {
    let warnings = |tx_bytes, rx_bytes| {
        let mut client = side(8_000_000, 1_000_000, &[1_000_000]);
        client.interfaces = vec![InterfaceDelta {
            name: "eth0".into(),
            tx_bytes,
            rx_bytes,
            rails: vec![0],
            tx_packets: None,
            rx_packets: None,
            software: None,
            retransmits: None,
            interval_nanos: 0,
            line_bits_per_second: None,
        }];
        let measurement = measurement(client, SideReport::default());
        compute(&large_array_scenario(), &measurement, [None; 2])
            .unwrap()
            .warnings
    };
    for (sent, received) in [(8_000_100, 0), (7_990_000, 500), (0, 8_000_100)] {
        assert_eq!(warnings(sent, received), Vec::<String>::new());
    }
    for sent in [0, 4_000_000] {
        let found = warnings(sent, 0).concat();
        let expected = format!("client: eth0 counted {sent} bytes for 8000000 bytes of payload");
        assert!(found.starts_with(&expected), "{found}");
    }
}

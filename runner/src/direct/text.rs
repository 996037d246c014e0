//! Formats a report for a terminal: the two sides, a block for each scenario, and a table. Performs no I/O.

mod json_summary;

use std::fmt::Write;

use comfy_table::Table;
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use crds::record::{ColdRecord, FabricFacts, WarningReason};
use crds::units::Size;
use crds::v1alpha1::Answer;

use super::metrics::{Distribution, Metrics, Throughput};
use super::report::{CpuPercent, Report, ScenarioReport, ScenarioState, Side};
use super::request::SEGMENT_TRANSFER;

/// Formats the report.
pub fn format(report: &Report) -> String {
    let mut text = String::new();
    for (name, side) in [("client", &report.client), ("server", &report.server)] {
        if let Some(side) = side {
            add_side(&mut text, name, side);
        }
    }
    for scenario in &report.scenarios {
        add_scenario(&mut text, scenario);
    }
    add_warnings(&mut text, report);
    let _ = write!(text, "\n{}", summary(report));
    if let Some(json) = json_summary::format(report) {
        let _ = write!(text, "\n\nJSON summary:\n{json}");
    }
    text
}

fn add_side(text: &mut String, name: &str, side: &Side) {
    let environment = &side.environment;
    add(
        text,
        name,
        &format!(
            "{}, kernel {}, {}, CPUs {}",
            environment.hostname, environment.kernel, environment.cpu_model, environment.cpus_allowed
        ),
    );
    if let Some(fabric) = &side.fabric {
        add(text, "", &library(fabric));
        for rail in &fabric.rails {
            add(text, "", &rail_text(rail));
        }
        if let Some(memory) = segment_memory(fabric) {
            add(text, "", &memory);
        }
    }
    if let Some(cold) = &side.cold {
        add(text, "", &setup(cold));
    }
}

fn library(fabric: &FabricFacts) -> String {
    match &fabric.library {
        Some(library) => format!(
            "{} {} ({}), provider {}",
            library.name, library.version, library.path, fabric.provider
        ),
        None => format!("provider {}", fabric.provider),
    }
}

/// Memory of a segment, by kind; `None` if the scenario has no segment.
fn segment_memory(fabric: &FabricFacts) -> Option<String> {
    let of_segment = fabric
        .memory
        .iter()
        .filter(|facts| facts.scenario == SEGMENT_TRANSFER);
    let kinds: Vec<String> = of_segment
        .map(|facts| match facts.gpus.as_slice() {
            [] => format!("{:?}", facts.kind),
            gpus => format!("{:?} on GPU {}", facts.kind, gpus.join(", GPU ")),
        })
        .collect();
    (!kinds.is_empty()).then(|| format!("memory: {}", kinds.join(" and ")))
}

fn setup(cold: &ColdRecord) -> String {
    let milliseconds = |nanos: u64| number(nanos as f64 / 1e6);
    format!(
        "setup: library {} ms, endpoints {} ms, registration of {} {} ms, addresses {} ms{}{}",
        milliseconds(cold.load_nanos),
        milliseconds(cold.open_nanos),
        bytes(cold.registered_bytes),
        milliseconds(cold.registration_nanos),
        milliseconds(cold.address_insertion_nanos),
        cold.first_post_nanos.map_or_else(String::new, |nanos| format!(
            ", first message {} ms",
            milliseconds(nanos)
        )),
        cold.prepared_requests.zip(cold.preparation_nanos).map_or_else(
            String::new,
            |(requests, nanos)| format!(", preparation of {requests} requests {} ms", milliseconds(nanos))
        )
    )
}

fn rail_text(rail: &crds::record::RailFacts) -> String {
    let mut parts = vec![format!("rail {}", rail.domain)];
    parts.extend(
        rail.interface
            .iter()
            .map(|interface| format!("interface {interface}")),
    );
    if !rail.lanes.is_empty() {
        parts.push(format!("lanes {}", rail.lanes.join(" ")));
    }
    if let Some(bits) = rail.line_bits_per_second {
        parts.push(format!("line rate {:.0} Gbit/s", bits as f64 / 1e9));
    }
    parts.join(", ")
}

fn add_scenario(text: &mut String, scenario: &ScenarioReport) {
    let _ = writeln!(text, "\n[{}] {}", scenario.name, scenario.description);
    let verified = match &scenario.integrity {
        Some(integrity) => format!(", {} verified beforehand", bytes(integrity.bytes)),
        None => String::new(),
    };
    let iterations = scenario
        .iterations
        .map_or_else(String::new, |iterations| format!("{iterations} x "));
    let _ = writeln!(
        text,
        "  {iterations}{}, {} warm-up, {} in flight{verified}",
        Size(scenario.size_bytes),
        scenario.warmup,
        scenario.in_flight
    );
    if let Some(metrics) = &scenario.metrics {
        add_metrics(text, metrics);
    }
    if let Some(CpuPercent { client, server }) = scenario.cpu_percent {
        let cpu = format!("{client:.0} % of a CPU on the client, {server:.0} % on the server");
        add(text, "CPU time", &cpu);
    }
    for (operations, answer) in &scenario.emulated {
        let emulated = match answer {
            Answer::True => {
                "emulated by the library with messages, so the result does not describe the device"
            }
            Answer::False => "not emulated",
            Answer::Unknown => "unknown whether the library emulates them with messages",
        };
        add(text, operations, emulated);
    }
    for interface in &scenario.client_interfaces {
        let counted = format!(
            "{} sent {}, received {} (client)",
            interface.name,
            bytes(interface.tx_bytes),
            bytes(interface.rx_bytes)
        );
        add(text, "interface", &counted);
    }
    for (name, reason) in &scenario.omitted {
        add(text, "omitted", &format!("{name}: {reason}"));
    }
    for warning in &scenario.warnings {
        add(text, "warning", warning);
    }
    match (scenario.state, &scenario.failure) {
        (ScenarioState::Failed, Some(failure)) => add(text, "failed", failure),
        (ScenarioState::NotRun, _) => add(text, "not run", "the measurement ended before this scenario"),
        _ => {}
    }
}

fn add_metrics(text: &mut String, metrics: &Metrics) {
    match metrics {
        Metrics::LargeArray(metrics) => {
            let rates = format!(
                "median {}, best {}, worst {}, total {}",
                rate(metrics.median_gigabytes_per_second),
                rate(metrics.best_gigabytes_per_second),
                rate(metrics.worst_gigabytes_per_second),
                rate(metrics.total.gigabytes_per_second)
            );
            add(text, "bandwidth", &rates);
            add(text, "total time", &time(metrics.total.seconds));
            if let Some(flush) = &metrics.flush {
                add(text, "flush", &distribution(flush));
            }
        }
        Metrics::SmallMessages(metrics) => {
            add(
                text,
                "rate",
                &format!("{} messages/s", number(metrics.messages_per_second)),
            );
            add(text, "bandwidth", &throughput(&metrics.total));
            add(text, "latency", &distribution(&metrics.latency));
        }
        Metrics::PingpongFlag(metrics) => {
            add(text, "round trip", &distribution(&metrics.round_trip));
            let means = format!(
                "{} us; one way {} us (half); {} round trips/s",
                number(metrics.mean_round_trip_microseconds),
                number(metrics.mean_one_way_microseconds),
                number(metrics.round_trips_per_second)
            );
            add(text, "mean", &means);
        }
        Metrics::StreamingDuplex(metrics) => {
            add(text, "to server", &throughput(&metrics.client_to_server));
            add(text, "to client", &throughput(&metrics.server_to_client));
            let combined = format!(
                "{}, balance {:.3}",
                rate(metrics.combined_gigabytes_per_second),
                metrics.balance
            );
            add(text, "combined", &combined);
            if let Some(ping) = &metrics.ping_idle {
                add(text, "ping, idle", &distribution(ping));
            }
            if let Some(ping) = &metrics.ping_loaded {
                add(text, "ping, loaded", &distribution(ping));
            }
            if let Some(ratio) = metrics.ping_p99_ratio {
                add(text, "p99 ratio", &format!("{ratio:.1} (loaded / idle)"));
            }
        }
        Metrics::SegmentTransfer(metrics) => {
            add(
                text,
                "throughput",
                &format!(
                    "{} ({} in {})",
                    metrics.reported,
                    bytes(metrics.total.bytes),
                    time(metrics.total.seconds)
                ),
            );
            add(
                text,
                "batches",
                &format!(
                    "{} ({}/s), {} requests",
                    metrics.batches,
                    number(metrics.batches_per_second),
                    metrics.requests
                ),
            );
            add(text, "latency", &distribution(&metrics.latency));
            if let Some(reads) = &metrics.read_back {
                add(text, "reads", &distribution(reads));
            }
            if let Some(first) = metrics.first_batch_microseconds {
                add(text, "first batch", &format!("{} us", number(first)));
            }
            let cpu = format!("{} s/GiB on both sides", number(metrics.cpu_seconds_per_gib));
            add(text, "CPU per GiB", &cpu);
        }
    }
}

/// Adds the warnings, except for the evidence lines of optimizations, which campaigns report.
fn add_warnings(text: &mut String, report: &Report) {
    let warnings = report.warnings.iter();
    for warning in warnings.filter(|warning| warning.reason != WarningReason::Evidence) {
        let side = match warning.rank {
            Some(0) => "client: ",
            Some(_) => "server: ",
            None => "",
        };
        let _ = writeln!(
            text,
            "\nwarning ({:?}): {side}{}",
            warning.reason, warning.message
        );
    }
    if let Some(failure) = &report.failure {
        let _ = writeln!(text, "\nended early ({:?}): {}", failure.reason, failure.message);
    }
}

fn summary(report: &Report) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY).set_header([
        "scenario",
        "size",
        "operations",
        "bandwidth",
        "latency",
        "result",
    ]);
    for scenario in &report.scenarios {
        let (bandwidth, latency, result) = match (&scenario.metrics, scenario.state) {
            (Some(metrics), _) => columns(metrics),
            (None, ScenarioState::NotRun) => (String::new(), String::new(), "not run".into()),
            (None, _) => (String::new(), String::new(), "failed".into()),
        };
        table.add_row([
            scenario.name.to_owned(),
            Size(scenario.size_bytes).to_string(),
            measured_operations(scenario),
            bandwidth,
            latency,
            result,
        ]);
    }
    table.to_string()
}

/// Number of measured operations; empty if a scenario that runs for a fixed duration was not measured.
fn measured_operations(scenario: &ScenarioReport) -> String {
    let measured = match &scenario.metrics {
        Some(Metrics::SegmentTransfer(metrics)) => Some(metrics.requests),
        _ => scenario.iterations.map(u64::from),
    };
    measured.map_or_else(String::new, |count| count.to_string())
}

/// Bandwidth, latency and the metric that characterizes the scenario.
fn columns(metrics: &Metrics) -> (String, String, String) {
    match metrics {
        Metrics::LargeArray(metrics) => (
            rate(metrics.median_gigabytes_per_second),
            String::new(),
            match &metrics.flush {
                Some(flush) => format!("flush p50 {} us", number(flush.p50_microseconds)),
                None => "measured".into(),
            },
        ),
        Metrics::SmallMessages(metrics) => (
            rate(metrics.total.gigabytes_per_second),
            format!("p50 {} us", number(metrics.latency.p50_microseconds)),
            format!("{} messages/s", number(metrics.messages_per_second)),
        ),
        Metrics::PingpongFlag(metrics) => (
            String::new(),
            format!("p50 {} us", number(metrics.round_trip.p50_microseconds)),
            format!("mean one way {} us", number(metrics.mean_one_way_microseconds)),
        ),
        Metrics::StreamingDuplex(metrics) => (
            rate(metrics.combined_gigabytes_per_second),
            metrics
                .ping_loaded
                .map(|ping| format!("ping p50 {} us", number(ping.p50_microseconds)))
                .unwrap_or_default(),
            format!("balance {:.3}", metrics.balance),
        ),
        Metrics::SegmentTransfer(metrics) => (
            metrics.reported.clone(),
            format!("p50 {} us", number(metrics.latency.p50_microseconds)),
            format!("{} batches/s", number(metrics.batches_per_second)),
        ),
    }
}

/// Adds a line with a label.
fn add(text: &mut String, label: &str, value: &str) {
    let _ = writeln!(text, "  {label:<13} {value}");
}

fn throughput(throughput: &Throughput) -> String {
    format!(
        "{} ({} in {})",
        rate(throughput.gigabytes_per_second),
        bytes(throughput.bytes),
        time(throughput.seconds)
    )
}

fn distribution(distribution: &Distribution) -> String {
    let mut text = format!("p50 {}", number(distribution.p50_microseconds));
    for (name, value) in [
        ("p95", distribution.p95_microseconds),
        ("p99", distribution.p99_microseconds),
    ] {
        if let Some(value) = value {
            let _ = write!(text, ", {name} {}", number(value));
        }
    }
    let _ = write!(
        text,
        ", min {}, max {} us ({} samples)",
        number(distribution.min_microseconds),
        number(distribution.max_microseconds),
        distribution.samples
    );
    text
}

fn rate(gigabytes_per_second: f64) -> String {
    format!("{} GB/s", number(gigabytes_per_second))
}

fn bytes(count: u64) -> String {
    let value = count as f64;
    match count {
        0..1_000 => format!("{count} B"),
        1_000..1_000_000 => format!("{} kB", number(value / 1e3)),
        1_000_000..1_000_000_000 => format!("{} MB", number(value / 1e6)),
        _ => format!("{} GB", number(value / 1e9)),
    }
}

fn time(seconds: f64) -> String {
    if seconds < 1.0 {
        format!("{} ms", number(seconds * 1e3))
    } else {
        format!("{} s", number(seconds))
    }
}

/// Formats a number with at least three significant digits, but at most four decimal places.
fn number(value: f64) -> String {
    let decimals = match value {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        0.1.. => 3,
        _ => 4,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_significant_digits() {
        let found = [0.01234, 0.1234, 1.2345, 12.345, 123.45, 1_234_567.8].map(number);
        assert_eq!(found, ["0.0123", "0.123", "1.23", "12.3", "123", "1234568"]);
        assert_eq!(
            [12.0, 1500.0, 2.5e6, 3e9].map(|count| bytes(count as u64)),
            ["12 B", "1.50 kB", "2.50 MB", "3.00 GB"]
        );
        assert_eq!(
            (time(0.0123), time(2.5)),
            ("12.3 ms".to_owned(), "2.50 s".to_owned())
        );
    }
}

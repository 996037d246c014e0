//! Checks whether a measurement is incorrect or was disturbed. Performs no I/O.

use crds::interface_load::{COVERAGE, InterfaceLoad};
use crds::record::{
    CpuContention, FabricFacts, LINE_RATE_TOLERANCE, MAX_FOREIGN_CPU_SHARE, MAX_RUN_QUEUE_SHARE, Posted,
    SideReport,
};

use crate::direct::request::RequestedScenario;

/// Tolerance for times and rates, because clocks and nominal link rates are not exact.
const TOLERANCE: f64 = 1.02;

/// Number of samples that are in progress concurrently. It is 0.5 for a ping-pong, because a sample is only half of a
/// round trip.
pub(super) fn in_flight(scenario: &RequestedScenario) -> f64 {
    match scenario {
        RequestedScenario::LargeArray(_) => 1.0,
        RequestedScenario::SmallMessages(scenario) => f64::from(scenario.concurrency),
        RequestedScenario::PingpongFlag(_) => 0.5,
        RequestedScenario::StreamingDuplex(scenario) => f64::from(scenario.window),
        RequestedScenario::SegmentTransfer(scenario) => f64::from(scenario.batch * scenario.threads),
    }
}

/// Number of link directions across which a side's payload is divided equally.
fn directions(posted: &Posted) -> f64 {
    if posted.read_back.is_some() { 2.0 } else { 1.0 }
}

/// Checks that the operations that `side` posted are complete and that their times agree.
///
/// # Errors
/// Returns why the measurement cannot be correct.
pub(super) fn check(side: &SideReport, in_flight: f64, fabric: Option<&FabricFacts>) -> Result<(), String> {
    let Some(posted) = &side.posted else {
        return Ok(());
    };
    let samples = posted.latency.count();
    let (operations, payload_bytes, elapsed_nanos) = posted.timed();
    if operations == 0 || elapsed_nanos == 0 || posted.min_nanos == 0 || samples == 0 {
        return Err("nothing was measured".into());
    }
    if samples != operations {
        return Err(format!("{operations} operations have {samples} samples"));
    }
    if posted.elapsed_nanos > side.window_nanos {
        return Err("the operations took longer than the window that contains them".into());
    }
    let sum = posted.latency.mean().unwrap_or(0.0) * samples as f64;
    if (posted.elapsed_nanos as f64) < sum / (TOLERANCE * in_flight) {
        return Err("the operations took less time than the sum of their samples permits".into());
    }
    let line = fabric.and_then(|facts| facts.line_rate_of_used_rails(&posted.counters.bytes_per_rail));
    let rate = 8e9 * payload_bytes as f64 / directions(posted) / elapsed_nanos as f64;
    match line.map(|bits| bits as f64) {
        Some(bits) if rate > bits * (1.0 + LINE_RATE_TOLERANCE) => Err(format!(
            "the throughput is above the line rate of {:.0} Gbit/s",
            bits / 1e9
        )),
        _ => Ok(()),
    }
}

/// Disturbances of the measurement on each side. `two_way` is true if the server also sends messages, or warms up while the
/// client already measures.
pub(super) fn warnings(sides: [&SideReport; 2], two_way: bool) -> Vec<String> {
    let mut found = Vec::new();
    let [client, server] = sides;
    for (side, peer, name) in [(client, server, "client"), (server, client, "server")] {
        if side.throttled_nanos.is_some_and(|nanos| nanos > 0) {
            found.push(format!(
                "{name}: the CPU limit of the cgroup throttled the process; raise the limit and measure again"
            ));
        }
        if side.migrations > 0 {
            found.push(format!(
                "{name}: a measuring thread left its CPU; reserve the CPUs for the measurement"
            ));
        }
        found.extend(contended(name, side, peer));
        found.extend(shared_interfaces(name, side, peer, two_way));
        found.extend(unused_interfaces(name, side));
        if side.governor_changed {
            found.push(format!(
                "{name}: the CPU frequency governor changed; set it before the measurement"
            ));
        }
    }
    found
}

/// Competition of other work for the CPUs of the side `name`. The side `peer` may run on the same machine.
fn contended(name: &str, side: &SideReport, peer: &SideReport) -> Vec<String> {
    let Some(contention) = &side.contention else {
        return Vec::new();
    };
    let wait = contention.longest_run_queue_nanos.unwrap_or_default();
    let waiting = wait as f64 / contention.interval_nanos as f64;
    let waiting = (waiting > MAX_RUN_QUEUE_SHARE).then(|| {
        format!(
            "{name}: a thread waited for a CPU for {:.1} % of the measured time; reserve more CPUs, or stop other work",
            waiting * 100.0
        )
    });
    let on_same_cpus = peer.contention.iter().filter(|peer| peer.shares_cpus(contention));
    // Without the CPU time of both sides, the rest is not known to belong to other processes.
    let measuring: Option<u64> = on_same_cpus.chain([contention]).map(|side| side.own_nanos).sum();
    // A single measurement is short compared with the steps of the kernel's counters.
    let step = i128::from(CpuContention::STEP_NANOS) * i128::from(contention.cpu_count());
    let foreign = measuring.and_then(|nanos| contention.foreign_cpu(i128::from(nanos) + step));
    let foreign = foreign
        .and_then(|foreign| foreign.share())
        .filter(|share| *share > MAX_FOREIGN_CPU_SHARE);
    let foreign = foreign.map(|share| {
        format!(
            "{name}: other processes used {:.0} % of the CPUs; stop them, or reserve the CPUs for the measurement",
            share * 100.0
        )
    });
    waiting.into_iter().chain(foreign).collect()
}

/// Interfaces of the side `name` that counted more bytes than both directions of the measurement together can have caused.
fn shared_interfaces(name: &str, side: &SideReport, peer: &SideReport, two_way: bool) -> Vec<String> {
    let posted = |side: &SideReport| {
        side.posted.as_ref().map_or((0, 0), |posted| {
            let bytes = posted
                .counters
                .bytes_per_rail
                .iter()
                .fold(0, |sum: u64, bytes| sum.saturating_add(*bytes));
            let pings = posted.ping.as_ref().map_or(0, |ping| {
                2 * (ping.idle.histogram.count() + ping.loaded.histogram.count())
            });
            (bytes, posted.counters.posts.saturating_add(pings))
        })
    };
    let (own, theirs) = (posted(side), posted(peer));
    let times = if two_way { 2 } else { 1 };
    let payload = own.0.saturating_add(theirs.0).saturating_mul(times);
    // Both sides may use the interface, and the direction of the payload does not matter for a rough comparison.
    let shared = side.interfaces.iter().filter_map(|delta| {
        let load = InterfaceLoad {
            sent: payload,
            received: payload,
            messages: own.1.saturating_add(theirs.1).saturating_mul(2 * times),
            sides: 2,
            interval_nanos: delta.interval_nanos,
        };
        let sent = delta.tx_bytes.saturating_sub(load.most_sent(delta.tx_packets));
        let received = delta.rx_bytes.saturating_sub(load.most_received(delta.rx_packets));
        let foreign = sent.max(received);
        (foreign > 0).then(|| {
            format!(
                "{name}: {} counted {} bytes for {payload} bytes of payload, so it also carried other traffic; stop that traffic, \
                 or use another interface",
                delta.name,
                delta.tx_bytes.max(delta.rx_bytes)
            )
        })
    });
    shared.collect()
}

/// Says that the interfaces of the side `name` counted less than the payload that it posted; `None` if their counts cover it.
fn unused_interfaces(name: &str, side: &SideReport) -> Option<String> {
    let posted: u64 = side.posted.as_ref()?.counters.bytes_per_rail.iter().sum();
    // The payload of reads arrives, and that of writes is sent.
    let counted: u64 = side
        .interfaces
        .iter()
        .map(|delta| delta.tx_bytes.max(delta.rx_bytes))
        .sum();
    // A software RDMA device counts packets, and the bytes are those of the interface below it.
    let counts_bytes = side.interfaces.iter().all(|delta| delta.software.is_none());
    if !counts_bytes || side.interfaces.is_empty() || counted as f64 >= posted as f64 * COVERAGE {
        return None;
    }
    let names: Vec<&str> = side.interfaces.iter().map(|delta| delta.name.as_str()).collect();
    Some(format!(
        "{name}: {} counted {counted} bytes for {posted} bytes of payload, so the payload used another path, and the results say \
         nothing about this interface; between two addresses of one machine, the kernel uses lo: measure from another machine",
        names.join(", ")
    ))
}

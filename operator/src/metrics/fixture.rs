//! Test runs with every kind of value in their status.

use crds::quantity::Quantity;
use crds::v1alpha1::BenchmarkRun;
use serde_json::{Value, json};

use super::RunValues;

/// Limit that is high enough to include all series.
pub(crate) const ALL: usize = usize::MAX;

/// Finished run created `minute` minutes after 10:00.
pub(crate) fn finished(name: &str, minute: u8) -> BenchmarkRun {
    with_status(name, minute, status())
}

pub(crate) fn values(name: &str, minute: u8) -> RunValues {
    RunValues::from_run(&finished(name, minute), ALL)
}

/// Run with the given status.
pub(crate) fn with_status(name: &str, minute: u8, status: Value) -> BenchmarkRun {
    let run = json!({
        "apiVersion": "fabricbench.dev/v1alpha1",
        "kind": "BenchmarkRun",
        "metadata": {
            "name": name,
            "namespace": "team-a",
            "creationTimestamp": format!("2026-03-01T10:{minute:02}:00Z"),
        },
        "spec": {
            "baseline": "base",
            "variants": [{"name": "base"}, {"name": "fi-inject", "inject": {"maxBytes": 256}}],
            "transport": {"libfabric": {"provider": "tcp"}},
            "scenarios": [{
                "name": "small", "memory": "Heap", "pingPong": {"sizes": [64], "iterations": 100, "warmup": 10}
            }],
        },
        "status": status,
    });
    serde_json::from_value(run).unwrap()
}

/// Status with every kind of value.
pub(crate) fn status() -> Value {
    json!({
        "conditions": [
            condition("Accepted", "True", "Planned"),
            condition("Complete", "True", "AllBlocksMeasured"),
            condition("Failed", "False", "NotFailed"),
            condition("Suspended", "Unknown", "Unsure"),
            condition("Invented", "True", "Invented"),
        ],
        "state": "Complete",
        "outcome": "Missed",
        "progress": {"blocksDone": 83, "blocksTotal": 84, "text": "83/84"},
        "placement": {"nodes": ["node-1", "node-2", "node-1"]},
        "environment": {
            "kernels": ["6.1.0"],
            "cpuModels": ["Xeon \"Gold\" \\ 8480\n+"],
            "libraries": ["libfabric 1.17.0 (/usr/lib/libfabric.so.1)"],
            "polling": ["Spin", "Yield"],
        },
        "fabric": {"proof": "Verified", "provider": "net", "reason": "r", "payloadBytes": 7},
        "results": [arm("base", 64), with_observations(arm("fi-inject", 64))],
        "comparisons": [
            comparison("fi-inject", "LatencyP99_9", false),
            comparison("fi-inject", "LatencyP50", true),
            {
                "scenario": "small", "sizeBytes": 64, "arm": "base-control", "metric": "LatencyP50", "primary": true,
                "negativeControl": true, "rounds": 6, "effectPpm": -2500, "reason": "control arm",
            },
            {
                "scenario": "small", "sizeBytes": 256, "arm": "fi-inject", "metric": "LatencyP50", "primary": true,
                "negativeControl": false, "rounds": 6, "effectPpm": -1000, "withheld": "NotEngaged", "reason": "r",
            },
        ],
        "expectations": [
            {"index": 0, "text": "t", "outcome": "NotMet", "reason": "r"},
            {"index": 1, "text": "t", "outcome": "Met", "reason": "r"},
            {"index": 2, "text": "t", "outcome": "Met", "reason": "r"},
        ],
        "pairs": [{
            "scenario": "small", "sizeBytes": 64, "initiator": "node-1", "target": "node-2", "deviationPpm": 250_000,
        }],
        "nodes": [{"name": "node-2", "deviationPpm": 250_000}, {"name": "node-1", "deviationPpm": -1000}],
        "execution": {"finishedAt": "2026-03-01T11:00:00Z"},
    })
}

fn condition(name: &str, status: &str, reason: &str) -> Value {
    json!({
        "type": name, "status": status, "reason": reason, "message": "m",
        "lastTransitionTime": "2026-03-01T11:00:01Z",
    })
}

pub(crate) fn arm(arm: &str, size: u64) -> Value {
    json!({
        "scenario": "small", "sizeBytes": size, "arm": arm, "validRounds": 6, "validity": "Valid",
        "values": {
            "latencyMinNanos": 3900, "latencyP50Nanos": 4130, "latencyP95Nanos": 5000, "latencyP99Nanos": 6000,
            "latencyP999Nanos": 70_000, "latencyMaxNanos": 2_000_000, "bytesPerSecond": 15_496_368,
            "completionsPerSecond": 242_130, "cpuNanosPerGib": 138_500_000_000_u64,
        },
        "optimizations": [{"optimization": "Inject", "engagement": "Confirmed", "reason": "r"}],
    })
}

/// Adds a value of every quantity that an arm's result does not have, and the outcomes of calls and a footprint.
fn with_observations(mut arm: Value) -> Value {
    for (quantity, value) in Quantity::ALL.into_iter().zip(1000..) {
        let values = arm["values"].as_object_mut().unwrap();
        values.entry(quantity.name()).or_insert(json!(value));
    }
    arm["call"] = json!({"payload": "SmallInt", "section": "Successful", "hops": 2});
    arm["footprint"] = json!({"section": "Successful", "consumers": 4});
    arm
}

pub(crate) fn comparison(arm: &str, metric: &str, primary: bool) -> Value {
    json!({
        "scenario": "small", "sizeBytes": 64, "arm": arm, "metric": metric, "primary": primary,
        "negativeControl": false, "rounds": 6, "effectPpm": -62_000, "lowerPpm": -79_000, "upperPpm": -44_000,
        "verdict": "Improved",
    })
}

//! Test runs with every kind of value in their status.

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
        "minNanos": 3900, "p50Nanos": 4130, "p95Nanos": 5000, "p99Nanos": 6000, "p999Nanos": 70_000,
        "maxNanos": 2_000_000, "bytesPerSecond": 15_496_368, "completionsPerSecond": 242_130,
        "cpuNanosPerGib": 138_500_000_000_u64,
        "optimizations": [{"optimization": "Inject", "engagement": "Confirmed", "reason": "r"}],
    })
}

/// Adds directions, flushes, pings, flows, reads, a first batch, calls and a footprint to an arm's result.
fn with_observations(mut arm: Value) -> Value {
    arm["directions"] = json!({
        "initiatorBytesPerSecond": 2_000_000_000_u64, "targetBytesPerSecond": 1_000_000_000_u64,
        "balancePpm": 500_000,
    });
    arm["flush"] = json!({"p50Nanos": 29_000, "maxNanos": 19_700_000});
    arm["ping"] =
        json!({"idleP99Nanos": 9000, "loadedP99Nanos": 27_000_000, "blockingPpm": 3_000_000_000_u64});
    arm["call"] = json!({
        "payload": "SmallInt", "section": "Successful", "hops": 2, "meanNanos": 31_000, "deviationNanos": 6000,
        "hopNanos": 15_500, "memoryGrowthBytes": 4096,
    });
    arm["footprint"] = json!({
        "section": "Successful", "consumers": 4, "baselineBytes": 9_000_000, "ownBytes": 600_000,
        "consumerBytes": 4_800_000, "consumerRssBytes": 22_000_000, "tensorBytes": 16_777_216,
        "savedBytes": 67_108_864, "savedPpm": 800_000, "slopeBytes": -12,
    });
    arm["flows"] = json!({
        "slowestBytesPerSecond": 2_000_000, "medianBytesPerSecond": 3_000_000, "fastestBytesPerSecond": 4_000_000,
        "slowestReceiverBytesPerSecond": 5_000_000, "fastestReceiverBytesPerSecond": 7_000_000,
        "fairnessPpm": 980_000,
    });
    arm["disturbance"] = json!({"runQueuePpm": 12_000, "foreignCpuPpm": 380_000, "foreignBytes": 5_000_000});
    arm["readBack"] = json!({"p50Nanos": 81_000, "p99Nanos": 250_000});
    arm["firstBatchNanos"] = json!(1_400_000);
    arm["reportedLatencyNanos"] = json!(22_100);
    arm["reportedBytesPerSecond"] = json!(1_740_000_000);
    arm["serving"] = json!({
        "workers": 4, "workersWithoutVersion": 1, "versionLagMeanPpm": 320_000, "versionLagP50": 0, "versionLagP99": 3,
        "versionLagMax": 4, "worstWorkerLagPpm": 350_000, "timeLagP50Nanos": 0, "timeLagP99Nanos": 190_000_000,
        "timeLagMaxNanos": 230_000_000, "published": 60, "publishedNotDeliveredToAll": 7, "pushP50Nanos": 170_000_000,
        "pushMaxNanos": 320_000_000, "pushBytesPerSecond": 60_000_000, "pullP50Nanos": 12_000_000, "storeLagPpm": 310_000,
        "postLagPpm": 110_000, "originalStalenessPpm": 470_000, "coldSteps": 40, "coldNanos": 210_000_000, "torn": 2,
        "datagramsSent": 5000, "datagramsLost": 50, "clockBoundNanos": 21_000,
    });
    arm
}

pub(crate) fn comparison(arm: &str, metric: &str, primary: bool) -> Value {
    json!({
        "scenario": "small", "sizeBytes": 64, "arm": arm, "metric": metric, "primary": primary,
        "negativeControl": false, "rounds": 6, "effectPpm": -62_000, "lowerPpm": -79_000, "upperPpm": -44_000,
        "verdict": "Improved",
    })
}

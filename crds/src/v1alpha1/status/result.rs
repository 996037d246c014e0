//! Results of one arm at one size.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, from_value};

use super::call::{CallResult, FootprintResult};
use super::environment::FabricProof;
use super::optimization::OptimizationResult;
use crate::quantity::{Quantity, Values};
use crate::v1alpha1::Answer;
use crate::v1alpha1::StepTimes;

/// Whether the results of a case are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum CaseValidity {
    /// The results are valid.
    Valid,
    /// The results are invalid. The field `reason` explains why.
    Invalid,
}

/// Results of one arm at one size over all rounds and pairs.
//
// The API server keeps the fields of earlier releases, which the operator then reads as values.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "crd", schemars(extend("x-kubernetes-preserve-unknown-fields" = true)))]
pub struct ArmResult {
    /// Name of the scenario.
    pub scenario: String,
    /// Message or transfer size, in bytes.
    pub size_bytes: u64,
    /// Name of the variant or control arm.
    pub arm: String,
    /// Number of rounds with a valid case.
    pub valid_rounds: u32,
    /// Whether the arm has at least one valid result.
    pub validity: CaseValidity,
    /// Reason that cases are invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Measured values: integers by the name of the quantity, which contains the unit, such as latencyP50Nanos. The list of
    /// all quantities is in docs/quantities.md, and "fabricbench explain NAME" prints an entry of it. A quantity that was not
    /// measured has no value.
    #[serde(default, skip_serializing_if = "Values::is_empty")]
    pub values: Values,
    /// Outcome of calls (rpc). Unset for other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallResult>,
    /// Outcome of a memoryFootprint. Unset for other workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub footprint: Option<FootprintResult>,
    /// Engagement of each optimization that the arm requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub optimizations: Vec<OptimizationResult>,
    /// Level of proof that the data used the requested fabric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fabric: Option<FabricProof>,
    /// Whether the provider emulated RMA operations with messages, or copied GPU memory through host memory. Unset if
    /// neither is possible: for other operations on host memory, and for transports without a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulated: Option<Answer>,
    /// Up to four protocols that the library used for the operation at this size in round 0. Empty if the library does
    /// not report protocols.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protocols: Vec<ProtocolResult>,
}

/// Protocol that the library used for a scenario's operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProtocolResult {
    /// Description of the protocol, as reported by the library, such as "zero-copy" or "software emulation".
    pub description: String,
    /// Transports and devices of the protocol, such as "tcp/lo".
    pub lanes: String,
    /// Number of times the protocol was started for this operation, summed over the workers. Protocols that split a
    /// message are counted once per fragment, and some calls for small messages are not counted.
    pub count: u64,
    /// Time spent in each step of the transfers. These times are evidence, not results. Unset for libraries with one
    /// call per transfer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<StepTimes>,
}

impl ArmResult {
    /// Returns the value of `quantity`, if it was measured.
    pub fn value(&self, quantity: Quantity) -> Option<i64> {
        self.values.get(quantity)
    }
}

/// A stored result, in which earlier releases had a field for each value, some of them in objects such as `flush`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredResult {
    scenario: String,
    size_bytes: u64,
    arm: String,
    valid_rounds: u32,
    validity: CaseValidity,
    reason: Option<String>,
    #[serde(default)]
    values: Values,
    call: Option<Value>,
    footprint: Option<Value>,
    #[serde(default)]
    optimizations: Vec<OptimizationResult>,
    fabric: Option<FabricProof>,
    emulated: Option<Answer>,
    #[serde(default)]
    protocols: Vec<ProtocolResult>,
    #[serde(flatten)]
    earlier: BTreeMap<String, Value>,
}

impl<'de> Deserialize<'de> for ArmResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = StoredResult::deserialize(deserializer)?;
        let mut earlier = stored.earlier;
        let objects = [("call", &stored.call), ("footprint", &stored.footprint)];
        earlier.extend(objects.map(|(name, object)| (name.to_owned(), object.clone().unwrap_or_default())));
        let mut values = stored.values;
        add_earlier(&mut values, &earlier);
        Ok(Self {
            scenario: stored.scenario,
            size_bytes: stored.size_bytes,
            arm: stored.arm,
            valid_rounds: stored.valid_rounds,
            validity: stored.validity,
            reason: stored.reason,
            values,
            call: stored
                .call
                .map(from_value)
                .transpose()
                .map_err(D::Error::custom)?,
            footprint: stored
                .footprint
                .map(from_value)
                .transpose()
                .map_err(D::Error::custom)?,
            optimizations: stored.optimizations,
            fabric: stored.fabric,
            emulated: stored.emulated,
            protocols: stored.protocols,
        })
    }
}

/// Adds the values of fields that earlier releases wrote. Their quantities have the name of the object and the field, such
/// as `flushP50Nanos` for `flush.p50Nanos`, and the latencies of the arm have the prefix `latency`.
fn add_earlier(values: &mut Values, earlier: &BTreeMap<String, Value>) {
    let mut add = |quantity: Option<Quantity>, value: &Value| {
        if let (Some(quantity), Some(value)) = (quantity, value.as_i64()) {
            values.insert_if_absent(quantity, value);
        }
    };
    for (name, value) in earlier {
        add(
            Quantity::from_name(name).or_else(|| prefixed("latency", name)),
            value,
        );
        for (field, value) in value.as_object().into_iter().flatten() {
            add(prefixed(name, field), value);
        }
    }
}

/// The quantity named after an object and its field.
fn prefixed(object: &str, field: &str) -> Option<Quantity> {
    let (first, rest) = field.split_at_checked(1)?;
    Quantity::from_name(&format!("{object}{}{rest}", first.to_ascii_uppercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_earlier_releases_become_quantities() {
        let stored = r#"{
            "scenario": "small", "sizeBytes": 64, "arm": "base", "validRounds": 6, "validity": "Valid", "iterations": 900,
            "p50Nanos": 4130, "p999Nanos": 70000, "minNanos": 3900, "bytesPerSecond": 15496368, "cpuPercent": 99,
            "flush": {"p50Nanos": 29000, "maxNanos": 19700000},
            "call": {"payload": "SmallInt", "section": "Successful", "hops": 2, "meanNanos": 31000},
            "footprint": {"section": "Failed", "cause": "Timeout", "consumers": 4, "slopeBytes": -12},
            "serving": {"workers": 4, "versionLagMeanPpm": 320000},
            "disturbance": {"runQueuePpm": 12000}
        }"#;
        let result: ArmResult = serde_json::from_str(stored).unwrap();
        let values = [
            (Quantity::LatencyP50Nanos, 4130),
            (Quantity::LatencyP999Nanos, 70_000),
            (Quantity::LatencyMinNanos, 3900),
            (Quantity::BytesPerSecond, 15_496_368),
            (Quantity::CpuPercent, 99),
            (Quantity::Iterations, 900),
            (Quantity::FlushP50Nanos, 29_000),
            (Quantity::FlushMaxNanos, 19_700_000),
            (Quantity::CallMeanNanos, 31_000),
            (Quantity::FootprintSlopeBytes, -12),
            (Quantity::ServingWorkers, 4),
            (Quantity::ServingVersionLagMeanPpm, 320_000),
            (Quantity::DisturbanceRunQueuePpm, 12_000),
        ];
        assert_eq!(result.values, Values::from_iter(values));
        assert_eq!(
            (result.call.unwrap().hops, result.footprint.unwrap().consumers),
            (2, 4)
        );
    }

    #[test]
    fn written_result_is_read_unchanged() {
        let text = r#"{"scenario":"s","sizeBytes":64,"arm":"a","validRounds":1,"validity":"Valid","values":{"latencyP50Nanos":1}}"#;
        let result: ArmResult = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&result).unwrap(), text);
    }
}

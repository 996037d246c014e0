//! Measurement report, as it is written to JSON. Performs no I/O.

use std::collections::BTreeMap;

use crds::assignment::{Extent, Pass};
use crds::record::{
    CaseFailure, CaseRecord, CaseResult, ColdRecord, EndRecord, FabricFacts, HostEnvironment,
    IntegrityReport, InterfaceDelta, ProtocolUse, Record, WarningRecord,
};
use crds::v1alpha1::{Answer, MemoryKind};
use serde::Serialize;

use super::assignment::{CLIENT, SERVER};
use super::metrics::{self, ComputedMetrics, Metrics};
use super::request::{Request, RequestedScenario, RequestedTransport};
use super::software;
use super::trace::SideSamples;

/// Version of the JSON document.
const REPORT_VERSION: u32 = 1;

/// Report on a measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Version of the document.
    pub version: u32,
    /// Identifier of the run.
    pub run_id: String,
    /// Time at which the measurement started (RFC 3339, UTC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// Requested library and transports.
    pub transport: RequestedTransport,
    /// Kind of memory on both sides.
    pub memory: MemoryKind,
    /// Kind of memory on both sides for the last half of the threads, if it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_memory: Option<MemoryKind>,
    /// Client, which posts first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<Side>,
    /// Server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<Side>,
    /// Scenarios in measurement order.
    pub scenarios: Vec<ScenarioReport>,
    /// Warnings about the measurement.
    pub warnings: Vec<WarningRecord>,
    /// Why the measurement ended early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<CaseFailure>,
}

/// One side of the measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Side {
    /// Version of the runner.
    pub runner_version: String,
    /// Machine, its hardware and its limits.
    pub environment: HostEnvironment,
    /// Library, its version, its rails and their lanes, as reported by the library. Unset if no endpoint was opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fabric: Option<FabricFacts>,
    /// Protocols that the library used during the verification, which is not timed. Empty if the library does not
    /// report them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub protocols: Vec<ProtocolUse>,
    /// Setup costs of the endpoints that were measured. Unset if none were measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cold: Option<ColdRecord>,
}

/// Report of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScenarioReport {
    /// Name of the scenario.
    pub name: &'static str,
    /// What the scenario transfers.
    #[serde(skip)]
    pub description: &'static str,
    /// Size of a message, in bytes.
    pub size_bytes: u64,
    /// Number of measured operations, in each direction. Unset for a scenario that runs for a fixed duration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u32>,
    /// Number of warm-up operations, in each direction.
    pub warmup: u32,
    /// Maximum number of operations in flight, in each direction.
    pub in_flight: u32,
    /// Whether the scenario was measured.
    pub state: ScenarioState,
    /// Whether the library executed the scenario's RMA operations in software on either side. Empty if the scenario has
    /// no such operations, or if the question does not apply to the library.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub emulated: BTreeMap<&'static str, Answer>,
    /// Result of the run in which all bytes were verified, before the measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub integrity: Option<IntegrityReport>,
    /// Metrics of the scenario. Unset if the scenario was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Metrics>,
    /// CPU time of each side. Unset if the scenario was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_percent: Option<CpuPercent>,
    /// Reasons for omitted metrics, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub omitted: BTreeMap<String, String>,
    /// Disturbances during the measurement.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Why the scenario was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Changes in the byte counters of the client's network interfaces during the measurement, which show that the
    /// payload used these interfaces.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub client_interfaces: Vec<InterfaceDelta>,
    /// Samples of all operations, by side. Set only on request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<SideSamples>,
}

/// CPU time of each side as a percentage of the window length: 100 is one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CpuPercent {
    /// CPU time of the client.
    pub client: f64,
    /// CPU time of the server.
    pub server: f64,
}

/// Whether a scenario was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum ScenarioState {
    /// The scenario was measured.
    Measured,
    /// The scenario failed, or its result cannot be correct.
    Failed,
    /// The measurement ended before the scenario started.
    NotRun,
}

impl Report {
    /// Builds the report for `request` from the attempt's records and the samples of its cases.
    pub fn new(request: &Request, records: &[Record], samples: Vec<SideSamples>) -> Self {
        let hello = records.iter().find_map(|record| match record {
            Record::Hello(hello) => Some(hello),
            _ => None,
        });
        let end: Option<&EndRecord> = records.iter().find_map(|record| match record {
            Record::End(end) => Some(end),
            _ => None,
        });
        let protocols = software::reported_protocols(records);
        let transport = request.transport_spec();
        let excluded = software::excluded_protocol(&transport, &protocols);
        let sides = [CLIENT, SERVER].map(|rank| side(records, rank));
        let fabrics = sides.each_ref().map(|side| side.as_ref()?.fabric.as_ref());
        let scenarios = request
            .scenarios
            .iter()
            .map(|scenario| {
                let samples = samples.iter().filter(|side| side.scenario == scenario.name());
                let mut report = ScenarioReport::new(scenario, records, fabrics, samples.cloned().collect());
                report.emulated =
                    software::emulated_operations(scenario, &transport, request.memory, fabrics, &protocols);
                if let Some(reason) = &excluded {
                    report.fail(format!(
                        "the library used a transport or protocol that the request excludes: {reason}"
                    ));
                }
                report
            })
            .collect();
        let warnings = records.iter().filter_map(|record| match record {
            Record::Warning(warning) => Some(warning.clone()),
            _ => None,
        });
        let warnings = warnings.collect();
        let started_at = hello.map(|hello| hello.started_at.clone());
        let [client, server] = sides;
        Self {
            version: REPORT_VERSION,
            run_id: request.run_id.clone(),
            started_at,
            transport: request.transport.clone(),
            memory: request.memory,
            second_memory: request
                .scenarios
                .iter()
                .find_map(|scenario| Some(scenario.workload().second_memory()?.0)),
            client,
            server,
            scenarios,
            warnings,
            failure: end.and_then(|end| end.failure.clone()),
        }
    }

    /// Names of the scenarios that were not measured.
    pub fn not_measured(&self) -> Vec<&'static str> {
        let scenarios = self.scenarios.iter();
        scenarios
            .filter(|scenario| scenario.state != ScenarioState::Measured)
            .map(|scenario| scenario.name)
            .collect()
    }
}

/// Returns the side with rank `rank`; `None` if it did not join.
fn side(records: &[Record], rank: u32) -> Option<Side> {
    let hello = records.iter().find_map(|record| match record {
        Record::Hello(hello) if hello.rank == rank => Some(hello),
        _ => None,
    })?;
    // The last record also contains the lanes, which some libraries choose only when they connect.
    let fabric = records.iter().rev().find_map(|record| match record {
        Record::Endpoints(endpoints) if endpoints.rank == rank => endpoints.fabric.clone(),
        _ => None,
    });
    // Records of round 0 are excluded, because the verification uses different endpoints than the measurement.
    let cold = records.iter().rev().find_map(|record| match record {
        Record::Cold(cold) if cold.rank == rank && cold.round > 0 => Some(cold.clone()),
        _ => None,
    });
    let protocols = records.iter().find_map(|record| match record {
        Record::Protocols(protocols) if protocols.rank == rank => Some(protocols.protocols.clone()),
        _ => None,
    });
    Some(Side {
        protocols: protocols.unwrap_or_default(),
        cold,
        runner_version: hello.runner_version.clone(),
        environment: hello.environment.clone(),
        fabric,
    })
}

impl ScenarioReport {
    fn new(
        scenario: &RequestedScenario,
        records: &[Record],
        fabrics: [Option<&FabricFacts>; 2],
        samples: Vec<SideSamples>,
    ) -> Self {
        let workload = scenario.workload();
        let mut report = Self {
            name: scenario.name(),
            description: scenario.description(),
            size_bytes: scenario.size_bytes(),
            iterations: scenario.iterations(),
            warmup: match workload.warmup() {
                Extent::Iterations(count) => count.saturating_mul(scenario.threads()),
                Extent::DurationNanos(_) | Extent::FillWindow { .. } => 0,
            },
            in_flight: scenario.in_flight(),
            state: ScenarioState::NotRun,
            emulated: BTreeMap::new(),
            integrity: None,
            metrics: None,
            cpu_percent: None,
            omitted: BTreeMap::new(),
            warnings: Vec::new(),
            failure: None,
            client_interfaces: Vec::new(),
            samples,
        };
        let cases = records.iter().filter_map(|record| match record {
            Record::Case(case) if case.scenario == scenario.name() => Some(case),
            _ => None,
        });
        for case in cases {
            report.add(scenario, case, fabrics);
        }
        report
    }

    /// Adds the result of a case. A scenario whose bytes were not transferred correctly has no metrics.
    fn add(&mut self, scenario: &RequestedScenario, case: &CaseRecord, fabrics: [Option<&FabricFacts>; 2]) {
        match &case.result {
            CaseResult::Failed(failure) => {
                let pass = match case.pass {
                    Pass::Integrity => "verification: ",
                    Pass::Pilot | Pass::Measure => "",
                };
                self.fail(format!("{pass}{:?}: {}", failure.reason, failure.message));
            }
            CaseResult::Checked(integrity) => {
                if let Some(reason) = integrity_failure(integrity) {
                    self.fail(reason);
                }
                self.integrity = Some(integrity.clone());
            }
            CaseResult::Measured(measurement) => {
                self.client_interfaces = measurement.initiator.interfaces.clone();
                if self.state == ScenarioState::Failed {
                    return;
                }
                match metrics::compute(scenario, measurement, fabrics) {
                    Ok(ComputedMetrics {
                        metrics,
                        omitted,
                        warnings,
                    }) => {
                        self.state = ScenarioState::Measured;
                        self.metrics = Some(metrics);
                        self.cpu_percent = Some(CpuPercent {
                            client: metrics::cpu_percent(&measurement.initiator),
                            server: metrics::cpu_percent(&measurement.target),
                        });
                        self.omitted = omitted;
                        self.warnings = warnings;
                    }
                    Err(reason) => self.fail(format!("the result cannot be correct: {reason}")),
                }
            }
        }
    }

    fn fail(&mut self, reason: String) {
        self.state = ScenarioState::Failed;
        self.metrics = None;
        self.cpu_percent = None;
        self.failure.get_or_insert(reason);
    }
}

/// Why the bytes were not transferred correctly; `None` if they were.
fn integrity_failure(report: &IntegrityReport) -> Option<String> {
    if let Some(mismatch) = &report.first_mismatch {
        return Some(format!(
            "verification: thread {}, {}transfer {} contains {:#04x} instead of {:#04x} at byte {}",
            mismatch.thread,
            mismatch
                .batch
                .map_or_else(String::new, |batch| format!("batch {batch}, ")),
            mismatch.transfer,
            mismatch.found,
            mismatch.expected,
            mismatch.offset_bytes
        ));
    }
    let wrong = report.crc32c_expected != report.crc32c_found
        || report.torn_chunks > 0
        || report.duplicated_chunks > 0;
    if wrong {
        return Some("verification: the checksums differ, or chunks are incomplete or duplicated".into());
    }
    (report.transfers == 0 || report.bytes == 0).then(|| "verification: no byte was checked".into())
}

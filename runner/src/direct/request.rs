//! Client request: transport, scenarios and settings, with their bounds. Performs no I/O.
//!
//! A request can only select scenarios and numbers. It contains no path, no environment variable and no library
//! setting, so that a client cannot make the server load or write a file.

pub mod bounds;
mod limits;
mod scenario;
mod segment;
mod transport;

use std::collections::BTreeSet;

use crds::v1alpha1::{MemoryKind, TransportSpec, Ucx, UcxEmulation};
use serde::{Deserialize, Serialize};
use snafu::ensure;

use bounds::{RequestSnafu, check_within};

pub use bounds::{MAX_OPERATIONS, RequestError};
pub use limits::{AcceptedScenarios, DEFAULT_MAX_BYTES, Limits, Roles, SegmentLimits};
pub use scenario::{RequestedScenario, SEGMENT_TRANSFER};
pub use segment::{
    MAX_REQUEST_BYTES, MAX_SEGMENT_BYTES, check_segment_transfer, check_time_limit, memory_names,
    offered_bytes,
};
pub use transport::{RequestedTransport, transport_names};

/// Maximum case timeout, in seconds.
pub const MAX_CASE_SECONDS: u32 = 3600;
/// Number of hexadecimal digits in a run identifier.
const RUN_ID_DIGITS: usize = 32;

/// Transport, scenarios and settings that a client requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Request {
    /// Random identifier of the run, in hexadecimal. Every later message contains it.
    pub run_id: String,
    /// Library and transports.
    pub transport: RequestedTransport,
    /// Kind of memory on both sides.
    pub memory: MemoryKind,
    /// Scenarios, in the order in which they are measured.
    pub scenarios: Vec<RequestedScenario>,
    /// Whether every scenario is first run once outside the measurement to verify all bytes.
    pub integrity: bool,
    /// Maximum duration of a scenario, in seconds.
    pub case_timeout_seconds: u32,
    /// Segment that the client expects at the server's address. Set only if the client found the address in a metadata
    /// service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<ExpectedSegment>,
    /// Whether UCX may emulate reads and writes with messages.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_emulation: bool,
}

/// Segment that a client expects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExpectedSegment {
    /// Name of the segment.
    pub name: String,
    /// Identifier of the target run that published it.
    pub run: String,
}

impl Request {
    /// Checks that the request is within `limits`.
    ///
    /// # Errors
    /// Returns an error that names the flag of the first value that is out of bounds.
    pub fn check(&self, limits: &Limits) -> Result<(), RequestError> {
        let is_id = self.run_id.len() == RUN_ID_DIGITS
            && self
                .run_id
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        ensure!(
            is_id,
            RequestSnafu {
                flag: "the run identifier",
                reason: format!("is not a string of {RUN_ID_DIGITS} lowercase hexadecimal digits"),
            }
        );
        self.transport.check(limits.transport.as_ref())?;
        check_within("--case-timeout", self.case_timeout_seconds, bounds::CASE_SECONDS)?;
        ensure!(
            !self.scenarios.is_empty(),
            RequestSnafu {
                flag: "--scenarios",
                reason: "is empty: choose at least one scenario, or `all`",
            }
        );
        let mut names = BTreeSet::new();
        for scenario in &self.scenarios {
            ensure!(
                names.insert(scenario.name()),
                RequestSnafu {
                    flag: "--scenarios",
                    reason: format!("contains {} twice: specify it once", scenario.name()),
                }
            );
            match (&limits.accepted, scenario) {
                (AcceptedScenarios::Segment(limits), RequestedScenario::SegmentTransfer(scenario)) => {
                    self.check_segment(scenario, limits)?;
                }
                (AcceptedScenarios::Segment(limits), _) => {
                    return Err(RequestError::new(
                        "--scenarios",
                        format!(
                            "cannot be measured with the segment {}: start `fabricbench-runner serve` on the other machine",
                            limits.name
                        ),
                    ));
                }
                (AcceptedScenarios::Suite { .. }, RequestedScenario::SegmentTransfer(_)) => {
                    return Err(RequestError::new(
                        "--remote-segment",
                        "refers to a server without a segment: start `fabricbench-runner target` on the other machine",
                    ));
                }
                (AcceptedScenarios::Suite { max_bytes }, _) => scenario.check(*max_bytes)?,
            }
        }
        Ok(())
    }

    /// Returns the commands that exchange this request.
    pub fn roles(&self) -> Roles {
        let is_of_segment =
            |scenario: &RequestedScenario| matches!(scenario, RequestedScenario::SegmentTransfer(_));
        match self.scenarios.iter().any(is_of_segment) {
            true => Roles::SEGMENT,
            false => Roles::SUITE,
        }
    }

    /// Library and provider as a transport spec.
    pub fn transport_spec(&self) -> TransportSpec {
        match self.transport.spec() {
            TransportSpec::Ucx(spec) if self.allow_emulation => TransportSpec::Ucx(Ucx {
                emulation: UcxEmulation::Allow,
                ..spec
            }),
            spec => spec,
        }
    }
}

#[cfg(test)]
mod tests;

//! Results that only some workloads have.

use super::footprint::summary::FootprintSummary;
use super::parameter_serving::summary::Serving;
use super::rpc::summary::CallSummary;

/// Results that only some workloads have.
#[derive(Debug, Default)]
pub struct OwnResults {
    /// Calls.
    pub call: Option<CallSummary>,
    /// Memory use of a host and its consumers.
    pub footprint: Option<FootprintSummary>,
    /// Staleness in parameter serving.
    pub serving: Option<Serving>,
}

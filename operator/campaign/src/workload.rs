//! What plans, checks and results depend on in each workload, in one module for each. A workload is registered once
//! here.

mod cell_cases;
mod command;
mod description;
mod flows;
pub(crate) mod footprint;
mod given;
mod own_results;
pub(crate) mod parameter_serving;
mod ping_pong;
pub(crate) mod rpc;
mod rules;
mod segment_transfer;
mod starway;
mod transfer;

use crds::assignment::Workload;
use crds::v1alpha1::ScenarioWorkload;

pub use cell_cases::CellCases;
pub(crate) use given::{Context, GivenWorkload};
pub use own_results::OwnResults;
pub(crate) use rules::add;
pub use rules::{Speed, WorkloadRules};

/// The validation of `workload`.
pub(crate) fn given(workload: ScenarioWorkload<'_>) -> &dyn GivenWorkload {
    match workload {
        ScenarioWorkload::PingPong(given) => given,
        ScenarioWorkload::Transfer(given) => given,
        ScenarioWorkload::LargeArray(given) => given,
        ScenarioWorkload::SmallMessages(given) => given,
        ScenarioWorkload::PingpongFlag(given) => given,
        ScenarioWorkload::StreamingDuplex(given) => given,
        ScenarioWorkload::SegmentTransfer(given) => given,
        ScenarioWorkload::Rpc(given) => given,
        ScenarioWorkload::MemoryFootprint(given) => given,
        ScenarioWorkload::ParameterServing(given) => given,
        ScenarioWorkload::Command(given) => given,
    }
}

/// The rules of `workload`.
pub fn rules(workload: &Workload) -> &dyn WorkloadRules {
    match workload {
        Workload::PingPong(work) => work,
        Workload::Transfer(work) => work,
        Workload::Rpc(work) => work,
        Workload::MemoryFootprint(work) => work,
        Workload::ParameterServing(work) => work,
        Workload::Command(work) => work,
    }
}

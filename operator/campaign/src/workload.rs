//! What plans, checks and results depend on in each workload, in one file for each. A workload is registered once here.

mod command;
mod footprint;
mod parameter_serving;
mod ping_pong;
mod rpc;
mod rules;
mod transfer;

use crds::assignment::Workload;

pub(crate) use rules::add;
pub use rules::{Speed, WorkloadRules};

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

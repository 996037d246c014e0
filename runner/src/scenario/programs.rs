//! The programs of all workloads. A workload is registered once here.

use crds::assignment::Workload;

use super::case::Case;
use super::parameter_serving::Serving;
use super::program::Program;
use crate::transport::Transport;

/// Program of `case` on this side, of which `flows` run concurrently with the same workload.
pub(super) fn program<'a, T: Transport>(case: &Case<'a>, flows: u32) -> Box<dyn Program<T> + 'a> {
    match &case.scenario.workload {
        Workload::PingPong(work) => Box::new(work),
        Workload::Transfer(work) => Box::new(work),
        Workload::Rpc(work) => Box::new(work),
        Workload::MemoryFootprint(work) => Box::new(work),
        Workload::ParameterServing(work) => Box::new(Serving::new(work, case.seed, flows)),
        Workload::Command(work) => Box::new(work),
    }
}

//! Workloads, each with its parameters and its properties in one file. A workload is registered once here.

pub(crate) mod command;
mod extent;
pub(crate) mod footprint;
pub(crate) mod parameter_serving;
pub(crate) mod ping_pong;
mod properties;
pub(crate) mod rpc;
pub(crate) mod segment_transfer;
pub(crate) mod starway;
pub(crate) mod transfer;

use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};

pub use command::{COMMAND_PORTS, CommandWorkload};
pub use extent::{Extent, OperationCount};
pub use footprint::FootprintWorkload;
pub use parameter_serving::{Delivery, MulticastDelivery, SERVING_SLOTS, ServingWorkload};
pub use ping_pong::PingPongWorkload;
use properties::process_limit;
pub use properties::{Inconsistency, Tool, WorkloadProperties};
pub use rpc::RpcWorkload;
pub use starway::CountedWorkload;
pub use transfer::{TransferMode, TransferWorkload};

/// Workload of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Workload {
    /// Ping-pong with one message in flight.
    PingPong(PingPongWorkload),
    /// Transfers with many messages in flight.
    Transfer(TransferWorkload),
    /// Calls between isolated processes.
    Rpc(RpcWorkload),
    /// Distribution of a tensor to processes whose memory is measured.
    MemoryFootprint(FootprintWorkload),
    /// One trainer that publishes parameters to several workers.
    ParameterServing(ServingWorkload),
    /// Runs of a benchmark command.
    Command(CommandWorkload),
}

impl Deref for Workload {
    type Target = dyn WorkloadProperties;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::PingPong(work) => work,
            Self::Transfer(work) => work,
            Self::Rpc(work) => work,
            Self::MemoryFootprint(work) => work,
            Self::ParameterServing(work) => work,
            Self::Command(work) => work,
        }
    }
}

impl DerefMut for Workload {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::PingPong(work) => work,
            Self::Transfer(work) => work,
            Self::Rpc(work) => work,
            Self::MemoryFootprint(work) => work,
            Self::ParameterServing(work) => work,
            Self::Command(work) => work,
        }
    }
}

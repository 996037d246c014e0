//! Opens the endpoints and memory of one arm with a given transport type.

use std::collections::BTreeMap;

use crds::assignment::{ArmAssignment, Assignment};
use crds::v1alpha1::Polling;

use super::arm::{Arm, OpenedArm};
use crate::arm_endpoints::{ArmEndpoints, Buffers};
use crate::scenario::CommandSite;
use crate::transport::{OpenConfig, Transport, TransportError};

/// Everything needed to open an arm, except for the transport type.
pub(super) struct OpenArm<'a> {
    pub(super) config: OpenConfig,
    pub(super) polling: Polling,
    pub(super) arm: &'a ArmAssignment,
    pub(super) assignment: &'a Assignment,
    pub(super) cpus: &'a [u32],
    pub(super) rank: u32,
    pub(super) host: &'a str,
    pub(super) buffers: &'a mut Buffers,
}

/// Opens the arm described by `opening` with transport `T`.
///
/// # Errors
/// Returns an error if the transport cannot be opened as configured.
pub(super) fn open_arm<T: Transport + 'static>(opening: OpenArm<'_>) -> Result<Box<dyn Arm>, TransportError> {
    let endpoints = ArmEndpoints::<T>::open(
        opening.arm,
        opening.assignment,
        &opening.config,
        opening.polling,
        opening.cpus,
        opening.buffers,
    )?;
    let assigned = opening.arm.clone();
    Ok(Box::new(OpenedArm {
        endpoints,
        assigned,
        rank: opening.rank,
        many_to_many: opening.assignment.many_to_many,
        peer_hosts: BTreeMap::new(),
        site: CommandSite {
            own_address: opening.host.to_owned(),
            peer_address: String::new(),
            cpus: opening.cpus.to_vec(),
        },
    }))
}

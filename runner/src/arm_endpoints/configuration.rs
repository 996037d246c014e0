//! Configurations with which the transports of an arm are opened. Performs no I/O.

use std::path::PathBuf;

use crds::assignment::{ArmAssignment, Assignment};
use crds::v1alpha1::{MemoryKind, Polling};

use super::layout;
use crate::topology::Location;
use crate::transport::OpenConfig;

/// Creates the configuration for opening the transport of `arm` on worker `rank`.
pub fn open_config(arm: &ArmAssignment, assignment: &Assignment, rank: u32) -> OpenConfig {
    let binding = assignment.bindings.get(rank as usize);
    let process = assignment.processes.get(arm.process as usize);
    let scenarios = &assignment.scenarios;
    let spec = process.map_or(&assignment.transport, |process| assignment.transport_of(process));
    // Bindings name NICs, which not all transports use.
    let binding = binding.filter(|_| spec.uses_nics());
    OpenConfig {
        spec: spec.clone(),
        rails: binding.map(|binding| binding.rails.clone()).unwrap_or_default(),
        library: process
            .and_then(|process| process.library.clone())
            .map(PathBuf::from),
        inject_bytes: arm.inject_max_bytes,
        depth: layout::depth(assignment),
        uses_wait: scenarios
            .iter()
            .any(|scenario| scenario.polling == Some(Polling::Wait)),
        device_memory: scenarios.iter().any(|scenario| scenario.uses(MemoryKind::Cuda)),
        location: assignment.devices.numa_node.map(Location::NumaNode),
        rank,
        // Each flow of the many-to-many pattern has its own endpoints.
        peers: match assignment.many_to_many {
            Some(_) => 1,
            None => assignment.workers.saturating_sub(1) as usize,
        },
        counts_protocols: false,
    }
}

/// Configuration with which measuring thread `number` opens its transport. Rail sources in the assignment's bindings
/// take precedence over the NICs in the assignment's `devices`.
pub(super) fn thread_config(config: &OpenConfig, assignment: &Assignment, number: usize) -> OpenConfig {
    let mut config = config.clone();
    if config.rails.is_empty() {
        let nics = assignment.devices.nics(number, config.spec.rails());
        config.rails = nics.to_vec();
    }
    config
}

/// Polling mode of worker `rank` for scenarios that do not set one: spin if there is a CPU for each measuring thread,
/// otherwise yield.
pub fn default_polling(cpus: usize, assignment: &Assignment, rank: u32) -> Polling {
    if cpus >= layout::thread_count(assignment, rank) as usize {
        Polling::Spin
    } else {
        Polling::Yield
    }
}

//! Assignment of a process that only registers a segment. Performs no I/O.

use std::net::SocketAddr;

use crds::assignment::{
    ASSIGNMENT_VERSION, ArmAssignment, Assignment, AttemptIdentity, Extent, InstrumentProcess, RankBinding,
    Rendezvous, ScenarioAssignment,
};
use crds::striping::{COALESCE_MIN_CHUNK_BYTES, NIXL_THRESHOLD_BYTES, StripingPolicy, StripingRule};
use crds::v1alpha1::{Alignment, Devices, RpcChannel, TransportSpec};

use super::flags::SegmentFlags;
use crate::direct::bounds::FlagError;
use crate::direct::session::LocalChoices;

/// Assignment with the scenario of `flags` and without rounds, for a process at `address` that connects to no other worker.
///
/// # Errors
/// Returns an error if the flags contradict each other.
pub(super) fn assignment(
    flags: &SegmentFlags,
    transport: &TransportSpec,
    address: SocketAddr,
    choices: LocalChoices,
) -> Result<Assignment, FlagError> {
    let scenario = flags.scenario();
    let nanos = u64::try_from(scenario.duration.0.as_nanos()).unwrap_or(u64::MAX);
    Ok(Assignment {
        version: ASSIGNMENT_VERSION,
        identity: AttemptIdentity {
            run: super::NAME.to_owned(),
            uid: String::new(),
            plan_hash: String::new(),
            leg: 0,
            attempt: 1,
        },
        workers: 2,
        many_to_many: None,
        rendezvous: Rendezvous {
            host: address.ip().to_string(),
            bind: address.ip().to_string(),
            port: address.port(),
            timeout_seconds: 1,
        },
        transport: transport.clone(),
        devices: Devices::default(),
        align: Alignment::None,
        // The process reads only the element for its own rank.
        bindings: vec![
            RankBinding {
                rails: choices.rails,
                cpus: Vec::new(),
            };
            2
        ],
        processes: vec![InstrumentProcess {
            env: choices.env,
            library: choices.library,
            transport: None,
        }],
        scenarios: vec![ScenarioAssignment {
            name: super::NAME.to_owned(),
            memory: flags.memory()?,
            target_memory: None,
            polling: None,
            max_size_bytes: flags.size.bytes(),
            workload: scenario.workload(Extent::DurationNanos(nanos)),
        }],
        arms: vec![ArmAssignment {
            name: "baseline".to_owned(),
            process: 0,
            inject_max_bytes: None,
            doorbell_max_batch: None,
            channel: RpcChannel::Transport,
            arguments: Vec::new(),
            striping: StripingRule {
                policy: StripingPolicy::Nixl,
                threshold_bytes: NIXL_THRESHOLD_BYTES,
                min_chunk_bytes: COALESCE_MIN_CHUNK_BYTES,
            },
        }],
        operation_counts: Vec::new(),
        rounds: Vec::new(),
        case_deadline_seconds: 1,
        assessed_variables: None,
    })
}

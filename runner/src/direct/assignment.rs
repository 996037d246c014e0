//! Builds the assignment for a request. Performs no I/O.
//!
//! Both sides build it from the same request, so their assignments differ only in the choices that each side makes for
//! itself: its library directory, its rail devices and its instrument's environment.

use std::collections::BTreeMap;

use crds::assignment::{
    ASSIGNMENT_VERSION, ArmAssignment, Assignment, AttemptIdentity, BlockAssignment, InstrumentProcess, Pass,
    RankBinding, Rendezvous, RoundAssignment, ScenarioAssignment,
};
use crds::record::hex;
use crds::striping::{COALESCE_MIN_CHUNK_BYTES, NIXL_THRESHOLD_BYTES, StripingPolicy, StripingRule};
use crds::v1alpha1::{Alignment, Devices, RpcChannel};
use sha2::{Digest, Sha256};

use super::request::{Request, RequestedScenario};

/// How a message is split across several rails.
pub(super) const STRIPING: StripingRule = StripingRule {
    policy: StripingPolicy::Nixl,
    threshold_bytes: NIXL_THRESHOLD_BYTES,
    min_chunk_bytes: COALESCE_MIN_CHUNK_BYTES,
};

/// Rank of the client, which coordinates and posts first.
pub const CLIENT: u32 = 0;
/// Rank of the server.
pub const SERVER: u32 = 1;

/// Choices that each side makes for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalChoices {
    /// Directory whose libraries are loaded instead of the system libraries.
    pub library: Option<String>,
    /// Source address or device name of each rail. If empty, the worker chooses the rails.
    pub rails: Vec<String>,
    /// Environment variables to set for the instrument, in addition to those of this process.
    pub env: BTreeMap<String, String>,
}

/// Builds the assignment for `request`, for a side with the given choices.
pub fn assignment(request: &Request, rendezvous: Rendezvous, local: &LocalChoices) -> Assignment {
    let numbered = || request.scenarios.iter().enumerate();
    let count = request.scenarios.len() as u32;
    let integrity = request.integrity.then(|| RoundAssignment {
        blocks: numbered()
            .map(|(index, scenario)| block(index as u32, Pass::Integrity, index, scenario))
            .collect(),
        ..empty_round(0)
    });
    let measured = RoundAssignment {
        blocks: numbered()
            .map(|(index, scenario)| block(count + index as u32, Pass::Measure, index, scenario))
            .collect(),
        ..empty_round(1)
    };
    Assignment {
        version: ASSIGNMENT_VERSION,
        identity: identity(request),
        workers: 2,
        many_to_many: None,
        rendezvous,
        transport: request.transport_spec(),
        devices: Devices::default(),
        align: Alignment::None,
        // Each side reads only the element for its own rank.
        bindings: vec![
            RankBinding {
                rails: local.rails.clone(),
                cpus: Vec::new(),
            };
            2
        ],
        processes: vec![InstrumentProcess {
            env: local.env.clone(),
            library: local.library.clone(),
            transport: None,
        }],
        scenarios: request
            .scenarios
            .iter()
            .map(|scenario| ScenarioAssignment {
                name: scenario.name().into(),
                memory: request.memory,
                target_memory: None,
                polling: None,
                workload: scenario.workload(),
                max_size_bytes: scenario.size_bytes(),
            })
            .collect(),
        arms: vec![ArmAssignment {
            name: "baseline".into(),
            process: 0,
            inject_max_bytes: None,
            doorbell_max_batch: None,
            channel: RpcChannel::Transport,
            arguments: Vec::new(),
            striping: STRIPING,
        }],
        operation_counts: Vec::new(),
        rounds: integrity.into_iter().chain([measured]).collect(),
        case_deadline_seconds: request.case_timeout_seconds,
        assessed_variables: None,
    }
}

/// Identity of the attempt: the run identifier, and a hash of the request instead of a plan hash.
fn identity(request: &Request) -> AttemptIdentity {
    // A request that was parsed or built from flags can always be serialized.
    let bytes = serde_json::to_vec(request).unwrap_or_default();
    AttemptIdentity {
        run: "direct".into(),
        uid: request.run_id.clone(),
        plan_hash: hex(&Sha256::digest(bytes)),
        leg: 0,
        attempt: 1,
    }
}

fn empty_round(round: u32) -> RoundAssignment {
    RoundAssignment {
        round,
        process_order: vec![0],
        arm_order: vec![0],
        blocks: Vec::new(),
    }
}

fn block(block: u32, pass: Pass, index: usize, scenario: &RequestedScenario) -> BlockAssignment {
    BlockAssignment {
        block,
        pass,
        scenario: index as u32,
        size_bytes: scenario.size_bytes(),
        order: vec![0],
    }
}

#[cfg(test)]
mod tests {
    use crds::v1alpha1::{LargeArray, LibfabricProvider, MemoryKind, StreamingDuplex};

    use super::*;
    use crate::direct::request::RequestedTransport;

    fn request() -> Request {
        Request {
            run_id: "0123456789abcdef0123456789abcdef".into(),
            transport: RequestedTransport::Libfabric {
                provider: LibfabricProvider::Tcp,
                rails: 1,
            },
            memory: MemoryKind::Heap,
            scenarios: vec![
                RequestedScenario::StreamingDuplex(StreamingDuplex::default()),
                RequestedScenario::LargeArray(LargeArray::default()),
            ],
            integrity: true,
            case_timeout_seconds: 60,
            segment: None,
            allow_emulation: false,
        }
    }

    fn rendezvous() -> Rendezvous {
        Rendezvous {
            host: "127.0.0.1".into(),
            bind: "127.0.0.1".into(),
            port: 1,
            timeout_seconds: 1,
        }
    }

    #[test]
    fn verifies_every_scenario_before_any_is_measured() {
        let built = assignment(&request(), rendezvous(), &LocalChoices::default());
        let passes: Vec<_> = built.rounds.iter().flat_map(|round| &round.blocks).collect();
        let expected = [
            (0, Pass::Integrity, 0),
            (1, Pass::Integrity, 1),
            (2, Pass::Measure, 0),
            (3, Pass::Measure, 1),
        ];
        assert!(
            passes
                .iter()
                .map(|block| (block.block, block.pass, block.scenario))
                .eq(expected)
        );
        let unchecked = Request {
            integrity: false,
            ..request()
        };
        let built = assignment(&unchecked, rendezvous(), &LocalChoices::default());
        assert!(built.rounds.len() == 1 && built.rounds[0].blocks.len() == 2);
    }

    #[test]
    fn is_valid_for_a_worker() {
        let built = assignment(&request(), rendezvous(), &LocalChoices::default());
        let text = serde_json::to_vec(&built).unwrap();
        assert_eq!(Assignment::parse(&text).unwrap(), built);
    }

    #[test]
    fn identity_depends_on_the_request_but_not_on_local_choices() {
        let local = LocalChoices {
            library: Some("/opt/ucx/lib".into()),
            ..LocalChoices::default()
        };
        let (one, other) = (
            assignment(&request(), rendezvous(), &LocalChoices::default()),
            assignment(&request(), rendezvous(), &local),
        );
        assert_eq!(one.identity, other.identity);
        assert_eq!(other.processes[0].library.as_deref(), Some("/opt/ucx/lib"));
        let changed = Request {
            integrity: false,
            ..request()
        };
        let changed = assignment(&changed, rendezvous(), &LocalChoices::default());
        assert_ne!(one.identity.plan_hash, changed.identity.plan_hash);
    }
}

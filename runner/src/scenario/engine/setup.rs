//! Creates an engine and allocates everything that a thread needs in a case.

use crds::record::{CaseFailure, FabricFacts, FailureReason, InjectLimits};
use crds::v1alpha1::{MemoryKind, Polling, TransferOperation};

use super::{Engine, failure};
use crate::arm_endpoints::endpoint_thread::EndpointThread;
use crate::arm_endpoints::layout::Layout;
use crate::immediate::CaseTag;
use crate::integrity::Inspector;
use crate::posting::doorbell::{self, Doorbell};
use crate::posting::inject::InjectPolicy;
use crate::posting::striping::RailRotation;
use crate::posting::{Burst, Posting};
use crate::scenario::case::payload_arrives;
use crate::scenario::case::{Case, Role};
use crate::scenario::gate::Gate;
use crate::scenario::geometry::Geometry;
use crate::scenario::inbox::Inbox;
use crate::scenario::incoming::Incoming;
use crate::scenario::outgoing::Outgoing;
use crate::scenario::ping_state::PingState;
use crate::scenario::waiting::IdleWaiter;
use crate::transport::{Region, Transport};

/// Layout indexes of the memory that a thread uses in a case.
#[derive(Clone, Copy, Debug)]
pub struct BufferLayouts {
    /// Index of this side's memory.
    pub own: usize,
    /// Index of the peer's memory.
    pub peer: usize,
}

/// Settings that the threads of one side share in a case.
pub struct Setup<'a> {
    /// Case to run.
    pub case: &'a Case<'a>,
    /// Layout indexes of the case's memory; `None` if no payload is sent.
    pub buffers: Option<BufferLayouts>,
    /// Layout of the case's memory.
    pub layout: Layout,
    /// Polling mode of this side.
    pub polling: Polling,
    /// Facts that the library reports about the endpoints.
    pub facts: FabricFacts,
}

impl<'a, T: Transport> Engine<'a, T> {
    /// Creates the engine for one thread of one side.
    ///
    /// # Errors
    /// Returns an error if the endpoints are broken, or the peer is not connected or has no memory of the scenario's
    /// kind.
    pub fn new(
        thread: &'a mut EndpointThread<T>,
        gate: &'a Gate,
        setup: &Setup<'_>,
    ) -> Result<Self, CaseFailure> {
        let case = setup.case;
        if let Some(broken) = &thread.broken {
            return Err(failure(
                FailureReason::PostFailed,
                format!("the endpoints were broken by an earlier case: {broken}"),
            ));
        }
        let rank = case.peer_rank;
        let Some(peer) = thread.peer(rank).cloned() else {
            let message =
                format!("rank {rank} is not connected: its endpoints failed to open or are unreachable");
            return Err(failure(FailureReason::FabricUnreachable, message));
        };
        let remote = match setup.buffers.map(|buffers| peer.regions.get(buffers.peer)) {
            Some(Some(Some(keys))) => keys.clone(),
            Some(_) => {
                let kind = case.role.other().memory_kind(case.scenario, thread.number);
                let message = format!(
                    "rank {rank} has no {kind:?} memory; this rank's endpoint record contains the cause"
                );
                return Err(failure(FailureReason::MemoryUnavailable, message));
            }
            None => Vec::new(),
        };
        let own = setup.buffers.map(|buffers| buffers.own);
        if let Some(Some(region)) = own.and_then(|own| thread.data.get(own)) {
            let current = region.memory().make_current();
            current.map_err(|error| failure(error.reason(), error.to_string()))?;
        }
        let rails = thread.transport.rails();
        let stripes = case.arm.striping.stripes(case.size_bytes, rails as u64);
        let geometry = Geometry::new(
            case.scenario,
            case.pass,
            case.size_bytes,
            stripes,
            setup.layout,
            rails as u64,
        );
        // If the measured operations do not use the library, its posts, such as those of publication times, are not measured.
        if case.scenario.workload.uses_library(case.arm.channel) {
            thread
                .transport
                .check_operation(peer.peer, geometry.operation)
                .map_err(|error| failure(error.reason, error.to_string()))?;
        }
        let reads_back = case.scenario.workload.reads_back();
        if reads_back {
            thread
                .transport
                .check_operation(peer.peer, TransferOperation::Read)
                .map_err(|error| failure(error.reason, error.to_string()))?;
        }
        let posting = Posting::new(
            inject_policy(
                setup,
                thread.number,
                geometry.operation,
                &setup.facts.inject_limits,
            ),
            doorbell(setup, &thread.transport, &geometry, rails),
            rails,
            stripes.rails,
        );
        let is_pipelined = case.scenario.workload.is_pipelined();
        let credits = is_pipelined && geometry.needs_credit();
        let incoming = Incoming::new(stripes.rails, geometry.window, geometry.batch, credits);
        let tag = CaseTag::new(case.number);
        let mut inbox = Inbox::new(rails);
        if let Some((_, drain_messages)) = thread.early_ready.take_if(|(early, _)| *early == tag) {
            inbox.ready = Some(drain_messages);
        }
        // The initiator reads back the data that it has written.
        let source = if reads_back {
            Role::Initiator
        } else {
            case.role.other()
        };
        let waiter = IdleWaiter::new(setup.polling, case.deadline);
        let mut engine = Self {
            gate,
            number: case.number,
            tag,
            peer: peer.peer,
            remote: remote.into(),
            region: setup.buffers.map_or(usize::MAX, |buffers| buffers.own),
            receives_payload: payload_arrives(case) && geometry.operation == TransferOperation::Send,
            timed: is_pipelined,
            posting,
            rotation: RailRotation::new(
                case.arm.striping.policy,
                geometry.operation == TransferOperation::Read,
                rails,
            ),
            burst: Burst::new(geometry.batch, rails),
            outgoing: Outgoing::new(geometry.window, credits),
            incoming: if is_pipelined && case.scenario.workload.open_loop().is_some() {
                // A credit for several transfers would add the wait for the later transfers to the latency of the earlier
                // ones.
                incoming.with_credit_for_each_transfer()
            } else {
                incoming
            },
            inbox,
            pings: PingState::default(),
            reading_back: false,
            awake: false,
            control_in_flight: 0,
            inspector: Inspector::for_pass(
                case.pass,
                data_seed(case.seed, source, thread.number),
                waiter.deadline(),
            ),
            waiter,
            geometry,
            thread,
        };
        engine.prepare_posts(case.scenario.workload.reads_back())?;
        Ok(engine)
    }
}

/// Seed of the payload that thread `thread` on the side with role `from` sends. The seed differs between threads, so
/// that a thread that uses another thread's memory is detected.
pub fn data_seed(seed: u64, from: Role, thread: usize) -> u64 {
    /// Difference between the seeds of consecutive threads. It is odd, so that the seeds of all threads differ.
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let seed = seed.wrapping_add((thread as u64).wrapping_mul(STEP));
    match from {
        Role::Initiator => seed,
        Role::Target => !seed,
    }
}

fn inject_policy(
    setup: &Setup<'_>,
    thread: usize,
    operation: TransferOperation,
    limits: &InjectLimits,
) -> InjectPolicy {
    let (arm_max, provider_max) = match operation {
        // Reads have no inject call, and the arrival of an injected write cannot be observed.
        TransferOperation::Read | TransferOperation::Write => (None, 0),
        TransferOperation::Send => (setup.case.arm.inject_max_bytes, limits.send_bytes),
        TransferOperation::WriteImmediate => (setup.case.arm.inject_max_bytes, limits.write_bytes),
    };
    let device = setup.case.role.memory_kind(setup.case.scenario, thread) == MemoryKind::Cuda;
    InjectPolicy::new(arm_max, provider_max, device)
}

fn doorbell(setup: &Setup<'_>, transport: &impl Transport, geometry: &Geometry, rails: usize) -> Doorbell {
    let may_share = transport.capabilities().more && doorbell::may_share_doorbell(geometry.operation);
    Doorbell::new(setup.case.arm.doorbell_max_batch.filter(|_| may_share), rails)
}

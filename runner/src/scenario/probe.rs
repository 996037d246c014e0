//! Connectivity probe: checks that every rail carries messages to and from the peer.

use std::time::{Duration, Instant};

use crds::assignment::{ArmAssignment, Extent, Pass, PingPongWorkload, ScenarioAssignment, Workload};
use crds::record::{CaseFailure, FailureReason};
use crds::striping::{StripingPolicy, StripingRule};
use crds::v1alpha1::{MemoryKind, PingPongOperation, RpcChannel};

use super::case::{Case, Role};
use super::command_site::CommandSite;
use super::engine::{Engine, Setup, failure};
use super::gate::Gate;
use crate::arm_endpoints::ArmEndpoints;
use crate::arm_endpoints::endpoint_thread::EndpointThread;
use crate::arm_endpoints::layout::{CONTROL_BYTES, Layout};
use crate::immediate::{CaseTag, Message};
use crate::transport::Transport;

/// Sends one small message over each rail of each thread and waits for the messages from the peer. Both sides must call
/// this function.
///
/// # Errors
/// Returns `FabricUnreachable` with a list of the rails on which no message arrived within `deadline`, or the error
/// from the library.
pub fn probe<T: Transport>(
    endpoints: &mut ArmEndpoints<T>,
    role: Role,
    peer_rank: u32,
    deadline: Duration,
) -> Result<(), CaseFailure> {
    let no_iterations = Extent::Iterations(0);
    let scenario = ScenarioAssignment {
        name: "probe".to_owned(),
        memory: MemoryKind::Heap,
        target_memory: None,
        polling: None,
        workload: Workload::PingPong(PingPongWorkload {
            operation: PingPongOperation::Send,
            measured: no_iterations,
            warmup: no_iterations,
        }),
        max_size_bytes: CONTROL_BYTES,
    };
    let arm = ArmAssignment {
        name: "probe".to_owned(),
        process: 0,
        inject_max_bytes: None,
        doorbell_max_batch: None,
        channel: RpcChannel::Transport,
        arguments: Vec::new(),
        striping: StripingRule {
            policy: StripingPolicy::Single,
            threshold_bytes: 0,
            min_chunk_bytes: 0,
        },
    };
    let facts = endpoints.facts().clone();
    let polling = endpoints.polling;
    let start = Instant::now();
    // Each flow of the many-to-many pattern has separate threads. Only the threads of the flow with this peer are
    // connected to the peer.
    let connected = |thread: &EndpointThread<T>| thread.peer(peer_rank).is_some();
    let is_connected = endpoints.threads.iter().any(connected);
    let threads = endpoints.threads.iter_mut().enumerate();
    for (index, thread) in threads.filter(|(_, thread)| !is_connected || connected(thread)) {
        let case = Case {
            number: u32::MAX,
            scenario: &scenario,
            pass: Pass::Measure,
            size_bytes: CONTROL_BYTES,
            arm: &arm,
            role,
            peer_rank,
            deadline: deadline.saturating_sub(start.elapsed()),
            seed: 0,
            keep_samples: false,
            site: CommandSite::default(),
        };
        let setup = Setup {
            case: &case,
            buffers: None,
            layout: Layout { area_bytes: 0 },
            polling,
            facts: facts.clone(),
        };
        let gate = Gate::new(1);
        let mut engine = Engine::new(thread, &gate, &setup)?;
        engine.tag = CaseTag::PROBE;
        exchange(&mut engine)
            .map_err(|error| unreachable_failure(&engine, index, peer_rank, deadline, error))?;
    }
    Ok(())
}

fn exchange<T: Transport>(engine: &mut Engine<'_, T>) -> Result<(), CaseFailure> {
    for rail in 0..engine.thread.tokens.len() {
        engine.send(rail, Message::DrainReceive)?;
    }
    engine.serve_until("waiting for a message on every rail", |engine| {
        engine.inbox.drained_receives.iter().all(|count| *count > 0)
    })?;
    engine.wait_for_local_completions()
}

fn unreachable_failure<T: Transport>(
    engine: &Engine<'_, T>,
    thread: usize,
    rank: u32,
    deadline: Duration,
    error: CaseFailure,
) -> CaseFailure {
    if error.reason != FailureReason::DeadlineExceeded {
        return error;
    }
    let silent: Vec<usize> = (0..engine.inbox.drained_receives.len())
        .filter(|rail| engine.inbox.drained_receives[*rail] == 0)
        .collect();
    let addresses: Vec<String> = engine
        .thread
        .transport
        .facts()
        .rails
        .iter()
        .enumerate()
        .filter(|(rail, _)| silent.contains(rail))
        .map(|(_, facts)| facts.address.clone())
        .collect();
    failure(
        FailureReason::FabricUnreachable,
        format!(
            "no message from rank {rank} arrived within {deadline:?} over rails {silent:?} (local addresses \
             {addresses:?}, thread {thread}); check that the rails of both workers are on the same network, and that \
             the security group has a rule that allows all traffic to and from itself"
        ),
    )
}

//! Runs one side of a case on the measuring threads of the scenario.

use std::thread;

use crds::assignment::{Pass, Workload};
use crds::record::{CaseFailure, FailureReason, IntegrityReport};

use super::case::{Case, CaseReport, Role, SideOutcome};
use super::case_protocol::{self, SideContext, ThreadReport, Work};
use super::check;
use super::engine::{Engine, Setup, data_seed, failure};
use super::gate::Gate;
use super::parameter_serving::{self, Publication, Trainer, Worker};
use super::ping_pong::{Initiator, Target};
use super::report;
use super::samples::CaseSamples;
use super::transfer::{PassiveTarget, Poster};
use crate::arm_endpoints::endpoint_thread::EndpointThread;
use crate::arm_endpoints::{ArmEndpoints, layout};
use crate::measure::cpu;
use crate::transport::Transport;

/// Report of one thread.
enum ThreadOutcome {
    Measured(Box<ThreadReport>),
    Checked(IntegrityReport),
}

/// Runs this side of a case.
///
/// # Errors
/// Fails if the memory of the scenario is unavailable, a post or completion fails, the other side abandons the case or
/// the deadline passes. The endpoints remain usable for the next case unless a post failed.
pub fn run_case<T: Transport>(
    endpoints: &mut ArmEndpoints<T>,
    case: &Case<'_>,
) -> Result<CaseReport, CaseFailure> {
    let thread_count = layout::threads(&case.scenario.workload);
    let Some(kind) = endpoints
        .kinds
        .iter()
        .position(|(kind, _)| *kind == case.scenario.memory)
    else {
        let message = format!("no memory was prepared for scenario {:?}", case.scenario.name);
        return Err(failure(FailureReason::InvalidAssignment, message));
    };
    if let Some(failure) = &endpoints.memory_failures[kind] {
        return Err(failure.clone());
    }
    let largest = case.scenario.max_size_bytes;
    let rails = endpoints
        .threads
        .first()
        .map_or(1, |thread| thread.transport.rails()) as u64;
    let fits = case.scenario.area_bytes(rails) <= endpoints.kinds[kind].1.area_bytes;
    if case.size_bytes > largest || !fits {
        let message = format!(
            "{} bytes do not fit into the memory of scenario {:?}, which was allocated for at most {largest} bytes",
            case.size_bytes, case.scenario.name
        );
        return Err(failure(FailureReason::InvalidAssignment, message));
    }
    if endpoints.threads.len() < thread_count as usize {
        let message = format!(
            "the scenario needs {thread_count} threads, but endpoints are open for only {}",
            endpoints.threads.len()
        );
        return Err(failure(FailureReason::InvalidAssignment, message));
    }
    let gate = Gate::new(thread_count);
    let setup = Setup {
        case,
        kind: Some(kind),
        layout: endpoints.kinds[kind].1,
        polling: case.scenario.polling.unwrap_or(endpoints.polling),
        facts: endpoints.facts().clone(),
        publication: case
            .scenario
            .workload
            .serving()
            .map(|serving| Publication::new(serving, Publication::unique_key(case.seed))),
    };
    let groups = endpoints.groups.min(thread_count as usize);
    let used_rails = (rails as usize * groups).min(setup.facts.rails.len());
    let side = SideContext {
        role: case.role,
        // The trainer and the workers of parameter serving both end by themselves.
        bidirectional: case.scenario.workload.is_bidirectional()
            || case.scenario.workload.serving().is_some(),
        thread: 0,
        usage: &endpoints.usage,
        rails: &setup.facts.rails[..used_rails],
        roots: &endpoints.roots,
    };
    let threads = endpoints.threads.iter_mut().take(thread_count as usize);
    let results: Vec<Result<ThreadOutcome, CaseFailure>> = thread::scope(|scope| {
        let running: Vec<_> = threads
            .enumerate()
            .map(|(number, thread)| {
                let side = SideContext {
                    thread: number,
                    ..side
                };
                let (gate, setup) = (&gate, &setup);
                thread::Builder::new()
                    .name(format!("measure-{number}"))
                    .spawn_scoped(scope, move || run_thread(thread, gate, setup, side))
            })
            .collect();
        let join =
            |thread: std::io::Result<thread::ScopedJoinHandle<'_, Result<ThreadOutcome, CaseFailure>>>| {
                let internal = |message: String| failure(FailureReason::Internal, message);
                let thread = thread.map_err(|error| {
                    gate.fail();
                    internal(format!("failed to start a measuring thread: {error}"))
                })?;
                thread
                    .join()
                    .map_err(|_| internal("a measuring thread panicked".to_owned()))?
            };
        running.into_iter().map(join).collect()
    });
    let (mut reports, mut checked) = (Vec::new(), Vec::new());
    for outcome in all_or_first_failure(results)? {
        match outcome {
            ThreadOutcome::Measured(report) => reports.push(*report),
            ThreadOutcome::Checked(report) => checked.push(report),
        }
    }
    if case.pass == Pass::Integrity {
        return Ok(CaseReport {
            outcome: SideOutcome::Checked(check::combine_reports(checked)),
            evidence: Vec::new(),
            samples: None,
        });
    }
    let samples = case.keep_samples.then(|| CaseSamples::new(&reports));
    let side_report = match &setup.publication {
        Some(publication) => parameter_serving::side_report(case, reports, groups, publication)?,
        None => report::side_report(case, reports, groups)?,
    };
    let evidence = report::new_evidence(&mut endpoints.evidence, case, &side_report, rails);
    Ok(CaseReport {
        outcome: SideOutcome::Measured(Box::new(side_report)),
        evidence,
        samples,
    })
}

/// Returns all outcomes, or the first failure that is not a consequence of another thread's failure.
///
/// A thread that stops because another thread failed reports `Interrupted`, which is returned only if there is no other
/// failure.
fn all_or_first_failure(
    results: Vec<Result<ThreadOutcome, CaseFailure>>,
) -> Result<Vec<ThreadOutcome>, CaseFailure> {
    let mut outcomes = Vec::new();
    let mut interrupted = None;
    for result in results {
        match result {
            Ok(outcome) => outcomes.push(outcome),
            Err(failure) if failure.reason == FailureReason::Interrupted => interrupted = Some(failure),
            Err(failure) => return Err(failure),
        }
    }
    interrupted.map_or(Ok(outcomes), Err)
}

fn run_thread<T: Transport>(
    thread: &mut EndpointThread<T>,
    gate: &Gate,
    setup: &Setup<'_>,
    side: SideContext<'_>,
) -> Result<ThreadOutcome, CaseFailure> {
    let pinned = thread.cpu.map_or(Ok(()), cpu::pin);
    let engine = pinned
        .map_err(|error| failure(FailureReason::OperationRejected, error.to_string()))
        .and_then(|()| Engine::new(thread, gate, setup));
    let mut engine = match engine {
        Ok(engine) => engine,
        Err(error) => {
            gate.fail();
            return Err(error);
        }
    };
    let outcome = run_pass(&mut engine, setup, side);
    if let Err(error) = &outcome {
        gate.fail();
        if engine.inbox.aborted.is_none() {
            engine.abort(error.reason);
        }
    }
    outcome
}

fn run_pass<T: Transport>(
    engine: &mut Engine<'_, T>,
    setup: &Setup<'_>,
    side: SideContext<'_>,
) -> Result<ThreadOutcome, CaseFailure> {
    if setup.case.pass == Pass::Integrity {
        return Ok(ThreadOutcome::Checked(check::check(engine, setup.case)?));
    }
    match (&setup.case.scenario.workload, side.role) {
        (Workload::PingPong(workload), Role::Initiator) => measure(engine, Initiator::new(workload), side),
        (Workload::PingPong(_), Role::Target) => measure(engine, Target, side),
        (Workload::Transfer(workload), role) if role == Role::Initiator || side.bidirectional => measure(
            engine,
            Poster::new(workload, role, thread_seed(setup.case, side)),
            side,
        ),
        (Workload::Transfer(_), _) => measure(engine, PassiveTarget, side),
        (Workload::ParameterServing(serving), Role::Initiator) => match &setup.publication {
            Some(publication) => measure(engine, Trainer::new(serving, publication, side.thread), side),
            None => {
                let message = "the case has no versions; this is a bug in fabricbench".to_owned();
                Err(failure(FailureReason::Internal, message))
            }
        },
        (Workload::ParameterServing(serving), Role::Target) => measure(engine, Worker::new(serving), side),
    }
}

fn measure<T: Transport>(
    engine: &mut Engine<'_, T>,
    mut work: impl Work<T>,
    side: SideContext<'_>,
) -> Result<ThreadOutcome, CaseFailure> {
    let report = case_protocol::measure(engine, &mut work, side)?;
    Ok(ThreadOutcome::Measured(Box::new(report)))
}

/// Seed of the start times of one thread: different on both sides and in every thread.
fn thread_seed(case: &Case<'_>, side: SideContext<'_>) -> u64 {
    data_seed(case.seed, side.role).wrapping_add(side.thread as u64)
}

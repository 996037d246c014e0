//! Runs one side of a case on the measuring threads of the scenario, or on the main thread if it measures.

use std::any::Any;
use std::thread;

use crds::assignment::Pass;
use crds::record::{CaseFailure, FailureReason, IntegrityReport};
use crds::v1alpha1::Polling;

use super::case::{Case, Role};
use super::case_protocol::SideContext;
use super::case_report::{CaseReport, SideOutcome};
use super::check;
use super::engine::{BufferLayouts, Engine, Setup, failure};
use super::flow_coordinator::{FlowCoordinator, coordinate_flows};
use super::gate::Gate;
use super::phases::{Phases, ThreadEndGuard};
use super::program::Program;
use super::programs;
use super::samples::CaseSamples;
use super::side_report;
use super::thread_report::ThreadReport;
use crate::arm_endpoints::ArmEndpoints;
use crate::arm_endpoints::endpoint_thread::EndpointThread;
use crate::arm_endpoints::layout;
use crate::measure::{calling_thread, cpu};
use crate::transport::{CallNames, Transport};

/// Report of one thread.
enum ThreadOutcome {
    Measured(Box<ThreadReport>),
    /// Result of the checks, and evidence lines.
    Checked(Box<IntegrityReport>, Vec<String>),
}

/// One flow of a case on this side. A case between two workers has a single flow.
struct Flow<'a> {
    /// Index of the flow among this worker's flows.
    index: usize,
    gate: Gate,
    setup: Setup<'a>,
    /// Setup of the threads whose buffers are in the scenario's second kind of memory, and the number of the first of
    /// them; `None` if all threads have the same setup.
    second: Option<(u32, Setup<'a>)>,
}

impl<'a> Flow<'a> {
    /// Setup of thread `thread` of the flow.
    fn setup_of(&self, thread: usize) -> &Setup<'a> {
        match &self.second {
            Some((first, setup)) if thread >= *first as usize => setup,
            _ => &self.setup,
        }
    }
}

/// Runs this side of a case.
///
/// # Errors
/// Returns an error if the scenario's memory is unavailable, a post or completion fails, the other side abandons the
/// case or the deadline passes. The endpoints remain usable for the next case unless a post failed.
pub fn run_case<T: Transport>(
    endpoints: &mut ArmEndpoints<T>,
    case: &Case<'_>,
) -> Result<CaseReport, CaseFailure> {
    let mut reports = run_flows(endpoints, std::slice::from_ref(case), None).into_iter();
    reports.next().unwrap_or_else(|| {
        let message = "the case has no report; this is a bug in fabricbench".to_owned();
        Err(failure(FailureReason::Internal, message))
    })
}

/// Runs this side of several cases concurrently, each with the peer of one flow, and returns their reports in the same
/// order. All cases have the same scenario and the same role. The position of a case is the index of its flow on this
/// worker.
///
/// If `flow_coordinator` is set, the coordinator determines when the windows open and when the flows end.
///
/// The report of a case contains the same errors as the result of [`run_case`]. If the connection to the coordinator
/// fails, all cases fail.
pub fn run_flows<T: Transport>(
    endpoints: &mut ArmEndpoints<T>,
    cases: &[Case<'_>],
    flow_coordinator: Option<&mut dyn FlowCoordinator>,
) -> Vec<Result<CaseReport, CaseFailure>> {
    run_concurrently(endpoints, cases, flow_coordinator)
        .unwrap_or_else(|failure| cases.iter().map(|_| Err(failure.clone())).collect())
}

/// Layout indexes of the memory that thread `thread` of `case` uses on this side and on the peer.
fn layout_indexes<T: Transport>(
    endpoints: &ArmEndpoints<T>,
    case: &Case<'_>,
    thread: u32,
) -> Result<BufferLayouts, CaseFailure> {
    // A case that sends no payload over the fabric can use any memory of the kind.
    let off_fabric = case.scenario.workload.is_off_fabric(case.arm.channel);
    let needed = if off_fabric {
        0
    } else {
        case.scenario.area_bytes(rails(endpoints))
    };
    let largest = case.scenario.max_size_bytes;
    let index = |role: Role| {
        let kind = role.memory_kind(case.scenario, thread as usize);
        layout::position(&endpoints.layouts, kind, needed).filter(|_| case.size_bytes <= largest)
    };
    let (Some(own), Some(peer)) = (index(case.role), index(case.role.other())) else {
        let message = format!(
            "no memory was prepared for {} bytes of scenario {:?}, whose largest size is {largest} bytes",
            case.size_bytes, case.scenario.name
        );
        return Err(failure(FailureReason::InvalidAssignment, message));
    };
    match &endpoints.memory_failures[own] {
        Some(failure) => Err(failure.clone()),
        None => Ok(BufferLayouts { own, peer }),
    }
}

/// Number of rails per thread.
fn rails<T: Transport>(endpoints: &ArmEndpoints<T>) -> u64 {
    let first = endpoints.threads.first();
    first.map_or(1, |thread| thread.transport.rails()) as u64
}

fn run_concurrently<T: Transport>(
    endpoints: &mut ArmEndpoints<T>,
    cases: &[Case<'_>],
    flow_coordinator: Option<&mut dyn FlowCoordinator>,
) -> Result<Vec<Result<CaseReport, CaseFailure>>, CaseFailure> {
    let Some(first) = cases.first() else {
        return Ok(Vec::new());
    };
    let polling = first.scenario.polling.unwrap_or(endpoints.polling);
    if let (Polling::Wait, Some(failure)) = (polling, &endpoints.wait_failure) {
        return Err(failure.clone());
    }
    let thread_count = first.scenario.workload.threads();
    let buffers = layout_indexes(endpoints, first, 0)?;
    let second = match first.scenario.workload.second_memory() {
        Some((_, thread)) => Some((thread, layout_indexes(endpoints, first, thread)?)),
        None => None,
    };
    let rails = rails(endpoints);
    let flow_threads = endpoints.threads_per_flow.max(1);
    let needed = flow_threads * (cases.len() - 1) + thread_count as usize;
    if endpoints.threads.len() < needed || flow_threads < thread_count as usize {
        let message = format!(
            "the scenario needs {needed} threads, but endpoints are open for only {}",
            endpoints.threads.len()
        );
        return Err(failure(FailureReason::InvalidAssignment, message));
    }
    let flow_count = cases.len() as u32;
    let program = programs::program(first, flow_count);
    let program = program.as_ref();
    let flows: Vec<Flow<'_>> = cases
        .iter()
        .enumerate()
        .map(|(index, case)| {
            let setup = |buffers: BufferLayouts| Setup {
                case,
                buffers: Some(buffers),
                layout: endpoints.layouts[buffers.own].1,
                polling,
                facts: endpoints.facts().clone(),
            };
            Flow {
                index,
                gate: Gate::new(thread_count),
                setup: setup(buffers),
                second: second.map(|(thread, buffers)| (thread, setup(buffers))),
            }
        })
        .collect();
    let all_threads = thread_count * flows.len() as u32;
    let posters = if first.role == Role::Initiator {
        all_threads
    } else {
        0
    };
    let phases = flow_coordinator
        .as_ref()
        .map(|_| Phases::new(posters, all_threads))
        .transpose()
        .map_err(|error| internal_failure(format!("an event file descriptor cannot be created: {error}")))?;
    let groups = endpoints.groups.min(thread_count as usize);
    let used_rails = (rails as usize * groups).min(endpoints.facts().rails.len());
    let facts = endpoints.facts().clone();
    let [_, measuring_target] = first.scenario.workload.measuring_sides();
    let side = SideContext {
        role: first.role,
        // If the target also measures, neither side may close its window before both have finished.
        bidirectional: measuring_target,
        phases: phases.as_ref(),
        flow: 0,
        thread: 0,
        usage: &endpoints.usage,
        rails: &facts.rails[..used_rails],
        roots: &endpoints.roots,
    };
    let results = match (&mut endpoints.threads[..], &flows[..], flow_coordinator) {
        ([thread], [flow], None) if endpoints.uses_main_thread => {
            let result =
                calling_thread::run(|| run_thread(program, thread, &flow.gate, flow.setup_of(0), side));
            vec![vec![result.map_err(panicked)?]]
        }
        (threads, flows, flow_coordinator) => {
            let threads = threads
                .chunks_mut(flow_threads)
                .map(|threads| &mut threads[..thread_count as usize]);
            run_threads(program, threads, flows, side, flow_coordinator)?
        }
    };
    let call_names = endpoints.threads.first().map_or(CallNames::Libfabric, |thread| {
        thread.transport.capabilities().call_names
    });
    let mut reports = Vec::with_capacity(cases.len());
    for (flow, results) in flows.iter().zip(results) {
        let case = flow.setup.case;
        let report = all_or_first_failure(results)
            .and_then(|outcomes| case_report(program, flow, outcomes, groups, flow_count.into()));
        reports.push(report.map(|mut report| {
            if let SideOutcome::Measured(side) = &report.outcome {
                report.evidence =
                    side_report::new_evidence(&mut endpoints.evidence, case, side, call_names, rails);
            }
            report
        }));
    }
    Ok(reports)
}

/// Runs every flow's threads, each of which is started for this purpose, and returns their outcomes by flow.
fn run_threads<'e, T: Transport + 'e>(
    program: &dyn Program<T>,
    threads_by_flow: impl Iterator<Item = &'e mut [EndpointThread<T>]>,
    flows: &[Flow<'_>],
    side: SideContext<'_>,
    flow_coordinator: Option<&mut dyn FlowCoordinator>,
) -> Result<Vec<Vec<Result<ThreadOutcome, CaseFailure>>>, CaseFailure> {
    thread::scope(|scope| {
        let mut running = Vec::with_capacity(flows.len());
        for (flow, threads) in flows.iter().zip(threads_by_flow) {
            let started = threads.iter_mut().enumerate().map(|(number, thread)| {
                let side = SideContext {
                    flow: flow.index,
                    thread: number,
                    ..side
                };
                let started = thread::Builder::new()
                    .name(format!("measure-{number}"))
                    .spawn_scoped(scope, move || {
                        run_thread(program, thread, &flow.gate, flow.setup_of(number), side)
                    });
                started.map_err(|error| {
                    flow.gate.fail(FailureReason::Internal);
                    if let Some(phases) = side.phases {
                        phases.mark_ended(true);
                    }
                    internal_failure(format!("failed to start a measuring thread: {error}"))
                })
            });
            running.push(started.collect::<Vec<_>>());
        }
        let coordinated = match (flow_coordinator, side.phases) {
            (Some(flow_coordinator), Some(phases)) => {
                coordinate_flows(flow_coordinator, phases, flows.iter().map(|flow| &flow.gate))
            }
            _ => Ok(()),
        };
        let join = |thread: Result<thread::ScopedJoinHandle<'_, Result<ThreadOutcome, CaseFailure>>, _>| {
            thread?.join().map_err(panicked)?
        };
        let joined = running
            .into_iter()
            .map(|threads| threads.into_iter().map(join).collect())
            .collect();
        coordinated.map(|()| joined)
    })
}

fn panicked(_: Box<dyn Any + Send>) -> CaseFailure {
    internal_failure("a measuring thread panicked".to_owned())
}

/// Builds a case report from the outcomes of the case's threads, without evidence lines. `flows` flows ran concurrently
/// in this process.
fn case_report<T: Transport>(
    program: &dyn Program<T>,
    flow: &Flow<'_>,
    outcomes: Vec<ThreadOutcome>,
    groups: usize,
    flows: u64,
) -> Result<CaseReport, CaseFailure> {
    let case = flow.setup.case;
    let (mut reports, mut checked, mut evidence) = (Vec::new(), Vec::new(), Vec::new());
    for outcome in outcomes {
        match outcome {
            ThreadOutcome::Measured(report) => reports.push(*report),
            ThreadOutcome::Checked(report, lines) => {
                checked.push(*report);
                evidence.extend(lines);
            }
        }
    }
    if case.pass == Pass::Integrity {
        return Ok(CaseReport {
            outcome: SideOutcome::Checked(check::combine_reports(checked)),
            evidence,
            samples: None,
        });
    }
    let samples = case.keep_samples.then(|| CaseSamples::new(&reports));
    let mut side = program.report(case, flow.index, reports, groups)?;
    // The CPU time of the process is divided among its flows, so the sum over the flows is the worker's CPU time.
    side.cpu_nanos /= flows.max(1);
    Ok(CaseReport {
        outcome: SideOutcome::Measured(Box::new(side)),
        evidence: Vec::new(),
        samples,
    })
}

fn internal_failure(message: String) -> CaseFailure {
    failure(FailureReason::Internal, message)
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
    program: &dyn Program<T>,
    thread: &mut EndpointThread<T>,
    gate: &Gate,
    setup: &Setup<'_>,
    side: SideContext<'_>,
) -> Result<ThreadOutcome, CaseFailure> {
    let mut end = ThreadEndGuard::new(side.phases);
    let outcome = run_engine(program, thread, gate, setup, side);
    end.set_failed(outcome.is_err());
    outcome
}

fn run_engine<T: Transport>(
    program: &dyn Program<T>,
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
            gate.fail(error.reason);
            return Err(error);
        }
    };
    let outcome = run_pass(program, &mut engine, setup, side);
    if let Err(error) = &outcome {
        // A thread that stops because another thread failed notifies its peer of the original cause.
        let cause = gate.fail(error.reason);
        if engine.inbox.aborted.is_none() {
            engine.abort(cause);
        }
    }
    outcome
}

fn run_pass<T: Transport>(
    program: &dyn Program<T>,
    engine: &mut Engine<'_, T>,
    setup: &Setup<'_>,
    side: SideContext<'_>,
) -> Result<ThreadOutcome, CaseFailure> {
    if setup.case.pass == Pass::Integrity {
        let (report, evidence) = program.check(engine, setup)?;
        return Ok(ThreadOutcome::Checked(Box::new(report), evidence));
    }
    let report = program.run(engine, setup, side)?;
    Ok(ThreadOutcome::Measured(Box::new(report)))
}

//! Runs a case on the threads of one side.

use std::thread;

use crds::assignment::{Pass, Workload};
use crds::record::{CaseFailure, FailureReason};
use crds::v1alpha1::{Direction, TransferOperation};

use super::case::{Case, CaseReport, Outcome, Role};
use super::check::{self, Checked};
use super::choreography::{self, Side, ThreadReport, Work};
use super::engine::{Engine, Setup, failure};
use super::gate::Gate;
use super::ping_pong::{Initiator, Target};
use super::report;
use super::transfer::{Addressed, Poster};
use crate::bench::lane::Lane;
use crate::bench::{ArmBench, layout};
use crate::measure::cpu;
use crate::transport::Transport;

/// What one thread's part came to.
enum Part {
    Measured(Box<ThreadReport>),
    Checked(Checked),
}

/// Runs this side of a case.
///
/// # Errors
/// When the memory of the scenario cannot be had, a post or completion fails, the other side gives up or the deadline
/// passes. The endpoints stay usable for the next case, unless a post failed.
pub fn run_case<T: Transport>(bench: &mut ArmBench<T>, case: &Case<'_>) -> Result<CaseReport, CaseFailure> {
    let threads = layout::threads(&case.scenario.workload);
    let Some(kind) = bench
        .kinds
        .iter()
        .position(|(kind, _)| *kind == case.scenario.memory)
    else {
        let message = format!("scenario {:?} is not one of the assignment's", case.scenario.name);
        return Err(failure(FailureReason::InvalidAssignment, message));
    };
    if let Some(refused) = &bench.refused[kind] {
        return Err(refused.clone());
    }
    let largest = case.scenario.max_size_bytes;
    let rails = bench.lanes.first().map_or(1, |lane| lane.transport.rails()) as u64;
    let fits = case.scenario.area_bytes(rails) <= bench.kinds[kind].1.area_bytes;
    if case.size_bytes > largest || !fits {
        let message = format!(
            "{} bytes of scenario {:?} do not fit the memory that was made for it, of at most {largest} bytes",
            case.size_bytes, case.scenario.name
        );
        return Err(failure(FailureReason::InvalidAssignment, message));
    }
    if bench.lanes.len() < threads as usize {
        let message = format!(
            "the scenario has {threads} threads, the endpoints are of {}",
            bench.lanes.len()
        );
        return Err(failure(FailureReason::InvalidAssignment, message));
    }
    let gate = Gate::new(threads);
    let setup = Setup {
        case,
        kind: Some(kind),
        layout: bench.kinds[kind].1,
        polling: case.scenario.polling.unwrap_or(bench.polling),
        facts: bench.facts().clone(),
    };
    let side = Side {
        role: case.role,
        both: is_both(&case.scenario.workload),
        conducts: false,
        accounts: &bench.accounts,
        rails: &setup.facts.rails,
        roots: &bench.roots,
    };
    let lanes = bench.lanes.iter_mut().take(threads as usize);
    let parts: Vec<Result<Part, CaseFailure>> = thread::scope(|scope| {
        let running: Vec<_> = lanes
            .enumerate()
            .map(|(number, lane)| {
                let side = Side {
                    conducts: number == 0,
                    ..side
                };
                let (gate, setup) = (&gate, &setup);
                thread::Builder::new()
                    .name(format!("measure-{number}"))
                    .spawn_scoped(scope, move || on_thread(lane, gate, setup, side))
            })
            .collect();
        let join = |thread: std::io::Result<thread::ScopedJoinHandle<'_, Result<Part, CaseFailure>>>| {
            let internal = |message: String| failure(FailureReason::Internal, message);
            let thread = thread.map_err(|error| {
                gate.fail();
                internal(format!("a measuring thread cannot be started: {error}"))
            })?;
            thread
                .join()
                .map_err(|_| internal("a measuring thread panicked".to_owned()))?
        };
        running.into_iter().map(join).collect()
    });
    let (mut reports, mut checked) = (Vec::new(), Vec::new());
    for part in all(parts)? {
        match part {
            Part::Measured(report) => reports.push(*report),
            Part::Checked(part) => checked.push(part),
        }
    }
    if case.pass == Pass::Integrity {
        return Ok(CaseReport {
            outcome: Outcome::Checked(check::report(checked)),
            evidence: Vec::new(),
        });
    }
    let side_report = report::side(case, reports)?;
    let evidence = report::new_evidence(&mut bench.evidence, case, &side_report, setup.facts.rails.len());
    Ok(CaseReport {
        outcome: Outcome::Measured(Box::new(side_report)),
        evidence,
    })
}

/// All parts, or the failure that came first: a thread that only stopped because another one failed says so, and is
/// not the cause.
fn all(parts: Vec<Result<Part, CaseFailure>>) -> Result<Vec<Part>, CaseFailure> {
    let mut done = Vec::new();
    let mut followed = None;
    for part in parts {
        match part {
            Ok(part) => done.push(part),
            Err(failure) if failure.reason == FailureReason::Interrupted => followed = Some(failure),
            Err(failure) => return Err(failure),
        }
    }
    followed.map_or(Ok(done), Err)
}

fn on_thread<T: Transport>(
    lane: &mut Lane<T>,
    gate: &Gate,
    setup: &Setup<'_>,
    side: Side<'_>,
) -> Result<Part, CaseFailure> {
    let pinned = lane.cpu.map_or(Ok(()), cpu::pin);
    let begun = pinned
        .map_err(|error| failure(FailureReason::Refused, error.to_string()))
        .and_then(|()| Engine::new(lane, gate, setup));
    let mut engine = match begun {
        Ok(engine) => engine,
        Err(error) => {
            gate.fail();
            return Err(error);
        }
    };
    let part = part(&mut engine, setup, side);
    if let Err(error) = &part {
        gate.fail();
        if engine.inbox.aborted.is_none() {
            engine.abort(error.reason);
        }
    }
    part
}

fn part<T: Transport>(
    engine: &mut Engine<'_, T>,
    setup: &Setup<'_>,
    side: Side<'_>,
) -> Result<Part, CaseFailure> {
    if setup.case.pass == Pass::Integrity {
        return Ok(Part::Checked(check::check(engine, setup.case)?));
    }
    match (&setup.case.scenario.workload, side.role) {
        (Workload::PingPong(workload), Role::Initiator) => measured(engine, Initiator::new(workload), side),
        (Workload::PingPong(_), Role::Target) => measured(engine, Target, side),
        (Workload::Transfer(workload), role) if role == Role::Initiator || side.both => {
            measured(engine, Poster::new(workload), side)
        }
        (Workload::Transfer(_), _) => measured(engine, Addressed, side),
    }
}

fn measured<T: Transport>(
    engine: &mut Engine<'_, T>,
    mut work: impl Work<T>,
    side: Side<'_>,
) -> Result<Part, CaseFailure> {
    let report = choreography::measure(engine, &mut work, side)?;
    Ok(Part::Measured(Box::new(report)))
}

/// Whether both sides post.
pub(super) fn is_both(workload: &Workload) -> bool {
    matches!(workload, Workload::Transfer(transfer) if transfer.direction == Direction::Bidirectional)
}

/// Whether the side with this role has payload arriving in its memory.
pub(super) fn is_landed_on(workload: &Workload, role: Role) -> bool {
    match workload {
        Workload::PingPong(_) => true,
        Workload::Transfer(transfer) => {
            let by_initiator = match transfer.operation {
                TransferOperation::Read => Role::Initiator,
                _ => Role::Target,
            };
            transfer.direction == Direction::Bidirectional || role == by_initiator
        }
    }
}

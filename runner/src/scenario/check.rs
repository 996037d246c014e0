//! The integrity pass of a case: the same posts as when times are taken, and every byte looked at.
//!
//! Transfers are checked in groups of as many as may be in flight without sharing memory. The side that is landed on
//! poisons its memory and says so, the other posts the group and says when all of it is complete, and then, and only
//! then, every byte is checked. Messages into posted receives are checked as they arrive. Where both sides post, one
//! direction is checked after the other. A ping-pong is checked message by message.

mod ping_pong;
mod transfer;

use std::sync::Arc;

use crds::assignment::Workload;
use crds::record::{CaseFailure, FailureReason, IntegrityReport};

use super::case::{Case, Role, is_bidirectional};
use super::engine::{Engine, data_seed, failure};
use super::immediate::Signal;
use crate::integrity::{Inspector, combine, fill, poison};
use crate::memory::Memory;
use crate::transport::Transport;

/// Bytes that are enough for one check, unless covering all rails takes more.
const ENOUGH_BYTES: u64 = 64 * 1024 * 1024;

/// What one thread found; empty where nothing landed on it.
pub type Checked = IntegrityReport;

/// What all threads found.
pub(super) fn report(threads: Vec<Checked>) -> IntegrityReport {
    threads.into_iter().reduce(combine).unwrap_or_default()
}

/// Checks one thread's part of a case.
pub(super) fn check<T: Transport>(
    engine: &mut Engine<'_, T>,
    case: &Case<'_>,
) -> Result<Checked, CaseFailure> {
    let transfers = transfers_to_check(engine);
    poison_landing(engine)?;
    engine.meet()?;
    let landed = match &case.scenario.workload {
        Workload::PingPong(_) => ping_pong::check(engine, case, transfers)?,
        Workload::Transfer(_) => {
            let both = is_bidirectional(&case.scenario.workload);
            let mut landed = transfer::check(engine, case, Role::Initiator, transfers)?;
            if both {
                landed += transfer::check(engine, case, Role::Target, transfers)?;
            }
            landed
        }
    };
    leave(engine, case.role)?;
    Ok(inspector(engine)?.verifier().report(landed))
}

/// Poisons all that may be landed on, before the other side can post.
fn poison_landing<T: Transport>(engine: &mut Engine<'_, T>) -> Result<(), CaseFailure> {
    let memory = memory(engine)?;
    let geometry = &engine.geometry;
    match geometry.receives {
        Some(receives) => {
            let length = receives.slots.stride * (receives.slots.count - 1) + receives.length;
            poison(&memory, geometry.landing_base, length)
        }
        None => geometry
            .landing
            .iter()
            .try_for_each(|offset| poison(&memory, *offset, geometry.size)),
    }
}

/// Fills the source slot of transfer `number`.
fn fill_source<T: Transport>(
    engine: &Engine<'_, T>,
    case: &Case<'_>,
    slot: usize,
    number: u64,
) -> Result<(), CaseFailure> {
    let seed = data_seed(case.seed, case.role);
    let geometry = &engine.geometry;
    fill(
        &*memory(engine)?,
        geometry.source[slot],
        seed,
        number,
        geometry.size,
    )
}

/// Checks transfer `number`, which was written into a landing slot, chunk by chunk, and poisons the slot again.
fn check_landing<T: Transport>(
    engine: &mut Engine<'_, T>,
    slot: usize,
    number: u64,
) -> Result<(), CaseFailure> {
    let memory = memory(engine)?;
    let (base, size) = (engine.geometry.landing[slot], engine.geometry.size);
    let stripes = engine.geometry.stripes;
    let verifier = inspector(engine)?.verifier();
    for index in 0..stripes.rails {
        let chunk = stripes.chunk(index);
        verifier.check_chunk(&memory, base + chunk.0, number, chunk)?;
    }
    poison(&memory, base, size)
}

/// Ends the case together with the other side.
fn leave<T: Transport>(engine: &mut Engine<'_, T>, role: Role) -> Result<(), CaseFailure> {
    match role {
        Role::Initiator => {
            engine.signal(Signal::Stop)?;
            engine.serve_until("waiting for the target to end", |engine| engine.inbox.stopped)?;
        }
        Role::Target => {
            engine.serve_until("waiting for the initiator to end", |engine| engine.inbox.stop)?;
            engine.signal(Signal::Stopped)?;
        }
    }
    engine.settle()
}

/// Twice what is in flight, and enough bursts for every rail to have its turn; fewer where that is a lot of bytes.
fn transfers_to_check<T: Transport>(engine: &Engine<'_, T>) -> u64 {
    let geometry = &engine.geometry;
    let rails = engine.thread.tokens.len() as u64;
    let all_rails = if geometry.stripes.rails > 1 {
        1
    } else {
        rails * u64::from(geometry.batch)
    };
    let wanted = (2 * u64::from(geometry.window)).max(all_rails);
    let affordable = ENOUGH_BYTES / geometry.size.max(1);
    wanted.min(affordable.max(all_rails))
}

fn inspector<'e, T: Transport>(engine: &'e mut Engine<'_, T>) -> Result<&'e mut Inspector, CaseFailure> {
    engine.inspector.as_mut().ok_or_else(|| {
        let message = "an integrity pass without an inspector".to_owned();
        failure(FailureReason::Internal, message)
    })
}

fn memory<T: Transport>(engine: &Engine<'_, T>) -> Result<Arc<Memory>, CaseFailure> {
    engine.thread.memory(engine.region).ok_or_else(|| {
        let message = "the memory of this case is gone".to_owned();
        failure(FailureReason::Internal, message)
    })
}

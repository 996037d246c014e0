//! Integrity pass of a case: posts the same operations as a measured case and checks every byte.
//!
//! Transfers are checked in groups. A group contains as many transfers as can be in flight without sharing memory. The
//! side that receives the payload poisons its memory and signals that the memory is prepared. The other side posts the
//! group and signals when all transfers are complete. After this signal, every byte is checked. Messages that arrive in
//! posted receives are instead checked on arrival. If both sides post, the two directions are checked one after
//! another. Ping-pongs and calls over a transport are checked message by message. Memory that is read back is checked
//! on both sides.

use crds::record::{CaseFailure, FailureReason, IntegrityReport};

use super::case::{Case, Role};
use super::engine::{Engine, data_seed, failure};
use super::program::Checked;
use crate::immediate::Signal;
use crate::integrity::{Inspector, combine, fill, poison};
use crate::transport::Transport;

/// Maximum number of bytes that a check transfers, unless more are needed to use every rail.
const TARGET_CHECK_BYTES: u64 = 64 * 1024 * 1024;

/// Combines the reports of all threads.
pub(super) fn combine_reports(threads: Vec<IntegrityReport>) -> IntegrityReport {
    threads.into_iter().reduce(combine).unwrap_or_default()
}

/// Checks the payload of one thread in a case. `check` gets the number of transfers to check, and returns the number of those
/// that arrived at this thread. The report is empty if none did.
pub(super) fn check_bytes<T: Transport>(
    engine: &mut Engine<'_, T>,
    case: &Case<'_>,
    check: impl FnOnce(&mut Engine<'_, T>, u64) -> Result<u64, CaseFailure>,
) -> Result<Checked, CaseFailure> {
    let transfers = transfers_to_check(engine);
    poison_landing(engine)?;
    engine.synchronize()?;
    let received = check(engine, transfers)?;
    finish(engine, case.role)?;
    let is_pipelined = case.scenario.workload.is_pipelined();
    let batch = is_pipelined.then_some(u64::from(engine.geometry.batch));
    let thread = engine.thread.number as u32;
    let mut report = inspector(engine)?.verifier().report(received);
    if let Some(mismatch) = &mut report.first_mismatch {
        mismatch.thread = thread;
        mismatch.batch = batch.map(|batch| mismatch.transfer / batch);
    }
    Ok((report, Vec::new()))
}

/// Poisons all memory in which payload may arrive. Must run before the other side can post.
pub(super) fn poison_landing<T: Transport>(engine: &mut Engine<'_, T>) -> Result<(), CaseFailure> {
    let memory = engine.memory()?;
    let geometry = &engine.geometry;
    let deadline = engine.waiter.deadline();
    let poison = |offset: u64, length: u64| {
        deadline.in_parts("poisoning memory", length as usize, |part, count| {
            poison(&memory, offset + part as u64, count as u64)
        })
    };
    match geometry.receives {
        Some(receives) => {
            let length = receives.slots.stride * (receives.slots.count - 1) + receives.length;
            poison(geometry.landing_base, length)
        }
        None => geometry
            .landing
            .iter()
            .try_for_each(|offset| poison(*offset, geometry.size)),
    }
}

/// Fills source slot `slot` with the pattern of transfer `number`.
pub(super) fn fill_source<T: Transport>(
    engine: &Engine<'_, T>,
    case: &Case<'_>,
    slot: usize,
    number: u64,
) -> Result<(), CaseFailure> {
    let seed = data_seed(case.seed, case.role, engine.thread.number);
    let geometry = &engine.geometry;
    fill(
        &*engine.memory()?,
        geometry.source[slot],
        seed,
        number,
        (0, geometry.size),
    )
}

/// Checks every chunk of transfer `number`, which was written into a landing slot, and poisons the slot again.
pub(super) fn check_landing<T: Transport>(
    engine: &mut Engine<'_, T>,
    slot: usize,
    number: u64,
) -> Result<(), CaseFailure> {
    verify_landing(engine, slot, number)?;
    let memory = engine.memory()?;
    poison(&memory, engine.geometry.landing[slot], engine.geometry.size)
}

/// Checks every chunk of transfer `number`, which was written into a landing slot.
pub(super) fn verify_landing<T: Transport>(
    engine: &mut Engine<'_, T>,
    slot: usize,
    number: u64,
) -> Result<(), CaseFailure> {
    let memory = engine.memory()?;
    let base = engine.geometry.landing[slot];
    let stripes = engine.geometry.stripes;
    let verifier = inspector(engine)?.verifier();
    for index in 0..stripes.rails {
        let chunk = stripes.chunk(index);
        verifier.check_chunk(&memory, base + chunk.0, number, chunk)?;
    }
    Ok(())
}

/// Ends the case together with the other side.
pub(super) fn finish<T: Transport>(engine: &mut Engine<'_, T>, role: Role) -> Result<(), CaseFailure> {
    match role {
        Role::Initiator => {
            engine.signal(Signal::Stop)?;
            engine.serve_until("waiting for the target to finish", |engine| engine.inbox.stopped)?;
        }
        Role::Target => {
            engine.serve_until("waiting for the initiator to finish", |engine| engine.inbox.stop)?;
            engine.signal(Signal::Stopped)?;
        }
    }
    engine.wait_for_local_completions()
}

/// Number of transfers to check: at least twice the window, and enough bursts to use every rail.
///
/// For large transfers, the number is reduced to stay within `TARGET_CHECK_BYTES`, but every rail is still used.
fn transfers_to_check<T: Transport>(engine: &Engine<'_, T>) -> u64 {
    let geometry = &engine.geometry;
    let rails = engine.thread.tokens.len() as u64;
    let all_rails = if geometry.stripes.rails > 1 {
        1
    } else {
        rails * u64::from(geometry.batch)
    };
    let wanted = (2 * u64::from(geometry.window)).max(all_rails);
    let affordable = TARGET_CHECK_BYTES / geometry.size.max(1);
    wanted.min(affordable.max(all_rails))
}

fn inspector<'e, T: Transport>(engine: &'e mut Engine<'_, T>) -> Result<&'e mut Inspector, CaseFailure> {
    engine.inspector.as_mut().ok_or_else(|| {
        let message = "an integrity pass has no inspector; this is a bug in fabricbench".to_owned();
        failure(FailureReason::Internal, message)
    })
}

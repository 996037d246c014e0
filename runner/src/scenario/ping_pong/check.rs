//! Checks a ping-pong, message by message.

use crds::record::CaseFailure;
use crds::v1alpha1::TransferOperation;

use crate::scenario::case::{Case, Role};
use crate::scenario::check::{check_landing, fill_source};
use crate::scenario::engine::Engine;
use crate::transport::Transport;

/// Checks `total` messages and their echoes. Returns the number of messages that arrived at this side.
pub(in crate::scenario) fn check<T: Transport>(
    engine: &mut Engine<'_, T>,
    case: &Case<'_>,
    total: u64,
) -> Result<u64, CaseFailure> {
    for number in 0..total {
        if case.role == Role::Initiator {
            post_message(engine, case, number)?;
        }
        engine.serve_until("waiting for a message", |engine| {
            engine.incoming.arrived() > number
        })?;
        if engine.geometry.operation != TransferOperation::Send {
            let slot = number % u64::from(engine.geometry.window);
            check_landing(engine, slot as usize, number)?;
        }
        if case.role == Role::Target {
            post_message(engine, case, number)?;
        }
    }
    Ok(total)
}

/// Posts message `number` from slot `number` modulo the window, so that all slots are used and both sides know the slot
/// of each message.
fn post_message<T: Transport>(
    engine: &mut Engine<'_, T>,
    case: &Case<'_>,
    number: u64,
) -> Result<(), CaseFailure> {
    engine.serve_until("waiting for the completion of the previous message", |engine| {
        engine.outgoing.in_flight() == 0
    })?;
    let slot = (number % u64::from(engine.geometry.window)) as u32;
    engine.outgoing.realign(slot);
    fill_source(engine, case, slot as usize, number)?;
    engine.post_burst(1)
}

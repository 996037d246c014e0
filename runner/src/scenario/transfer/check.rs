//! Checks transfers in one direction, group by group.

use crds::assignment::Extent;
use crds::record::CaseFailure;
use crds::v1alpha1::TransferOperation;

use super::poster::run_transfers;
use crate::immediate::Signal;
use crate::scenario::case::{Case, Role};
use crate::scenario::check::{check_landing, fill_source};
use crate::scenario::engine::Engine;
use crate::transport::Transport;

/// Checks `total` transfers posted by the side with role `poster`. Returns the number of transfers that arrived at
/// this side.
pub(super) fn check<T: Transport>(
    engine: &mut Engine<'_, T>,
    case: &Case<'_>,
    poster: Role,
    total: u64,
) -> Result<u64, CaseFailure> {
    let posts = case.role == poster;
    let reads = engine.geometry.operation == TransferOperation::Read;
    let window = u64::from(engine.geometry.window);
    // The poster is the source of the payload, except for reads.
    let sends_bytes = posts != reads;
    let arrives_in_slots = !sends_bytes && engine.geometry.operation != TransferOperation::Send;
    let mut first = 0;
    let mut groups = 0;
    while first < total {
        let count = window.min(total - first);
        if sends_bytes {
            for slot in 0..count {
                fill_source(engine, case, slot as usize, first + slot)?;
            }
        }
        groups += 1;
        if posts {
            engine.serve_until("waiting for the peer to prepare its memory", |engine| {
                engine.inbox.prepared >= groups
            })?;
            engine.outgoing.realign(0);
            run_transfers(engine, Extent::Iterations(count as u32), 0)?;
            engine.signal(Signal::Posted)?;
        } else {
            engine.signal(Signal::Prepared)?;
            engine.serve_until("waiting for the peer's transfers", |engine| {
                engine.inbox.posted >= groups
            })?;
        }
        if arrives_in_slots {
            for slot in 0..count {
                check_landing(engine, slot as usize, first + slot)?;
            }
        }
        first += count;
    }
    Ok(if sends_bytes { 0 } else { total })
}

//! Posts bursts of transfers according to the arm's policy.

use crds::record::{CaseFailure, FailureReason};
use crds::v1alpha1::TransferOperation;

use super::{Engine, failure};
use crate::arm_endpoints::tokens::PostOwner;
use crate::immediate::{Immediate, Message};
use crate::measure::clock;
use crate::posting::{PlannedPost, PostPath};
use crate::scenario::outgoing::AssignedSlot;
use crate::transport::{Operation, Post, PostError, Rail, Transport, failed_post_reason};

/// Memory offsets of a transfer on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferOffsets {
    /// Offset in the memory from which the data is transferred.
    pub source: u64,
    /// Offset in the memory to which the data is transferred.
    pub landing: u64,
}

const QUEUE_FULL: &str = "waiting for the library to accept a post (EAGAIN)";

impl<T: Transport> Engine<'_, T> {
    /// Posts a burst of `transfers` transfers; each transfer needs a free slot. Returns when all transfers are posted
    /// and the last post on each rail has requested the doorbell.
    ///
    /// # Errors
    /// Returns an error if a post fails or is rejected, or if the deadline passes while the library accepts no posts.
    #[inline]
    pub fn post_burst(&mut self, transfers: u32) -> Result<(), CaseFailure> {
        let timed = self.timed;
        self.post_from(transfers, || if timed { clock::now() } else { 0 }, None)
    }

    /// Posts one transfer, whose sample begins at `start`; the transfer needs a free slot.
    ///
    /// # Errors
    /// Returns the errors of [`Engine::post_burst`].
    pub fn post_transfer(&mut self, start: u64) -> Result<(), CaseFailure> {
        self.post_from(1, || start, None)
    }

    /// Posts one transfer of the case's size at `offsets`; the transfer needs a free slot.
    ///
    /// # Errors
    /// Returns the errors of [`Engine::post_burst`].
    pub fn post_at(&mut self, offsets: TransferOffsets) -> Result<(), CaseFailure> {
        self.post_from(1, || 0, Some(offsets))
    }

    /// Posts one transfer of `length` bytes on the first rail at `offsets`; the transfer needs a free slot.
    ///
    /// # Errors
    /// Returns the errors of [`Engine::post_burst`].
    pub fn post_bytes(
        &mut self,
        operation: TransferOperation,
        offsets: TransferOffsets,
        length: u64,
    ) -> Result<(), CaseFailure> {
        let assigned = self.assign_slot(1, 0)?;
        self.post_chunk(PlannedPost::only(0, (0, length)), assigned, operation, offsets)
    }

    /// Lets the transport prepare transfers of the case's size in every slot, so that the samples do not include the
    /// preparation time. If the case reads back, the reads that follow the transfers are prepared as well.
    ///
    /// # Errors
    /// Returns an error if the transport cannot prepare the transfers, or would not execute them as the spec requires.
    pub(super) fn prepare_posts(&mut self, reads_back: bool) -> Result<(), CaseFailure> {
        self.prepare_slots()?;
        if reads_back {
            self.reading_back = true;
            let prepared = self.prepare_slots();
            self.reading_back = false;
            prepared?;
        }
        Ok(())
    }

    /// Prepares a transfer in every slot. If a transfer has a single chunk, the chunk is prepared on every rail,
    /// because it may be posted on any of them.
    fn prepare_slots(&mut self) -> Result<(), CaseFailure> {
        let slots = self.geometry.source.len().min(self.geometry.landing.len()) as u32;
        let has_memory = self.thread.data.get(self.region).is_some_and(Option::is_some);
        if slots == 0 || !has_memory || self.remote.len() < self.thread.transport.rails() {
            return Ok(());
        }
        // Transfers in flight may share a slot.
        let at_once = self.geometry.window.div_ceil(slots);
        for slot in 0..slots {
            for index in 0..self.geometry.stripes.rails {
                let (offset, length) = self.geometry.stripes.chunk(index);
                let any_rail = self.geometry.stripes.rails == 1;
                let rails = if any_rail {
                    0..self.thread.transport.rails()
                } else {
                    index as usize..index as usize + 1
                };
                for rail in rails {
                    let planned = PlannedPost {
                        transfer: slot,
                        chunk: index as u32,
                        rail,
                        offset,
                        length,
                        last_on_rail: true,
                    };
                    self.prepare_post(planned, slot, at_once)?;
                }
            }
        }
        Ok(())
    }

    fn prepare_post(&mut self, planned: PlannedPost, slot: u32, at_once: u32) -> Result<(), CaseFailure> {
        let assigned = AssignedSlot { slot, number: 0 };
        let offsets = self.slot_offsets(slot);
        let (operation, offset) = self.operation(self.geometry.operation, planned, assigned, offsets);
        let thread = &mut *self.thread;
        let Some(Some(region)) = thread.data.get(self.region) else {
            return Ok(());
        };
        let post = Post {
            rail: planned.rail,
            peer: self.peer,
            operation,
            region,
            offset,
            length: planned.length,
            inject: false,
            more: false,
            token: 0,
        };
        let prepared = thread.transport.prepare(&post, at_once);
        prepared.map_err(|error| failure(error.reason, error.to_string()))
    }

    #[inline]
    fn assign_slot(&mut self, chunks: u32, start: u64) -> Result<AssignedSlot, CaseFailure> {
        self.outgoing.assign_slot(chunks, start).ok_or_else(no_free_slot)
    }

    /// Posts a burst of `transfers` transfers. `start` returns the time at which the sample of the next transfer
    /// begins. All transfers use `offsets`, or the offsets of their slots if it is `None`.
    #[inline]
    fn post_from(
        &mut self,
        transfers: u32,
        start: impl Fn() -> u64,
        offsets: Option<TransferOffsets>,
    ) -> Result<(), CaseFailure> {
        if transfers == 1 && self.geometry.stripes.rails == 1 {
            // A single post needs no plan, which would take about 10 ns.
            let planned = PlannedPost::only(self.rotation.rail(0), self.geometry.stripes.chunk(0));
            self.rotation.end_burst();
            self.posting.record_burst(1);
            let assigned = self.assign_slot(1, start())?;
            let offsets = offsets.unwrap_or_else(|| self.slot_offsets(assigned.slot));
            return self.post_chunk(planned, assigned, self.geometry.operation, offsets);
        }
        self.burst
            .plan(transfers, self.geometry.stripes, &mut self.rotation);
        self.posting.record_burst(self.burst.max_posts_per_rail());
        let mut assigned = None;
        for index in 0..self.burst.len() {
            let planned = self.burst.post(index);
            let assigned = match assigned {
                Some(assigned) if planned.chunk > 0 => assigned,
                _ => {
                    let next = self.assign_slot(self.geometry.stripes.rails as u32, start())?;
                    *assigned.insert(next)
                }
            };
            let offsets = offsets.unwrap_or_else(|| self.slot_offsets(assigned.slot));
            self.post_chunk(planned, assigned, self.geometry.operation, offsets)?;
        }
        Ok(())
    }

    /// Returns the offsets of the transfer in `slot`.
    #[inline]
    fn slot_offsets(&self, slot: u32) -> TransferOffsets {
        TransferOffsets {
            source: self.geometry.source[slot as usize],
            landing: self.geometry.landing[slot as usize],
        }
    }

    #[inline]
    fn post_chunk(
        &mut self,
        planned: PlannedPost,
        assigned: AssignedSlot,
        operation: TransferOperation,
        offsets: TransferOffsets,
    ) -> Result<(), CaseFailure> {
        let rail = planned.rail;
        let owner = PostOwner {
            case: self.number,
            slot: assigned.slot,
        };
        let (operation, offset) = self.operation(operation, planned, assigned, offsets);
        // A post that is retried after EAGAIN must ring the doorbell, because the earlier posts on the rail would
        // otherwise keep waiting for a doorbell. A read that follows a write also rings the doorbell, because providers
        // ignore FI_MORE on reads.
        let mut must_ring = planned.last_on_rail || self.reading_back;
        loop {
            if let Some(token) = self.thread.tokens[rail].take(owner) {
                let thread = &mut *self.thread;
                let Some(Some(region)) = thread.data.get(self.region) else {
                    return Err(super::missing_memory());
                };
                let post = Post {
                    rail,
                    peer: self.peer,
                    operation,
                    region,
                    offset,
                    length: planned.length,
                    inject: false,
                    more: false,
                    token,
                };
                match self.posting.attempt(&mut thread.transport, post, must_ring) {
                    Ok(PostPath::Ordinary) => return Ok(()),
                    Ok(PostPath::Injected) => {
                        thread.tokens[rail].release(token);
                        // An injected post has no completion. The peer's credit or echo confirms the arrival of the
                        // chunk.
                        self.outgoing.chunk_done(assigned.slot, 0);
                        return Ok(());
                    }
                    Err(error) => {
                        thread.tokens[rail].release(token);
                        self.check_post_error(error, rail, planned.length)?;
                    }
                }
            }
            must_ring = true;
            if !self.poll()? {
                self.idle_awake(QUEUE_FULL)?;
            }
        }
    }

    #[inline]
    fn operation(
        &self,
        operation: TransferOperation,
        planned: PlannedPost,
        assigned: AssignedSlot,
        offsets: TransferOffsets,
    ) -> (Operation, u64) {
        let source = offsets.source + planned.offset;
        let landing = offsets.landing + planned.offset;
        let remote = || self.remote[planned.rail];
        let immediate = || {
            let message = Message::Data {
                chunk: planned.chunk,
                transfer: assigned.number,
            };
            Immediate {
                case: self.tag,
                message,
            }
            .encode()
        };
        match operation {
            TransferOperation::Send => {
                let immediate = immediate();
                (Operation::Send { immediate }, source)
            }
            TransferOperation::Write if self.reading_back => {
                let operation = Operation::Read {
                    remote: remote(),
                    remote_offset: landing,
                };
                (operation, landing)
            }
            TransferOperation::Write => {
                let operation = Operation::Write {
                    remote: remote(),
                    remote_offset: landing,
                };
                (operation, source)
            }
            TransferOperation::WriteImmediate => {
                let operation = Operation::WriteImmediate {
                    remote: remote(),
                    remote_offset: landing,
                    immediate: immediate(),
                };
                (operation, source)
            }
            TransferOperation::Read => {
                let operation = Operation::Read {
                    remote: remote(),
                    remote_offset: source,
                };
                (operation, landing)
            }
        }
    }

    /// Returns `Ok` if the post may be retried.
    fn check_post_error(&mut self, error: PostError, rail: Rail, length: u64) -> Result<(), CaseFailure> {
        match error {
            PostError::Again => Ok(()),
            PostError::Refused(errno) => Err(failure(
                FailureReason::OperationRejected,
                format!(
                    "the library rejected {:?} of {length} bytes on rail {rail} (errno {errno})",
                    if self.reading_back {
                        TransferOperation::Read
                    } else {
                        self.geometry.operation
                    }
                ),
            )),
            PostError::Failed(errno) => Err(self.rail_failed(rail, errno)),
        }
    }

    /// Marks the endpoints as broken for this and all later cases, because the doorbell for the posts on the rail may
    /// never be rung.
    pub(super) fn rail_failed(&mut self, rail: Rail, errno: i32) -> CaseFailure {
        let pending = self.posting.awaiting_doorbell(rail);
        let message = format!(
            "a post on rail {rail} failed (errno {errno}), with {pending} earlier posts waiting for a doorbell"
        );
        self.thread.broken = Some(message.clone());
        failure(failed_post_reason(errno), message)
    }
}

#[cold]
fn no_free_slot() -> CaseFailure {
    let message = "a burst has more transfers than free slots; this is a bug in fabricbench".to_owned();
    failure(FailureReason::Internal, message)
}

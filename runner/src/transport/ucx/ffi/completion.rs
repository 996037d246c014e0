//! Drives progress and handles the events that the callbacks reported. Does not lock or log, and allocates only for
//! errors, and if more events or payloads wait than the queues have space for.

use super::CallError;
use super::events::{Event, Source};
use super::operations::{PostState, ReceiveState};
use super::rail::Rail;
use crate::transport::CompletionKind;
use ucx_sys::bindings::{UCS_ERR_CANCELED, ucs_status_t};

impl Rail {
    /// Drives progress, and passes up to `max_completions` completions to `handle`.
    ///
    /// # Errors
    ///
    /// Returns the first failure since the last call. Completions that are ready are returned by the next call.
    #[inline]
    pub(in crate::transport::ucx) fn poll_worker(
        &mut self,
        max_completions: usize,
        mut handle: impl FnMut(CompletionKind),
    ) -> Result<(), CallError> {
        let mut room = max_completions;
        self.take_ready(&mut room, &mut handle);
        // The library must not produce completions for which there is no space.
        if room > 0 {
            self.flush_all();
            self.progress();
            // Fetching a payload can add an event, which the loop below handles.
            self.match_messages();
            while room > 0 {
                // SAFETY: the exclusive reference guarantees that no other thread uses the worker, and this is not a
                // callback.
                let Some(event) = (unsafe { self.objects.events.pop() }) else {
                    break;
                };
                if let Some(completion) = self.handle_event(event) {
                    handle(completion);
                    room -= 1;
                }
            }
            self.take_ready(&mut room, &mut handle);
        }
        if self.failure.is_some() {
            return self.failure.take().map_or(Ok(()), Err);
        }
        Ok(())
    }

    /// Passes up to `room` of the completions that are ready to `handle`, and subtracts their number from `room`.
    #[inline]
    fn take_ready(&mut self, room: &mut usize, handle: &mut impl FnMut(CompletionKind)) {
        while *room > 0
            && let Some(completion) = self.ready.pop_front()
        {
            handle(completion);
            *room -= 1;
        }
    }

    /// Whether [`Self::poll_worker`] has work to do even without new events from the library.
    pub(super) fn has_work(&self) -> bool {
        !self.ready.is_empty() || self.failure.is_some() || self.has_due_flush()
    }

    /// Handles all events and messages that the callbacks reported. The next poll returns their completions.
    pub(super) fn handle_events(&mut self) {
        loop {
            // Fetching a payload can add an event.
            self.match_messages();
            // SAFETY: the exclusive reference guarantees that no other thread uses the worker, and this is not a callback.
            let Some(event) = (unsafe { self.objects.events.pop() }) else {
                return;
            };
            let completion = self.handle_event(event);
            self.ready.extend(completion);
        }
    }

    /// Handles an event. Returns the completion of its subject, if any. Other completions that follow from the event are
    /// returned by the next poll.
    #[inline]
    fn handle_event(&mut self, event: Event) -> Option<CompletionKind> {
        match event.source {
            Source::Post(token) if event.status < 0 => {
                self.posts[token as usize] = PostState::Idle;
                self.record_failure(
                    "completion",
                    event.status,
                    format_args!("the post with token {token}"),
                );
            }
            Source::Post(token) => match self.posts[token as usize] {
                PostState::Write { .. } => self.handle_put(token),
                PostState::Single | PostState::Idle => return Some(self.release_post(token)),
            },
            Source::Receive(token) => {
                if event.status < 0 {
                    self.receive_failed(token, "completion", event.status);
                    return None;
                }
                let state = &mut self.receives[token as usize];
                // The completion of a fetch does not contain the header of the message.
                let (immediate, length) = match *state {
                    ReceiveState::Fetching { immediate, length } => (immediate, length),
                    _ => (event.immediate, event.length),
                };
                *state = ReceiveState::Idle;
                return Some(CompletionKind::Received {
                    token,
                    immediate: Some(immediate),
                    length: length as u64,
                });
            }
            Source::Flush(slot) => self.handle_flush(slot, event.status),
            Source::Notification => {
                return Some(CompletionKind::RemoteWrite {
                    immediate: event.immediate,
                });
            }
            Source::Endpoint(peer) => {
                self.record_failure(
                    "completion",
                    event.status,
                    format_args!("the endpoint to peer {peer}"),
                );
            }
        }
        None
    }

    /// Releases the token of a post, and lets the next poll return its completion.
    #[inline]
    pub(super) fn complete_post(&mut self, token: u32) {
        let completion = self.release_post(token);
        self.ready.push_back(completion);
    }

    /// Releases the token of a post, and returns its completion.
    #[inline]
    fn release_post(&mut self, token: u32) -> CompletionKind {
        self.posts[token as usize] = PostState::Idle;
        CompletionKind::Posted { token }
    }

    /// Stores a failure for the next poll, unless one is already stored. A stored cancellation is replaced by the next
    /// failure, because a cancellation is a consequence of another failure.
    #[cold]
    pub(super) fn record_failure(
        &mut self,
        call: &'static str,
        status: ucs_status_t,
        operation: std::fmt::Arguments<'_>,
    ) {
        let is_consequence = |failure: &CallError| failure.status == UCS_ERR_CANCELED;
        if self.failure.as_ref().is_none_or(is_consequence) {
            let error = CallError::new(self.objects.library(), call, status);
            self.failure = Some(CallError {
                message: format!("{operation}: {}", error.message),
                ..error
            });
        }
    }
}

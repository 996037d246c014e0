//! Drives progress: queries the status of requests in flight, and reads notifications.

use super::rail::{InFlightPost, PostRequest, Rail, TransferError};
use super::{CallError, call, check};
use crate::measure::clock;
use crate::transport::nixl::rules::notification::Notification;
use crate::transport::{CompletionKind, Peer};
use crds::v1alpha1::StepTimes;
use nixl_sys::{ERROR_NOT_FOUND, IN_PROGRESS, SUCCESS, Telemetry};
use std::ffi::CStr;

impl Rail {
    /// Drives progress, and passes up to `max_completions` completions to `handle`.
    ///
    /// # Errors
    ///
    /// Returns the first failure since the last call. Completions that are ready are returned by the next call.
    #[inline]
    pub(in crate::transport::nixl) fn poll_agent(
        &mut self,
        max_completions: usize,
        mut handle: impl FnMut(CompletionKind),
    ) -> Result<(), TransferError> {
        // The library must not produce completions for which there is no space.
        if self.ready.len() < max_completions {
            self.check_posts_in_flight();
            if let Err(error) = self.read_notifications() {
                self.record_failure(TransferError {
                    error,
                    peer_is_lost: false,
                });
            }
        }
        for _ in 0..max_completions {
            let Some(completion) = self.ready.pop_front() else {
                break;
            };
            handle(completion);
        }
        match self.failure.take() {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    /// Queries the status of every post in flight.
    #[inline]
    fn check_posts_in_flight(&mut self) {
        let mut index = 0;
        while let Some(post) = self.in_flight_posts.get(index).copied() {
            let objects = &self.objects;
            let status = call!(objects.library, get_xfer_status(objects.agent, post.handle));
            match status {
                IN_PROGRESS => index += 1,
                SUCCESS => {
                    // Keeps the order of the other posts, so that they complete in the order in which they were posted.
                    self.in_flight_posts.remove(index);
                    self.complete(post);
                }
                status => {
                    self.in_flight_posts.remove(index);
                    self.fail_post(post, status);
                }
            }
        }
    }

    /// Releases the token and the request of a post, and reports its completion.
    #[inline]
    pub(super) fn complete(&mut self, post: InFlightPost) {
        if self.steps.is_some() {
            self.record_steps(&post);
        }
        self.in_flight[post.token as usize] = false;
        match post.request {
            PostRequest::Prepared(index) => self.requests.put_back(index),
            PostRequest::Created(handle) => self.objects.release_request(handle),
        }
        self.ready.push_back(CompletionKind::Posted { token: post.token });
    }

    #[cold]
    fn fail_post(&mut self, post: InFlightPost, status: i32) {
        self.in_flight[post.token as usize] = false;
        match post.request {
            PostRequest::Prepared(index) => self.requests.set_broken(index),
            PostRequest::Created(handle) => self.objects.release_request(handle),
        }
        let peer_is_lost = self.is_lost(post.peer);
        self.record_failure(TransferError {
            error: CallError {
                call: "get_xfer_status",
                status,
            },
            peer_is_lost,
        });
    }

    /// Whether the agent has dropped the peer's metadata, which happens when the connection is lost.
    fn is_lost(&self, peer: Peer) -> bool {
        let objects = &self.objects;
        self.peers.get(peer).is_some_and(|peer| {
            let status = call!(
                objects.library,
                check_remote_md(objects.agent, peer.name.as_ptr(), nixl_sys::TransferList::NULL)
            );
            status == ERROR_NOT_FOUND
        })
    }

    /// Stores a failure for the next poll, unless one is already stored.
    #[cold]
    fn record_failure(&mut self, failure: TransferError) {
        self.failure.get_or_insert(failure);
    }

    /// Adds the steps of a completed transfer to the totals for its kind.
    fn record_steps(&mut self, post: &InFlightPost) {
        let completion_nanos = clock::now().saturating_sub(post.posted);
        let mut telemetry = Telemetry::default();
        let objects = &self.objects;
        let status = call!(
            objects.library,
            get_xfer_telemetry(objects.agent, post.handle, &mut telemetry)
        );
        // If telemetry is not captured, the library reports nothing about this transfer, which is not an error.
        let is_reported = status == SUCCESS;
        let times = StepTimes {
            transfers: 1,
            creation_nanos: post.creation_nanos,
            post_nanos: post.post_nanos,
            completion_nanos,
            reported_transfers: u64::from(is_reported),
            reported_post_micros: telemetry.post_duration_us,
            reported_transfer_micros: telemetry.xfer_duration_us,
            reported_bytes: telemetry.total_bytes,
            reported_descriptors: telemetry.desc_count,
        };
        if let Some(steps) = &mut self.steps {
            steps.add(post.kind, &times);
        }
    }

    /// Reads the notifications that have arrived. If there is no progress thread, this call also drives progress.
    #[inline]
    fn read_notifications(&mut self) -> Result<(), CallError> {
        let objects = &self.objects;
        let (library, map) = (&objects.library, objects.notifications);
        let status = call!(library, get_notifs(objects.agent, map, objects.arguments));
        check("get_notifs", status)?;
        let mut agents = 0;
        check("notif_map_size", call!(library, notif_map_size(map, &mut agents)))?;
        if agents == 0 {
            return Ok(());
        }
        for agent in 0..agents {
            let mut name = std::ptr::null();
            let status = call!(library, notif_map_get_agent_at(map, agent, &mut name));
            check("notif_map_get_agent_at", status)?;
            let mut count = 0;
            let status = call!(library, notif_map_get_notifs_size(map, name, &mut count));
            check("notif_map_get_notifs_size", status)?;
            for index in 0..count {
                let (mut data, mut length) = (std::ptr::null(), 0);
                let status = call!(
                    library,
                    notif_map_get_notif(map, name, index, &mut data, &mut length)
                );
                check("notif_map_get_notif", status)?;
                // SAFETY: the library returned a buffer of this length, which exists until the map is cleared.
                let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), length) };
                match Notification::decode(bytes) {
                    Some(Notification::Write { immediate }) => {
                        self.ready.push_back(CompletionKind::RemoteWrite { immediate });
                    }
                    Some(message) => self.arrived.push_back(message),
                    None => {
                        // SAFETY: the library returned a C string, which exists until the map is cleared.
                        let agent = unsafe { CStr::from_ptr(name) };
                        tracing::warn!(?agent, "ignored a notification from another application");
                    }
                }
            }
        }
        check("notif_map_clear", call!(library, notif_map_clear(map)))?;
        self.deliver();
        Ok(())
    }

    /// Delivers messages to posted receives, in order.
    pub(super) fn deliver(&mut self) {
        while let (Some(_), Some(_)) = (self.receives.front(), self.arrived.front()) {
            let (Some(receive), Some(message)) = (self.receives.pop_front(), self.arrived.pop_front()) else {
                return;
            };
            self.receiving[receive.token as usize] = false;
            let Notification::Message {
                immediate,
                payload,
                length,
            } = message
            else {
                continue;
            };
            let offset = usize::try_from(receive.offset).unwrap_or(usize::MAX);
            let is_delivered = length as u64 <= receive.length
                && receive.memory.write_from(offset, &payload[..length]).is_ok();
            if is_delivered {
                self.ready.push_back(CompletionKind::Received {
                    token: receive.token,
                    immediate: Some(immediate),
                    length: length as u64,
                });
            } else {
                self.record_failure(TransferError {
                    error: CallError {
                        call: "get_notifs",
                        status: nixl_sys::ERROR_INVALID_PARAM,
                    },
                    peer_is_lost: false,
                });
            }
        }
    }
}

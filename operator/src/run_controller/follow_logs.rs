//! Follows the log of worker 0's pod, and buffers verified lines until they are persisted. `stream` parses the lines.
//! Performs I/O.
//!
//! After a disconnect, the log is read again from its first byte, and lines that are already known are skipped. The
//! buffer is bounded: while it is full, reading pauses.

mod reads;
mod stream;

use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::{AsyncRead, AsyncReadExt};
use k8s_openapi::api::core::v1::Pod;
use kube::api::LogParams;
use kube::{Api, Client};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tracing::{Instrument, info_span, warn};

use super::attempt_id::AttemptId;
use super::build::WORKER_CONTAINER;
use super::observed::StreamState;
use super::queue::sleep_until_or_forever;
use super::store::RunKey;
use reads::Reads;
use stream::Stream;

pub(super) use stream::ResumePoint;

/// Read size, in bytes.
const CHUNK: usize = 16 * 1024;
/// Number of buffered bytes in complete blocks at which records are persisted without waiting for [`BATCH_TIME`].
const BATCH_BYTES: usize = 256 * 1024;
/// Interval at which records are persisted.
const BATCH_TIME: Duration = Duration::from_secs(5);
/// Number of unpersisted bytes at which reading pauses.
const MAX_BUFFERED_BYTES: usize = 1024 * 1024;

/// The pod whose log is followed.
#[derive(Clone, Debug)]
pub(super) struct LogSource {
    /// The run that the pod belongs to.
    pub(super) run: RunKey,
    /// The attempt that the pod belongs to.
    pub(super) attempt: AttemptId,
    /// Name of the pod.
    pub(super) pod: String,
    /// UID of the pod. A pod with the same name but a different UID has a different log.
    pub(super) pod_uid: String,
}

/// Follows a log until the follower is dropped.
pub(super) struct Follower {
    pub(super) source: LogSource,
    shared: Arc<SharedState>,
    task: JoinHandle<()>,
}

struct SharedState {
    state: Mutex<FollowState>,
    /// Notified when the buffer has space again or the container has terminated.
    changed: Notify,
}

struct FollowState {
    stream: Stream,
    /// Time of the last record write.
    persisted_at: Instant,
    /// Whether the log was read to its end.
    closed: bool,
    /// Whether the log was read to its end and every line is persisted.
    settled: bool,
    /// Whether the worker's container has terminated.
    terminated: bool,
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Follower {
    /// Starts following the log of `source`. Lines before `resume` are already persisted. `wake` is called when there
    /// are lines to persist or the log has ended.
    pub(super) fn start(
        client: Client,
        source: LogSource,
        resume: ResumePoint,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let shared = Arc::new(SharedState {
            state: Mutex::new(FollowState {
                stream: Stream::new(source.attempt, resume),
                persisted_at: Instant::now(),
                closed: false,
                settled: false,
                terminated: false,
            }),
            changed: Notify::new(),
        });
        let span = info_span!("log", run = %source.run, pod = source.pod);
        let api = Api::namespaced(client, &source.run.namespace);
        let follow = follow(api, source.clone(), Arc::clone(&shared), wake);
        let task = tokio::spawn(follow.instrument(span));
        Self { source, shared, task }
    }

    /// Records that the worker's container has terminated. Until then, the end of a connection does not mean the end of
    /// the log.
    pub(super) fn container_terminated(&self) {
        let mut state = self.shared.lock();
        if !state.terminated {
            state.terminated = true;
            drop(state);
            self.shared.changed.notify_one();
        }
    }

    /// Whether there is a complete block that has not been taken yet.
    pub(super) fn has_complete_blocks(&self) -> bool {
        self.shared.lock().stream.complete_block_bytes() > 0
    }

    /// Takes the lines to persist, if a write is due: whole blocks, or every line if the log was read to its end or a
    /// block exceeds the buffer.
    pub(super) fn take_due(&self) -> Option<Vec<u8>> {
        let mut state = self.shared.lock();
        if !state.is_due(Instant::now()) {
            return None;
        }
        let everything = state.closed || state.is_full();
        state.stream.take(everything)
    }

    /// Takes the whole blocks, or every line if the log was read to its end, whether or not a write is due.
    pub(super) fn take_remaining(&self) -> Option<Vec<u8>> {
        let mut state = self.shared.lock();
        let everything = state.closed;
        state.stream.take(everything)
    }

    /// Records that the taken lines are persisted.
    pub(super) fn mark_persisted(&self) {
        let mut state = self.shared.lock();
        state.persisted_at = Instant::now();
        drop(state);
        self.shared.changed.notify_one();
    }

    /// Returns the state of the stream, which is closed only after every line is persisted.
    pub(super) fn state(&self) -> StreamState {
        let mut state = self.shared.lock();
        state.settled |= state.closed && state.stream.buffered_bytes() == 0;
        StreamState {
            attempt: self.source.attempt,
            pod_uid: self.source.pod_uid.clone(),
            closed: state.settled,
            end: state.stream.end().cloned(),
            fault: state.stream.fault(),
        }
    }
}

impl SharedState {
    fn lock(&self) -> MutexGuard<'_, FollowState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FollowState {
    fn is_due(&self, now: Instant) -> bool {
        let complete = self.stream.complete_block_bytes();
        let late = complete > 0 && now >= self.persisted_at + BATCH_TIME;
        self.closed || self.is_full() || complete >= BATCH_BYTES || late
    }

    /// Whether reading is paused until lines are taken.
    fn is_full(&self) -> bool {
        self.stream.buffered_bytes() > MAX_BUFFERED_BYTES
    }

    /// Returns the time at which the complete blocks must be persisted even if no more bytes arrive.
    fn due_at(&self) -> Option<Instant> {
        (self.stream.complete_block_bytes() > 0).then(|| self.persisted_at + BATCH_TIME)
    }
}

async fn follow(api: Api<Pod>, source: LogSource, shared: Arc<SharedState>, wake: impl Fn() + Send + Sync) {
    let params = LogParams {
        container: Some(WORKER_CONTAINER.to_owned()),
        follow: true,
        ..LogParams::default()
    };
    let mut reads = Reads::default();
    loop {
        let terminated_before = shared.lock().terminated;
        shared.lock().stream.restart();
        let result = match api.log_stream(&source.pod, &params).await {
            Ok(bytes) => read(bytes, &shared, &wake).await,
            // A 404 is final only if the container had already terminated: a kubelet that has just started also returns
            // 404 until it knows its pods.
            Err(kube::Error::Api(status)) if status.is_not_found() && terminated_before => {
                shared.lock().stream.fail("the pod and its log are gone");
                Ok(0)
            }
            Err(error) => Err(io::Error::other(error)),
        };
        let closed = {
            let mut state = shared.lock();
            match result {
                Ok(_) if state.stream.is_finished() => {}
                Ok(length) if !terminated_before => reads.record_running(length),
                Ok(length) if reads.record_length(length) => state.stream.finish(),
                Ok(_) => {}
                Err(error) => {
                    warn!(%error, "reading the log failed");
                    if terminated_before && reads.record_failure() {
                        let fault =
                            format!("the container has terminated and its log cannot be read: {error}");
                        state.stream.fail(&fault);
                    }
                }
            }
            state.closed = state.stream.is_finished();
            state.closed
        };
        if closed {
            wake();
            return;
        }
        let delay = reads.next_delay();
        if terminated_before {
            sleep(delay).await;
        } else if timeout(delay, wait_until_terminated(&shared)).await.is_ok() {
            // The pod status reports the termination soon after the end of the log, so this wait is usually short.
            reads.container_terminated();
        }
    }
}

async fn wait_until_terminated(shared: &SharedState) {
    while !shared.lock().terminated {
        shared.changed.notified().await;
    }
}

/// Reads from one connection until the connection or the stream ends. Returns the number of bytes.
async fn read(
    bytes: impl AsyncRead,
    shared: &SharedState,
    wake: &(impl Fn() + Send + Sync),
) -> io::Result<u64> {
    let mut bytes = pin!(bytes);
    let mut chunk = vec![0; CHUNK];
    let mut length = 0;
    loop {
        let due_at = shared.lock().due_at();
        let count = tokio::select! {
            count = bytes.read(&mut chunk) => count?,
            () = sleep_until_or_forever(due_at) => {
                wake();
                wait_until_taken(shared, due_at).await;
                continue;
            }
        };
        let Some(read) = chunk.get(..count).filter(|read| !read.is_empty()) else {
            return Ok(length);
        };
        length += read.len() as u64;
        let finished = {
            let mut state = shared.lock();
            state.stream.feed(read);
            state.stream.is_finished()
        };
        if finished {
            return Ok(length);
        }
        if shared.lock().is_due(Instant::now()) {
            wake();
        }
        while shared.lock().is_full() {
            wake();
            shared.changed.notified().await;
        }
    }
}

/// Waits until the lines that were due at `due_at` have been taken, so that `wake` is not called again for the same
/// lines.
async fn wait_until_taken(shared: &SharedState, due_at: Option<Instant>) {
    while shared.lock().due_at() == due_at && due_at.is_some() {
        shared.changed.notified().await;
    }
}

#[cfg(test)]
mod tests;

//! Follows the log of worker 0's pod from its first byte, and holds what verified until it is persisted. I/O; what a line
//! means is decided in `stream`.
//!
//! A connection that ends is opened again from the first byte, and lines that are known are passed over. Memory is bounded
//! by what may wait to be persisted: reading stops until there is room.

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
use tokio::time::{Instant, sleep_until, timeout_at};
use tracing::{Instrument, info_span, warn};

use super::build::WORKER_CONTAINER;
use super::observed::StreamState;
use super::store::RunKey;
use stream::Stream;

pub(super) use stream::Begun;

/// Bytes read at a time.
const CHUNK: usize = 16 * 1024;
/// Bytes that are persisted at once, however little time has passed.
const BATCH_BYTES: usize = 256 * 1024;
/// Time between two writes of records.
const BATCH_TIME: Duration = Duration::from_secs(5);
/// Bytes that may wait to be persisted.
const MAX_WAITING_BYTES: usize = 1024 * 1024;
/// First and longest delay before a log is opened again.
const FIRST_DELAY: Duration = Duration::from_millis(200);
const LONGEST_DELAY: Duration = Duration::from_secs(10);
/// Tries to read the log of a container that has ended: a node that does not answer for so long has lost it.
const MAX_FAILURES: u32 = 8;

/// The log of one pod.
#[derive(Clone, Debug)]
pub(super) struct Log {
    /// The run it belongs to.
    pub(super) run: RunKey,
    /// Name of the pod.
    pub(super) pod: String,
    /// UID of the pod: the log of no other will do.
    pub(super) pod_uid: String,
}

/// A log that is followed; dropping it ends that.
pub(super) struct Follower {
    pub(super) log: Log,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    state: Mutex<State>,
    /// There is room again, or the pod changed.
    changed: Notify,
}

struct State {
    stream: Stream,
    /// When lines were last handed out.
    flushed_at: Instant,
    /// Nothing more will come.
    closed: bool,
    /// Everything was handed out after that, and is persisted.
    settled: bool,
    /// Whether the worker's container has ended.
    ended: bool,
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Follower {
    /// Begins to follow `log`; `persisted` says how far its stream is known. `due` is called when there is something to
    /// persist or to decide.
    pub(super) fn start(
        client: Client,
        log: Log,
        begun: Begun,
        due: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                stream: Stream::new(begun),
                flushed_at: Instant::now(),
                closed: false,
                settled: false,
                ended: false,
            }),
            changed: Notify::new(),
        });
        let span = info_span!("log", run = %log.run, pod = log.pod);
        let api = Api::namespaced(client, &log.run.namespace);
        let follow = follow(api, log.clone(), Arc::clone(&shared), due);
        let task = tokio::spawn(follow.instrument(span));
        Self { log, shared, task }
    }

    /// Tells whether the worker's container has ended: an end of the log before that is only an end of the connection.
    pub(super) fn container_ended(&self, ended: bool) {
        let mut state = self.shared.lock();
        if ended && !state.ended {
            state.ended = true;
            drop(state);
            self.shared.changed.notify_one();
        }
    }

    /// Lines to persist now, if it is time: whole blocks, or all there is where nothing more will come or a block is longer
    /// than what may wait.
    pub(super) fn take(&self) -> Option<Vec<u8>> {
        let mut state = self.shared.lock();
        if !state.due(Instant::now()) {
            return None;
        }
        let everything = state.closed || state.is_full();
        state.stream.take(everything)
    }

    /// Whole blocks to persist, whatever the time.
    pub(super) fn take_rest(&self) -> Option<Vec<u8>> {
        let mut state = self.shared.lock();
        let everything = state.closed;
        state.stream.take(everything)
    }

    /// What [`Self::take`] gave is persisted.
    pub(super) fn persisted(&self) {
        let mut state = self.shared.lock();
        state.flushed_at = Instant::now();
        drop(state);
        self.shared.changed.notify_one();
    }

    /// How far it is; closed only when everything is persisted.
    pub(super) fn state(&self) -> StreamState {
        let mut state = self.shared.lock();
        state.settled |= state.closed && state.stream.waiting() == 0;
        StreamState {
            pod_uid: self.log.pod_uid.clone(),
            closed: state.settled,
            end: state.stream.end().cloned(),
            fault: state.stream.fault(),
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn due(&self, now: Instant) -> bool {
        let ready = self.stream.ready();
        let late = ready > 0 && now >= self.flushed_at + BATCH_TIME;
        self.closed || self.is_full() || ready >= BATCH_BYTES || late
    }

    /// Whether nothing more is read before something was handed out.
    fn is_full(&self) -> bool {
        self.stream.waiting() > MAX_WAITING_BYTES
    }

    /// When what waits is to be persisted though nothing more came.
    fn due_at(&self) -> Option<Instant> {
        (self.stream.ready() > 0).then(|| self.flushed_at + BATCH_TIME)
    }
}

async fn follow(api: Api<Pod>, log: Log, shared: Arc<Shared>, due: impl Fn() + Send + Sync) {
    let params = LogParams {
        container: Some(WORKER_CONTAINER.to_owned()),
        follow: true,
        ..LogParams::default()
    };
    let mut delay = FIRST_DELAY;
    let mut failures = 0;
    loop {
        let ended_before = shared.lock().ended;
        shared.lock().stream.read_again();
        let read = match api.log_stream(&log.pod, &params).await {
            Ok(bytes) => read(bytes, &shared, &due).await,
            // A kubelet that has just started does not know its pods yet, and says the same as when they are gone.
            Err(kube::Error::Api(status)) if status.is_not_found() && ended_before => {
                shared.lock().stream.lose("the pod is gone, and its log with it");
                Ok(())
            }
            Err(error) => Err(io::Error::other(error)),
        };
        if let Err(error) = &read {
            warn!(%error, "the log's connection ended");
            failures += u32::from(ended_before);
            if failures >= MAX_FAILURES {
                let why = format!("its container has ended and the log cannot be read: {error}");
                shared.lock().stream.lose(&why);
            }
        }
        {
            let mut state = shared.lock();
            // A read that began after the container's end and came to its own end has seen everything.
            let complete = state.stream.is_over() || (ended_before && read.is_ok());
            if complete {
                state.stream.no_more();
                state.closed = true;
                drop(state);
                due();
                return;
            }
        }
        // The kubelet's word that the container has ended comes soon after the end of its log.
        let told = until_ended(&shared);
        let _ = timeout_at(Instant::now() + delay, told).await;
        delay = (delay * 2).min(LONGEST_DELAY);
    }
}

async fn until_ended(shared: &Shared) {
    while !shared.lock().ended {
        shared.changed.notified().await;
    }
}

/// Reads one connection to its end, or until the stream is over.
async fn read(bytes: impl AsyncRead, shared: &Shared, due: &(impl Fn() + Send + Sync)) -> io::Result<()> {
    let mut bytes = pin!(bytes);
    let mut chunk = vec![0; CHUNK];
    loop {
        let due_at = shared.lock().due_at();
        let count = tokio::select! {
            count = bytes.read(&mut chunk) => count?,
            () = at(due_at) => {
                due();
                wait_flushed(shared, due_at).await;
                continue;
            }
        };
        let Some(read) = chunk.get(..count).filter(|read| !read.is_empty()) else {
            return Ok(());
        };
        let over = {
            let mut state = shared.lock();
            state.stream.feed(read);
            state.stream.is_over()
        };
        if over {
            return Ok(());
        }
        if shared.lock().due(Instant::now()) {
            due();
        }
        while shared.lock().is_full() {
            due();
            shared.changed.notified().await;
        }
    }
}

/// Ends when lines were handed out since `before`, so that they are not asked for again and again.
async fn wait_flushed(shared: &Shared, before: Option<Instant>) {
    while shared.lock().due_at() == before && before.is_some() {
        shared.changed.notified().await;
    }
}

async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use crds::record::{BlockRecord, ChainWriter, Record, WarningReason, WarningRecord};

    use super::*;

    /// Reads `lines` while what is due is handed out at once; gives what was, piece by piece.
    async fn handed_out(lines: &[u8]) -> Vec<Vec<u8>> {
        let shared = Shared {
            state: Mutex::new(State {
                stream: Stream::new(Begun::default()),
                flushed_at: Instant::now(),
                closed: false,
                settled: false,
                ended: false,
            }),
            changed: Notify::new(),
        };
        let pieces = Mutex::new(Vec::new());
        let due = || {
            let mut state = shared.lock();
            let full = state.is_full();
            pieces.lock().unwrap().extend(state.stream.take(full));
            drop(state);
            shared.changed.notify_one();
        };
        read(lines, &shared, &due).await.unwrap();
        pieces.into_inner().unwrap()
    }

    #[tokio::test]
    async fn a_block_that_is_longer_than_what_may_wait_is_read_to_its_end() {
        let mut writer = ChainWriter::default();
        let mut lines = Vec::new();
        while lines.len() <= 2 * MAX_WAITING_BYTES {
            let warning = WarningRecord {
                rank: None,
                reason: WarningReason::Limit,
                message: "x".repeat(1000),
            };
            lines.extend(writer.line(&Record::Warning(warning)).unwrap().into_bytes());
        }
        let block = Record::Block(BlockRecord { block: 0, cases: 0 });
        lines.extend(writer.line(&block).unwrap().into_bytes());
        let pieces = handed_out(&lines).await;
        assert!(pieces.len() > 1, "{}", pieces.len());
        assert_eq!(pieces.concat(), lines);
    }
}

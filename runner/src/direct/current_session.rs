//! The session that a signal ends. Installs signal handlers.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::DirectError;
use crate::worker::agent::EVENT_CAPACITY;
use crate::worker::signals::{self, StopFlag};
use crate::worker_event::WorkerEvent;

/// Channel for the events of a session.
pub(super) type SessionEvents = (SyncSender<WorkerEvent>, Receiver<WorkerEvent>);

/// The session in progress, to which the signal handler sends.
#[derive(Clone, Default)]
pub(super) struct CurrentSession(Arc<Mutex<Option<SyncSender<WorkerEvent>>>>);

impl CurrentSession {
    /// Installs the handlers of SIGINT and SIGTERM, which end the session in progress. Returns the flag that they set.
    ///
    /// # Errors
    /// Returns an error if the handlers cannot be installed.
    pub(super) fn watch_signals(&self) -> Result<StopFlag, DirectError> {
        let session = self.clone();
        let watching = signals::watch(move |signal| {
            if let Some(sender) = &*session.lock() {
                // The send fails if the session has ended.
                let _ = sender.send(WorkerEvent::Stop(signal));
            }
        });
        watching.map_err(|source| DirectError::System {
            action: "installing the signal handlers",
            source,
        })
    }

    /// Runs `session` with a new channel, and returns its result. Returns `None` if a signal has arrived before.
    pub(super) fn run<R>(&self, stop: &StopFlag, session: impl FnOnce(SessionEvents) -> R) -> Option<R> {
        let (sender, events) = sync_channel(EVENT_CAPACITY);
        *self.lock() = Some(sender.clone());
        // A signal that arrived earlier could not notify this session.
        let result = (!stop.is_set()).then(|| session((sender, events)));
        *self.lock() = None;
        result
    }

    fn lock(&self) -> MutexGuard<'_, Option<SyncSender<WorkerEvent>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

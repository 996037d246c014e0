//! The session that a signal ends. Installs signal handlers.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crds::record::{CaseFailure, FailureReason};

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

    /// Runs `session` with a new channel.
    ///
    /// # Errors
    /// Returns the error of `session`, or an error if a signal has arrived before.
    pub(super) fn run(
        &self,
        stop: &StopFlag,
        session: impl FnOnce(SessionEvents) -> Result<(), DirectError>,
    ) -> Result<(), DirectError> {
        let (sender, events) = sync_channel(EVENT_CAPACITY);
        *self.lock() = Some(sender.clone());
        // A signal that arrived earlier could not notify this session.
        let result = match stop.is_set() {
            false => session((sender, events)),
            true => Err(DirectError::Incomplete {
                failure: CaseFailure {
                    reason: FailureReason::Interrupted,
                    message: "a signal arrived before the measurement began".to_owned(),
                },
            }),
        };
        *self.lock() = None;
        result
    }

    fn lock(&self) -> MutexGuard<'_, Option<SyncSender<WorkerEvent>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_before_the_session_is_an_error() {
        let (session, stop) = (CurrentSession::default(), StopFlag::default());
        session.run(&stop, |_| Ok(())).unwrap();
        stop.set();
        let error = session.run(&stop, |_| unreachable!()).unwrap_err();
        assert!(error.to_string().contains("a signal arrived before"), "{error}");
    }
}

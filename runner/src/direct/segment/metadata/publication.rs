//! A target's published entry. A thread renews the entry until the target exits. Uses TCP and standard error.

use std::io::{self, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::entry::Entry;
use super::{MetadataClient, MetadataError};

/// Number of renewals within the lifetime of an entry.
const RENEWALS: u32 = 3;

/// Segment that is published in a metadata service.
pub struct Publication {
    metadata: MetadataClient,
    name: String,
    run: String,
    stop: Option<Sender<()>>,
    renewal: Option<JoinHandle<()>>,
}

impl Publication {
    /// Publishes the segment `name` of run `run` at `address`, with entries that expire after `ttl_seconds`.
    ///
    /// # Errors
    /// Returns an error if the service does not store the entry, another run has published the segment, or the thread
    /// cannot be started.
    pub fn new(
        metadata: MetadataClient,
        name: &str,
        run: &str,
        address: &str,
        ttl_seconds: u64,
    ) -> Result<Self, MetadataError> {
        let [segment, run, address] = [name, run, address].map(str::to_owned);
        metadata.publish(&Entry::new(&segment, &run, &address, ttl_seconds), ttl_seconds)?;
        let (stop, stopped) = channel();
        let mut publication = Self {
            metadata: metadata.clone(),
            name: segment.clone(),
            run: run.clone(),
            stop: Some(stop),
            renewal: None,
        };
        let interval = Duration::from_secs(ttl_seconds) / RENEWALS;
        let renew = move || {
            let mut is_failing = false;
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                let renewed =
                    metadata.publish(&Entry::new(&segment, &run, &address, ttl_seconds), ttl_seconds);
                // The first failure after a success and the first success after a failure are reported. If standard
                // error is closed, they cannot be reported.
                let _ = match &renewed {
                    Err(error) if !is_failing => writeln!(
                        io::stderr(),
                        "the entry of segment {segment} cannot be renewed, so initiators may not find the segment: \
                         {error}"
                    ),
                    Ok(()) if is_failing => {
                        writeln!(io::stderr(), "segment {segment} has been published again")
                    }
                    _ => Ok(()),
                };
                is_failing = renewed.is_err();
            }
        };
        let renewal = thread::Builder::new().name("metadata".into()).spawn(renew);
        match renewal {
            Ok(renewal) => publication.renewal = Some(renewal),
            Err(error) => {
                return Err(MetadataError::Unreachable {
                    service: publication.metadata.display_name(),
                    reason: format!("a thread cannot be started: {error}"),
                });
            }
        }
        Ok(publication)
    }

    /// Removes the entry.
    ///
    /// # Errors
    /// Returns an error if the service does not remove the entry. The entry then remains until it expires.
    pub fn end(mut self) -> Result<(), MetadataError> {
        self.withdraw()
    }

    fn withdraw(&mut self) -> Result<(), MetadataError> {
        // The thread ends when the sender is dropped.
        if self.stop.take().is_none() {
            return Ok(());
        }
        if let Some(renewal) = self.renewal.take() {
            // The thread does not panic.
            let _ = renewal.join();
        }
        self.metadata.withdraw(&self.name, &self.run)
    }
}

impl Drop for Publication {
    fn drop(&mut self) {
        // The entry expires if it cannot be removed.
        let _ = self.withdraw();
    }
}

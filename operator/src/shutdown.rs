//! Shutdown request from SIGTERM or SIGINT, as a value that can be awaited.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing::info;

/// Receiver of the shutdown request. Every clone receives the request.
#[derive(Clone, Debug)]
pub(crate) struct Shutdown(watch::Receiver<bool>);

impl Shutdown {
    /// Installs handlers for SIGTERM and SIGINT.
    ///
    /// # Errors
    /// Returns an error if the signal handlers cannot be installed.
    pub(crate) fn listen() -> io::Result<Self> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let (sender, receiver) = watch::channel(false);
        tokio::spawn(async move {
            let name = tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
            };
            info!(signal = name, "stopping");
            // Sending fails only if all receivers were dropped because the process is exiting.
            let _ = sender.send(true);
            std::future::pending::<()>().await;
        });
        Ok(Self(receiver))
    }

    /// Waits until shutdown is requested.
    pub(crate) async fn requested(&mut self) {
        if self.0.wait_for(|requested| *requested).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

//! SIGTERM and SIGINT as a value that can be awaited. Listens to signals.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing::info;

/// Whether the process was told to stop. Clones are told together.
#[derive(Clone, Debug)]
pub struct Shutdown(watch::Receiver<bool>);

impl Shutdown {
    /// Listens for SIGTERM and SIGINT from now on.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn listen() -> io::Result<Self> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let (sender, receiver) = watch::channel(false);
        tokio::spawn(async move {
            let name = tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
            };
            info!(signal = name, "stopping");
            // Nobody listens any more when the process ended by itself.
            let _ = sender.send(true);
            std::future::pending::<()>().await;
        });
        Ok(Self(receiver))
    }

    /// Ends when the process was told to stop.
    pub async fn told(&mut self) {
        if self.0.wait_for(|told| *told).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

//! A worker's way to the coordinator: a connection, or a channel where both are one process.

use std::sync::mpsc::SyncSender;

use snafu::{ResultExt, Snafu};

use crate::rendezvous::link::{LinkError, LinkSender};
use crate::rendezvous::message::Report;
use crate::session::gang::GangEvent;

/// Where reports go.
#[derive(Debug)]
pub enum CoordinatorLink {
    /// To another process.
    Remote(LinkSender),
    /// To the coordinator in this process.
    Here(SyncSender<GangEvent>),
}

/// Why a report cannot be delivered.
#[derive(Debug, Snafu)]
pub enum ReportError {
    /// The connection is of no more use.
    #[snafu(display("{source}"))]
    Link {
        /// Why.
        source: LinkError,
    },
    /// The coordinator of this process has ended.
    #[snafu(display("it has ended"))]
    Ended,
}

impl CoordinatorLink {
    /// Delivers one report.
    ///
    /// # Errors
    /// When the coordinator does not listen any more.
    pub fn send(&mut self, report: &Report) -> Result<(), ReportError> {
        match self {
            Self::Remote(link) => link.send(report).context(LinkSnafu),
            Self::Here(sender) => {
                let report = report.clone();
                sender
                    .send(GangEvent::Report { rank: 0, report })
                    .map_err(|_| ReportError::Ended)
            }
        }
    }
}

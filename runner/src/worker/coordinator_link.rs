//! Link from a worker to the coordinator: a connection, or a channel if the worker and the coordinator run in the same
//! process.

use std::net::IpAddr;
use std::sync::mpsc::SyncSender;

use snafu::{ResultExt, Snafu};

use crate::rendezvous::link::{LinkError, LinkSender};
use crate::rendezvous::message::WorkerReport;
use crate::session::gang::GangEvent;

/// Link over which a worker reports to the coordinator.
#[derive(Debug)]
pub enum CoordinatorLink {
    /// Connection to a coordinator in another process.
    Remote(LinkSender),
    /// Channel to the coordinator in this process.
    Local(SyncSender<GangEvent>),
}

/// Failure to deliver a report.
#[derive(Debug, Snafu)]
pub enum ReportError {
    /// The connection failed.
    #[snafu(display("{source}"))]
    Link {
        /// Connection error.
        source: LinkError,
    },
    /// The coordinator thread in this process has exited.
    #[snafu(display("the coordinator thread has exited"))]
    Ended,
}

impl CoordinatorLink {
    /// Address of this worker on the connection; `None` if the coordinator is in this process.
    pub fn local_address(&self) -> Option<IpAddr> {
        match self {
            Self::Remote(link) => link.local_address(),
            Self::Local(_) => None,
        }
    }

    /// Sends one report.
    ///
    /// # Errors
    /// Returns an error if the coordinator no longer receives reports.
    pub fn send(&mut self, report: &WorkerReport) -> Result<(), ReportError> {
        match self {
            Self::Remote(link) => link.send(report).context(LinkSnafu),
            Self::Local(sender) => {
                let report = report.clone();
                sender
                    .send(GangEvent::Report { rank: 0, report })
                    .map_err(|_| ReportError::Ended)
            }
        }
    }
}

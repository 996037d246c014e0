//! Passes messages between the coordinator and the flows of a running case over the worker's socket.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use crds::record::{CaseFailure, FailureReason};
use rustix::event::{PollFd, PollFlags, poll};

use super::failure::internal;
use super::protocol::{MAX_MESSAGE_BYTES, Reply, Request};
use crate::frame::{self, FrameError, FrameReader};
use crate::rendezvous::message::{FlowCommand, FlowPhase};
use crate::scenario::FlowCoordinator;

/// The worker's socket while a case runs.
pub(super) struct SocketFlowCoordinator<'a> {
    pub(super) reader: &'a mut FrameReader<UnixStream>,
    pub(super) writer: &'a mut UnixStream,
}

impl FlowCoordinator for SocketFlowCoordinator<'_> {
    fn report(&mut self, phase: FlowPhase) -> Result<(), CaseFailure> {
        let written = frame::write(self.writer, &Reply::Reached(phase), MAX_MESSAGE_BYTES);
        written.map_err(|error| connection_failure(&error))
    }

    fn next(&mut self, wake: BorrowedFd<'_>) -> Result<Option<FlowCommand>, CaseFailure> {
        if !self.reader.has_line() {
            let socket = self.reader.stream().as_fd();
            let mut ready = [
                PollFd::from_borrowed_fd(socket, PollFlags::IN),
                PollFd::from_borrowed_fd(wake, PollFlags::IN),
            ];
            match poll(&mut ready, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    let source = io::Error::from(error);
                    return Err(connection_failure(&FrameError::Broken { source }));
                }
            }
            if ready[0].revents().is_empty() {
                return Ok(None);
            }
        }
        let line = self
            .reader
            .read(MAX_MESSAGE_BYTES, None)
            .map_err(|error| connection_failure(&error))?;
        match serde_json::from_slice(&line) {
            Ok(Request::Flows(command)) => Ok(Some(command)),
            Ok(other) => Err(internal(&format!("unexpected request during a case: {other:?}"))),
            Err(source) => Err(connection_failure(&FrameError::Syntax { source })),
        }
    }
}

fn connection_failure(error: &FrameError) -> CaseFailure {
    CaseFailure {
        reason: FailureReason::Interrupted,
        message: format!("connection to the worker failed during a case: {error}"),
    }
}

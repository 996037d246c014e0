//! Connection between two workers after the rendezvous. Uses TCP.

use std::net::{IpAddr, TcpStream};
use std::time::{Duration, Instant};

use crds::assignment::AttemptIdentity;
use serde::Serialize;
use serde::de::DeserializeOwned;
use snafu::{ResultExt, Snafu, ensure};

use super::message::{Envelope, MAX_MESSAGE_BYTES};
use crate::frame::{self, FrameError, FrameReader};

pub use crds::interface_load::HEARTBEAT;

/// Time without a message after which the other side is considered lost. It is ten heartbeat intervals, because a
/// loaded machine may delay heartbeats.
pub const SILENCE: Duration = Duration::from_secs(20);
/// Timeout for sending one message.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// Error that makes a connection unusable.
#[derive(Debug, Snafu)]
pub enum LinkError {
    /// The stream failed.
    #[snafu(display("{source}"))]
    Frame {
        /// Stream error.
        source: FrameError,
    },
    /// The message belongs to another attempt or rank.
    #[snafu(display("received a message from another run, plan, leg, attempt or rank"))]
    Identity,
    /// No message arrived for [`SILENCE`].
    #[snafu(display("no message arrived for {} s", SILENCE.as_secs()))]
    Silent,
}

/// The sending half of a connection.
#[derive(Debug)]
pub struct LinkSender {
    stream: TcpStream,
    identity: AttemptIdentity,
    rank: u32,
}

/// The receiving half of a connection.
#[derive(Debug)]
pub struct LinkReader {
    reader: FrameReader<TcpStream>,
    identity: AttemptIdentity,
    peer: u32,
}

/// Splits the connection from `rank` to `peer` into a sending half and a receiving half.
///
/// # Errors
/// Returns an error if the socket cannot be duplicated or configured.
pub fn split(
    reader: FrameReader<TcpStream>,
    identity: &AttemptIdentity,
    rank: u32,
    peer: u32,
) -> Result<(LinkSender, LinkReader), LinkError> {
    let prepare = || {
        let stream = reader.stream().try_clone()?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(SEND_TIMEOUT))?;
        Ok(stream)
    };
    let stream = prepare()
        .map_err(|source| FrameError::Broken { source })
        .context(FrameSnafu)?;
    let sender = LinkSender {
        stream,
        identity: identity.clone(),
        rank,
    };
    let receiver = LinkReader {
        reader,
        identity: identity.clone(),
        peer,
    };
    Ok((sender, receiver))
}

impl LinkSender {
    /// Address of this worker on the connection; `None` if the socket no longer has an address.
    pub fn local_address(&self) -> Option<IpAddr> {
        Some(self.stream.local_addr().ok()?.ip().to_canonical())
    }

    /// Sends one message.
    ///
    /// # Errors
    /// Returns an error if the stream fails or the other side does not read the message in time.
    pub fn send<M: Serialize>(&mut self, message: &M) -> Result<(), LinkError> {
        let envelope = Envelope {
            identity: self.identity.clone(),
            rank: self.rank,
            message,
        };
        frame::write(&mut self.stream, &envelope, MAX_MESSAGE_BYTES).context(FrameSnafu)
    }
}

impl LinkReader {
    /// Waits for the next message.
    ///
    /// # Errors
    /// Returns an error if the stream ends, no message arrives for [`SILENCE`], or the message is not from the peer.
    pub fn receive<M: DeserializeOwned>(&mut self) -> Result<M, LinkError> {
        let line = match self
            .reader
            .read(MAX_MESSAGE_BYTES, Some(Instant::now() + SILENCE))
        {
            Err(FrameError::TooSlow) => return SilentSnafu.fail(),
            result => result.context(FrameSnafu)?,
        };
        let envelope: Envelope<M> = serde_json::from_slice(&line)
            .map_err(|source| FrameError::Syntax { source })
            .context(FrameSnafu)?;
        let from_peer = envelope.identity == self.identity && envelope.rank == self.peer;
        ensure!(from_peer, IdentitySnafu);
        Ok(envelope.message)
    }
}

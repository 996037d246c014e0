//! A connection between two workers that know each other. Uses TCP.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use crds::assignment::LegIdentity;
use serde::Serialize;
use serde::de::DeserializeOwned;
use snafu::{ResultExt, Snafu, ensure};

use super::message::{Envelope, MAX_MESSAGE_BYTES};
use crate::frame::{self, FrameError, FrameReader};

/// How often each side says that it is alive.
pub const HEARTBEAT: Duration = Duration::from_secs(2);
/// Silence after which the other side counts as dead: ten heartbeats, for a loaded machine may hold some back.
pub const SILENCE: Duration = Duration::from_secs(20);
/// How long a message may take to leave.
const SEND_WAIT: Duration = Duration::from_secs(10);

/// Why a connection is of no more use.
#[derive(Debug, Snafu)]
pub enum LinkError {
    /// The stream itself failed.
    #[snafu(display("{source}"))]
    Frame {
        /// How.
        source: FrameError,
    },
    /// The message belongs elsewhere.
    #[snafu(display("a message of another run, plan, leg, attempt or rank came in"))]
    Identity,
    /// Nothing was heard.
    #[snafu(display("nothing was heard for {} s", SILENCE.as_secs()))]
    Silent,
}

/// The sending half.
#[derive(Debug)]
pub struct LinkSender {
    stream: TcpStream,
    identity: LegIdentity,
    rank: u32,
}

/// The receiving half.
#[derive(Debug)]
pub struct LinkReader {
    reader: FrameReader<TcpStream>,
    identity: LegIdentity,
    peer: u32,
}

/// Makes both halves of a connection of `rank` to `peer`.
///
/// # Errors
/// When the connection is broken already.
pub fn link(
    reader: FrameReader<TcpStream>,
    identity: &LegIdentity,
    rank: u32,
    peer: u32,
) -> Result<(LinkSender, LinkReader), LinkError> {
    let prepare = || {
        let stream = reader.stream().try_clone()?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(SEND_WAIT))?;
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
    /// Sends one message.
    ///
    /// # Errors
    /// When the other side does not take it.
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
    /// The next message.
    ///
    /// # Errors
    /// When the stream ends, nothing came for [`SILENCE`], or the message is not the peer's.
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
        let ours = envelope.identity == self.identity && envelope.rank == self.peer;
        ensure!(ours, IdentitySnafu);
        Ok(envelope.message)
    }
}

//! First messages between a client and a server that listens for it: the proposal and the response, each as one line of
//! JSON. Uses TCP.

use std::io;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crds::assignment::Assignment;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::message::PROTOCOL_VERSION;
use crate::frame::{self, FrameError, FrameReader};

/// Value of [`OpeningMessage::program`].
const PROGRAM: &str = "fabricbench-runner";
/// Maximum length of a message, in bytes. The limit is low because the sender may be unknown.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;
/// Timeout for receiving a client's proposal.
const PROPOSAL_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout for receiving the proposal of a client that is refused because the server is busy. Other clients wait
/// meanwhile.
const BUSY_PROPOSAL_TIMEOUT: Duration = Duration::from_secs(1);
/// Timeout for receiving a server's response. The server first reads the properties of its machine.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);
/// Timeout for sending a message.
const SEND_TIMEOUT: Duration = Duration::from_secs(5);

/// First message from a client. Its outer fields are the same in all versions.
#[derive(Debug, Serialize, Deserialize)]
struct OpeningMessage<T> {
    program: String,
    version: String,
    protocol: u32,
    request: T,
}

/// What a client proposes: to execute an assignment for two workers, in which the server has rank 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Proposal<T = Assignment> {
    /// The assignment, without what each side chooses for itself: libraries, environment variables and rails.
    pub assignment: T,
    /// Segment that the client expects at the server's address. Set only if the client found the address in a metadata
    /// service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<ExpectedSegment>,
}

/// Segment that a client expects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExpectedSegment {
    /// Name of the segment.
    pub name: String,
    /// Identifier of the target run that published it.
    pub run: String,
}

/// Response from a server.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Response {
    /// The server becomes the worker with rank 1.
    Accepted,
    /// The server refuses the proposal.
    Refused(Refusal),
}

/// Rejection of a proposal, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// Category of the reason.
    pub reason: RefusalReason,
    /// Description, with the fix.
    pub message: String,
}

/// Category of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RefusalReason {
    /// The first message is not a request from fabricbench-runner.
    NotARequest,
    /// The client has a different version.
    VersionMismatch,
    /// The proposal is invalid or exceeds the server's limits.
    InvalidRequest,
    /// The server measures with another client.
    Busy,
}

/// Sends `proposal` and waits for the response. Returns the connection's reader, from which the server's next messages
/// are read.
///
/// # Errors
/// Returns an error if the connection fails, or the other side is not a server.
pub(super) fn propose(
    stream: TcpStream,
    proposal: &Proposal,
) -> Result<Result<FrameReader<TcpStream>, Refusal>, FrameError> {
    let mut reader = FrameReader::new(stream);
    let opening = OpeningMessage {
        program: PROGRAM.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        protocol: PROTOCOL_VERSION,
        request: proposal,
    };
    send(reader.stream(), &opening)?;
    let line = reader.read(MAX_MESSAGE_BYTES, Some(Instant::now() + RESPONSE_TIMEOUT))?;
    match serde_json::from_slice(&line).map_err(|source| FrameError::Syntax { source })? {
        Response::Accepted => Ok(Ok(reader)),
        Response::Refused(refusal) => Ok(Err(refusal)),
    }
}

/// Reads the proposal of a client, which the subcommand `client` starts, and checks it with `check`.
///
/// # Errors
/// Returns the reason for refusing the client. The reason has already been sent to the client.
pub fn receive(
    stream: TcpStream,
    client: &str,
    check: impl FnOnce(&Proposal) -> Result<(), String>,
) -> Result<(Proposal, FrameReader<TcpStream>), Refusal> {
    let mut reader = FrameReader::new(stream);
    let line = reader.read(MAX_MESSAGE_BYTES, Some(Instant::now() + PROPOSAL_TIMEOUT));
    let proposal = match line {
        Ok(line) => parse(&line, client, check),
        Err(error) => Err(invalid_message(client, &error.to_string())),
    };
    match proposal {
        Ok(proposal) => Ok((proposal, reader)),
        Err(refusal) => {
            // The client may have disconnected.
            let _ = send(reader.stream(), &Response::Refused(refusal.clone()));
            Err(refusal)
        }
    }
}

/// Refuses the client of `stream` because the session with the client at `address` is in progress. If the client has
/// disconnected or sends nothing, it is ignored.
pub fn refuse_busy(stream: TcpStream, address: &str) {
    let mut reader = FrameReader::new(stream);
    // If data remained unread, closing the connection would discard the response.
    let _ = reader.read(MAX_MESSAGE_BYTES, Some(Instant::now() + BUSY_PROPOSAL_TIMEOUT));
    let refusal = Refusal {
        reason: RefusalReason::Busy,
        message: format!(
            "it measures with the client at {address}, and serves one client after another: try again when that client \
             has finished, or wait for it with a longer --connect-timeout"
        ),
    };
    let _ = send(reader.stream(), &Response::Refused(refusal));
}

/// Sends the response that accepts the proposal.
///
/// # Errors
/// Returns an error if the connection fails.
pub fn accept(reader: &FrameReader<TcpStream>) -> Result<(), FrameError> {
    send(reader.stream(), &Response::Accepted)
}

/// Parses the first message of a client.
fn parse(
    line: &[u8],
    client: &str,
    check: impl FnOnce(&Proposal) -> Result<(), String>,
) -> Result<Proposal, Refusal> {
    let opening: OpeningMessage<Box<RawValue>> =
        serde_json::from_slice(line).map_err(|error| invalid_message(client, &error.to_string()))?;
    if opening.program != PROGRAM {
        return Err(invalid_message(client, "it names a different program"));
    }
    let version = env!("CARGO_PKG_VERSION");
    if opening.protocol != PROTOCOL_VERSION || opening.version != version {
        return Err(Refusal {
            reason: RefusalReason::VersionMismatch,
            message: format!(
                "the client has version {:.40} (protocol {}), and the server has version {version} (protocol \
                 {PROTOCOL_VERSION}): use the same version on both machines",
                opening.version, opening.protocol
            ),
        });
    }
    let invalid = |message| Refusal {
        reason: RefusalReason::InvalidRequest,
        message,
    };
    let Proposal { assignment, segment }: Proposal<Box<RawValue>> =
        serde_json::from_str(opening.request.get())
            .map_err(|error| invalid(format!("the request cannot be parsed: {error}")))?;
    let assignment =
        Assignment::parse(assignment.get().as_bytes()).map_err(|error| invalid(error.to_string()))?;
    let proposal = Proposal { assignment, segment };
    check(&proposal).map_err(invalid)?;
    Ok(proposal)
}

fn invalid_message(client: &str, cause: &str) -> Refusal {
    Refusal {
        reason: RefusalReason::NotARequest,
        message: format!("the first message is not a request from `fabricbench-runner {client}`: {cause}"),
    }
}

fn send(mut stream: &TcpStream, message: &impl Serialize) -> Result<(), FrameError> {
    let prepare = || -> io::Result<()> {
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(SEND_TIMEOUT))
    };
    prepare().map_err(|source| FrameError::Broken { source })?;
    frame::write(&mut stream, message, MAX_MESSAGE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(line: &str) -> Refusal {
        parse(line.as_bytes(), "connect", |_| Ok(())).unwrap_err()
    }

    #[test]
    fn refuses_other_programs_and_other_versions() {
        let invalid = refusal("GET / HTTP/1.1");
        assert_eq!(invalid.reason, RefusalReason::NotARequest);
        assert!(
            invalid.message.contains("`fabricbench-runner connect`"),
            "{invalid:?}"
        );
        let other = r#"{"program":"iperf3","version":"1","protocol":1,"request":{}}"#;
        assert_eq!(refusal(other).reason, RefusalReason::NotARequest);
        let newer = r#"{"program":"fabricbench-runner","version":"99.0","protocol":7,"request":{},"more":1}"#;
        let found = refusal(newer);
        assert_eq!(found.reason, RefusalReason::VersionMismatch);
        assert!(found.message.contains("99.0") && found.message.contains("same version on both"));
    }

    #[test]
    fn refuses_a_request_with_unknown_content() {
        let version = env!("CARGO_PKG_VERSION");
        for (request, unknown) in [
            (r#"{"env":{}}"#, "env"),
            (r#"{"assignment":{"files":1}}"#, "files"),
        ] {
            let line = format!(
                r#"{{"program":"fabricbench-runner","version":"{version}","protocol":{PROTOCOL_VERSION},"request":{request}}}"#
            );
            let found = refusal(&line);
            assert_eq!(found.reason, RefusalReason::InvalidRequest);
            assert!(found.message.contains(unknown), "{}", found.message);
        }
    }
}

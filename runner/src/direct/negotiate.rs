//! First messages between client and server: the request and the response, each as one line of JSON. Uses TCP.

use std::io;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use snafu::{ResultExt, Snafu};

use super::request::{Limits, Request};
use crate::frame::{self, FrameError, FrameReader};
use crate::rendezvous::message::PROTOCOL_VERSION;

/// Value of [`OpeningMessage::program`].
const PROGRAM: &str = "fabricbench-runner";
/// Maximum length of a message, in bytes. The limit is low because the sender may be unknown.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;
/// Timeout for receiving a client's request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout for receiving the request of a client that is refused because the server is busy. Other clients wait
/// meanwhile.
const BUSY_REQUEST_TIMEOUT: Duration = Duration::from_secs(1);
/// Timeout for receiving a server's response. The server first reads the properties of its machine.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);
/// Timeout for sending a message.
const SEND_TIMEOUT: Duration = Duration::from_secs(5);

/// First message from a client. Its outer fields are the same in all versions.
#[derive(Debug, Serialize, Deserialize)]
struct OpeningMessage {
    program: String,
    version: String,
    protocol: u32,
    request: Box<RawValue>,
}

/// Response from a server.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Response {
    /// The server becomes the worker with rank 1.
    Accepted,
    /// The server refuses the request.
    Refused(Refusal),
}

/// Rejection of a request, with the reason.
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
    /// The request is invalid or exceeds the server's limits.
    InvalidRequest,
    /// The server measures with another client.
    Busy,
}

/// Error returned if the two sides cannot agree on a measurement.
#[derive(Debug, Snafu)]
pub enum NegotiationError {
    /// The connection failed before the two sides agreed.
    #[snafu(display(
        "{peer} did not send a valid response from fabricbench-runner: {source}; check that \
         `fabricbench-runner {server}` of the same version is listening there"
    ))]
    Connection {
        /// Address of the other side.
        peer: String,
        /// Role of the other side.
        server: &'static str,
        /// Connection failure.
        source: FrameError,
    },
}

/// Sends `request` and waits for the response. Returns the connection's reader, from which the server's next messages
/// are read.
///
/// # Errors
/// Returns an error if the connection fails, or the other side is not a server.
pub fn propose(
    stream: TcpStream,
    peer: &str,
    request: &Request,
) -> Result<Result<FrameReader<TcpStream>, Refusal>, NegotiationError> {
    let mut reader = FrameReader::new(stream);
    let exchange = |reader: &mut FrameReader<TcpStream>| {
        let request =
            serde_json::value::to_raw_value(request).map_err(|source| FrameError::Syntax { source })?;
        let opening = OpeningMessage {
            program: PROGRAM.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            protocol: PROTOCOL_VERSION,
            request,
        };
        send(reader.stream(), &opening)?;
        let line = reader.read(MAX_MESSAGE_BYTES, Some(Instant::now() + RESPONSE_TIMEOUT))?;
        serde_json::from_slice(&line).map_err(|source| FrameError::Syntax { source })
    };
    let server = request.roles().server;
    match exchange(&mut reader).context(ConnectionSnafu { peer, server })? {
        Response::Accepted => Ok(Ok(reader)),
        Response::Refused(refusal) => Ok(Err(refusal)),
    }
}

/// Reads a client's request and checks it against `limits`.
///
/// # Errors
/// Returns the reason for refusing the client. The reason has already been sent to the client.
pub fn receive(stream: TcpStream, limits: &Limits) -> Result<(Request, FrameReader<TcpStream>), Refusal> {
    let mut reader = FrameReader::new(stream);
    match read_request(&mut reader, limits) {
        Ok(request) => Ok((request, reader)),
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
    let _ = reader.read(MAX_MESSAGE_BYTES, Some(Instant::now() + BUSY_REQUEST_TIMEOUT));
    let refusal = Refusal {
        reason: RefusalReason::Busy,
        message: format!(
            "it measures with the client at {address}, and serves one client after another: try again when that client \
             has finished, or wait for it with a longer --connect-timeout"
        ),
    };
    let _ = send(reader.stream(), &Response::Refused(refusal));
}

/// Sends the response that accepts the request.
///
/// # Errors
/// Returns an error if the connection fails.
pub fn accept(
    reader: &FrameReader<TcpStream>,
    peer: &str,
    request: &Request,
) -> Result<(), NegotiationError> {
    let server = request.roles().client;
    send(reader.stream(), &Response::Accepted).context(ConnectionSnafu { peer, server })
}

fn read_request(reader: &mut FrameReader<TcpStream>, limits: &Limits) -> Result<Request, Refusal> {
    let line = reader
        .read(MAX_MESSAGE_BYTES, Some(Instant::now() + REQUEST_TIMEOUT))
        .map_err(|error| invalid_message(limits, &error.to_string()))?;
    parse(&line, limits)
}

/// Parses the first message of a client.
fn parse(line: &[u8], limits: &Limits) -> Result<Request, Refusal> {
    let opening: OpeningMessage =
        serde_json::from_slice(line).map_err(|error| invalid_message(limits, &error.to_string()))?;
    if opening.program != PROGRAM {
        return Err(invalid_message(limits, "it names a different program"));
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
    let request: Request = serde_json::from_str(opening.request.get())
        .map_err(|error| invalid(format!("the request cannot be parsed: {error}")))?;
    request
        .check(limits)
        .map_err(|error| invalid(error.to_string()))?;
    Ok(request)
}

fn invalid_message(limits: &Limits, cause: &str) -> Refusal {
    Refusal {
        reason: RefusalReason::NotARequest,
        message: format!(
            "the first message is not a request from `fabricbench-runner {}`: {cause}",
            limits.accepted.roles().client
        ),
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
    use crds::v1alpha1::MemoryKind;

    use super::*;
    use crate::direct::request::{AcceptedScenarios, SegmentLimits};

    fn refusal(line: &str) -> Refusal {
        parse(line.as_bytes(), &Limits::default()).unwrap_err()
    }

    #[test]
    fn refuses_other_programs_and_other_versions() {
        let invalid = refusal("GET / HTTP/1.1");
        assert_eq!(invalid.reason, RefusalReason::NotARequest);
        assert!(
            invalid.message.contains("`fabricbench-runner connect`"),
            "{invalid:?}"
        );
        let target = Limits {
            accepted: AcceptedScenarios::Segment(SegmentLimits {
                name: "here".into(),
                run: "1".into(),
                bytes: 1,
                memory: MemoryKind::Heap,
                use_vram: false,
                time_limit_seconds: 60,
            }),
            transport: None,
        };
        let invalid = parse(b"GET / HTTP/1.1", &target).unwrap_err();
        assert!(
            invalid.message.contains("`fabricbench-runner initiator`"),
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
        let line = format!(
            r#"{{"program":"fabricbench-runner","version":"{version}","protocol":{PROTOCOL_VERSION},"request":{{"env":{{}}}}}}"#
        );
        let found = refusal(&line);
        assert_eq!(found.reason, RefusalReason::InvalidRequest);
        assert!(found.message.contains("env"), "{}", found.message);
    }
}

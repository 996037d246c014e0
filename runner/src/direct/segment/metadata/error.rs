//! Metadata service errors.

use snafu::Snafu;

use super::ENV_PASSWORD;

/// Error returned if a metadata service cannot be used, or has no valid entry.
#[derive(Clone, Debug, PartialEq, Eq, Snafu)]
#[snafu(visibility(pub(super)))]
pub enum MetadataError {
    /// No server responded in time.
    #[snafu(display(
        "the metadata service {service} did not respond: {reason}; check --metadata-servers and the service"
    ))]
    Unreachable {
        /// Kind and server of the metadata service.
        service: String,
        /// Why it did not respond.
        reason: String,
    },
    /// The server does not accept the credentials.
    #[snafu(display(
        "the metadata service {service} rejects the credentials: {reason}; use --metadata-user and {ENV_PASSWORD}"
    ))]
    LoginRefused {
        /// Kind and server of the metadata service.
        service: String,
        /// The server's response.
        reason: String,
    },
    /// The server sent an unexpected response.
    #[snafu(display(
        "the metadata service {service} sent an unexpected response: {reason}; check that the server is a metadata \
         service of this type"
    ))]
    UnexpectedResponse {
        /// Kind and server of the metadata service.
        service: String,
        /// Description of the unexpected content.
        reason: String,
    },
    /// The segment has no entry.
    #[snafu(display(
        "the metadata service {service} has no segment {segment}: start the target with the same --metadata-type and \
         --metadata-servers, or check --remote-segment"
    ))]
    NoEntry {
        /// Kind and servers of the metadata service.
        service: String,
        /// Name of the segment.
        segment: String,
    },
    /// The target that published the entry is no longer running.
    #[snafu(display(
        "the entry of segment {segment} is stale: run {run} published it, and it expired {seconds} s ago; start the \
         target again"
    ))]
    Stale {
        /// Name of the segment.
        segment: String,
        /// The target's run.
        run: String,
        /// Time since the entry expired, in seconds.
        seconds: u64,
    },
    /// The entry describes a different segment.
    #[snafu(display(
        "the entry of segment {segment} describes segment {found:.200}: the metadata service mixes up its keys, or another \
         program wrote the entry; start the target again"
    ))]
    SegmentMismatch {
        /// Name of the requested segment.
        segment: String,
        /// Name in the entry.
        found: String,
    },
    /// The entry has a different version.
    #[snafu(display(
        "the entry of segment {segment} has version {found:.40}, but this program has version {expected}: use the \
         same version on both machines"
    ))]
    VersionMismatch {
        /// Name of the segment.
        segment: String,
        /// The target's version.
        found: String,
        /// Version of this program.
        expected: &'static str,
    },
    /// Another target has published the segment.
    #[snafu(display(
        "segment {segment} is already published by run {run} at {address}, and expires in {seconds} s: stop that target, \
         wait until its entry has expired, or choose another --local-segment"
    ))]
    Taken {
        /// Name of the segment.
        segment: String,
        /// The other target's run.
        run: String,
        /// The other target's address.
        address: String,
        /// Time until the entry expires, in seconds.
        seconds: u64,
    },
}

//! Errors of metadata services.

use snafu::Snafu;

use super::ENV_PASSWORD;

/// Reason why a metadata service cannot be used, or has no valid entry.
#[derive(Clone, Debug, PartialEq, Eq, Snafu)]
#[snafu(visibility(pub(super)))]
pub enum MetadataError {
    /// No server answered in time.
    #[snafu(display(
        "the metadata service {service} does not answer: {reason}; check --metadata-servers and the service"
    ))]
    Unreachable {
        /// Kind and server.
        service: String,
        /// Cause.
        reason: String,
    },
    /// The server does not accept the login.
    #[snafu(display(
        "the metadata service {service} refuses the login: {reason}; use --metadata-user and the variable {ENV_PASSWORD}"
    ))]
    LoginRefused {
        /// Kind and server.
        service: String,
        /// Answer of the server.
        reason: String,
    },
    /// The server sent an unexpected answer.
    #[snafu(display(
        "the metadata service {service} sent an unexpected answer: {reason}; check that the server is a metadata \
         service of this type"
    ))]
    UnexpectedAnswer {
        /// Kind and server.
        service: String,
        /// Description of the unexpected content.
        reason: String,
    },
    /// There is no entry.
    #[snafu(display(
        "the metadata service {service} has no segment {segment}: start the target with the same --metadata-type and \
         --metadata-servers, or check --remote-segment"
    ))]
    NoEntry {
        /// Kind and servers.
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
        /// Run of the target.
        run: String,
        /// Time since the expiry, in seconds.
        seconds: u64,
    },
    /// The entry describes another segment.
    #[snafu(display(
        "the entry of segment {segment} describes segment {found:.200}: the metadata service confuses its keys, or another \
         program has written the entry; start the target again"
    ))]
    OtherSegment {
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
    OtherVersion {
        /// Name of the segment.
        segment: String,
        /// Version of the target.
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
        /// Run of the other target.
        run: String,
        /// Address of the other target.
        address: String,
        /// Time until the entry expires, in seconds.
        seconds: u64,
    },
}

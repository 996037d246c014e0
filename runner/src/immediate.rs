//! Encoding of messages in 32 bits of immediate data. Performs no I/O.
//!
//! ```text
//! 31..29 kind   28..21 case   20..15 chunk or signal   14..0 transfer, count or argument
//! ```
//!
//! Every message contains the tag of its case, so that late messages from a failed case are not attributed to the
//! current case. Transfers are numbered modulo 2^15, which is far larger than the maximum window (4096), so a number
//! that repeats within a window indicates a duplicate. A transfer has at most one chunk per rail, and there are at most
//! 64 rails.

use crds::record::FailureReason;

const KIND_SHIFT: u32 = 29;
const CASE_SHIFT: u32 = 21;
const CHUNK_SHIFT: u32 = 15;
const CASE_MASK: u64 = 0xff;
const CHUNK_MASK: u64 = 0x3f;
/// Mask for transfer numbers, counts and arguments, which are transmitted modulo 2^15.
pub const VALUE_MASK: u64 = 0x7fff;

/// Tag of a case (its number modulo 255) or of the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaseTag(u8);

impl CaseTag {
    /// Tag of the probe, which does not belong to a case.
    pub const PROBE: Self = Self(u8::MAX);

    /// Creates the tag of case `number`, which is never [`CaseTag::PROBE`].
    pub fn new(number: u32) -> Self {
        Self((number % u32::from(u8::MAX)) as u8)
    }
}

/// Content of a message or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// A chunk of a transfer.
    Data {
        /// Chunk index.
        chunk: u32,
        /// Transfer number, modulo 2^15.
        transfer: u64,
    },
    /// Number of transfers that have arrived, modulo 2^15.
    Credit(u64),
    /// Requests a credit to be sent as soon as this number of transfers, modulo 2^15, has arrived.
    CreditRequest(u64),
    /// Signals a step of the case.
    Signal(Signal),
    /// Consumes a receive posted for an earlier case.
    DrainReceive,
    /// Requests a [`Message::PingReply`].
    Ping,
    /// Reply to a [`Message::Ping`].
    PingReply,
    /// Reply to a call, without payload.
    CallReply,
}

/// A step of a case that one side signals to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The sender has started the case and needs this many messages on each rail to drain its receives.
    Ready(u64),
    /// The sender has drained the receives of earlier cases.
    ReceivesReady,
    /// The initiator's warm-up has drained.
    Start,
    /// The target's window is open.
    Started,
    /// The initiator's window is closed.
    Stop,
    /// The target's window is closed.
    Stopped,
    /// Integrity pass: the memory of the next group is prepared.
    Prepared,
    /// Integrity pass: all transfers of the group are complete.
    Posted,
    /// The initiator has sampled the idle fabric, so the warm-up may start.
    IdleSampled,
    /// Bidirectional transfer: transfers of all threads of the sender have completed, and it continues to post.
    Active,
    /// Bidirectional transfer: the windows of all threads of the sender have closed, and it continues to post.
    Measured,
    /// Parameter serving: a worker requests a reading of the trainer's clock.
    ClockRequest,
    /// Parameter serving: the reading of the trainer's clock is in the worker's memory.
    ClockReady,
    /// Parameter serving: the version with this number is in the worker's memory.
    Version(u64),
    /// Parameter serving: a worker reports the mean version of its recent steps.
    VersionPost,
    /// Parameter serving: no further versions will be published.
    ServingEnd,
    /// Parameter serving: the worker has finished its steps, and has sent this number of posts.
    StepsEnd(u64),
    /// Parameter serving: the publication times are in the worker's memory.
    TableReady,
    /// The sender has abandoned the case.
    Abort(FailureReason),
}

/// A message and the tag of its case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Immediate {
    /// Case tag.
    pub case: CaseTag,
    /// Message content.
    pub message: Message,
}

/// Failure reasons. [`Signal::Abort`] encodes a reason as its index in this array.
const REASONS: [FailureReason; 22] = [
    FailureReason::InvalidAssignment,
    FailureReason::TransportNotCompiled,
    FailureReason::LibraryNotFound,
    FailureReason::NoDevice,
    FailureReason::ProviderMismatch,
    FailureReason::OperationRejected,
    FailureReason::MemoryUnavailable,
    FailureReason::OutOfMemory,
    FailureReason::NotEnoughMemory,
    FailureReason::NotAligned,
    FailureReason::VariantMismatch,
    FailureReason::WorkerMissing,
    FailureReason::UnknownPeerRefused,
    FailureReason::FabricUnreachable,
    FailureReason::PeerLost,
    FailureReason::DeadlineExceeded,
    FailureReason::PostFailed,
    FailureReason::CompletionFailed,
    FailureReason::Interrupted,
    FailureReason::Internal,
    FailureReason::CommandFailed,
    FailureReason::CommandOutput,
];

impl Signal {
    fn encode(self) -> (u64, u64) {
        match self {
            Self::Ready(drain_messages) => (0, drain_messages),
            Self::ReceivesReady => (1, 0),
            Self::Start => (2, 0),
            Self::Started => (3, 0),
            Self::Stop => (4, 0),
            Self::Stopped => (5, 0),
            Self::Prepared => (6, 0),
            Self::Posted => (7, 0),
            Self::Abort(reason) => {
                let code = REASONS.iter().position(|known| *known == reason);
                (8, code.unwrap_or(REASONS.len() - 1) as u64)
            }
            Self::IdleSampled => (9, 0),
            Self::ClockRequest => (10, 0),
            Self::ClockReady => (11, 0),
            Self::Version(version) => (12, version),
            Self::VersionPost => (13, 0),
            Self::ServingEnd => (14, 0),
            Self::StepsEnd(posts) => (15, posts),
            Self::TableReady => (16, 0),
            Self::Active => (17, 0),
            Self::Measured => (18, 0),
        }
    }

    fn decode(signal: u64, argument: u64) -> Option<Self> {
        Some(match signal {
            0 => Self::Ready(argument),
            1 => Self::ReceivesReady,
            2 => Self::Start,
            3 => Self::Started,
            4 => Self::Stop,
            5 => Self::Stopped,
            6 => Self::Prepared,
            7 => Self::Posted,
            8 => Self::Abort(*REASONS.get(argument as usize)?),
            9 => Self::IdleSampled,
            10 => Self::ClockRequest,
            11 => Self::ClockReady,
            12 => Self::Version(argument),
            13 => Self::VersionPost,
            14 => Self::ServingEnd,
            15 => Self::StepsEnd(argument),
            16 => Self::TableReady,
            17 => Self::Active,
            18 => Self::Measured,
            _ => return None,
        })
    }
}

impl Immediate {
    /// Encodes the message in the low 32 bits.
    #[inline]
    pub fn encode(self) -> u64 {
        let (kind, chunk, value) = match self.message {
            Message::Data { chunk, transfer } => (0, u64::from(chunk), transfer),
            Message::Credit(count) => (1, 0, count),
            Message::CreditRequest(count) => (2, 0, count),
            Message::Signal(signal) => {
                let (signal, argument) = signal.encode();
                (3, signal, argument)
            }
            Message::DrainReceive => (4, 0, 0),
            Message::Ping => (5, 0, 0),
            Message::PingReply => (6, 0, 0),
            Message::CallReply => (7, 0, 0),
        };
        let case = u64::from(self.case.0);
        kind << KIND_SHIFT | case << CASE_SHIFT | (chunk & CHUNK_MASK) << CHUNK_SHIFT | value & VALUE_MASK
    }

    /// Decodes the message from 32 bits; returns `None` if the message is not valid.
    #[inline]
    pub fn decode(immediate: u64) -> Option<Self> {
        let chunk = immediate >> CHUNK_SHIFT & CHUNK_MASK;
        let value = immediate & VALUE_MASK;
        let message = match immediate >> KIND_SHIFT {
            0 => Message::Data {
                chunk: chunk as u32,
                transfer: value,
            },
            1 => Message::Credit(value),
            2 => Message::CreditRequest(value),
            3 => Message::Signal(Signal::decode(chunk, value)?),
            4 => Message::DrainReceive,
            5 => Message::Ping,
            6 => Message::PingReply,
            7 => Message::CallReply,
            _ => return None,
        };
        let case = CaseTag((immediate >> CASE_SHIFT & CASE_MASK) as u8);
        Some(Self { case, message })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn assert_round_trip(message: Message) {
        let immediate = Immediate {
            case: CaseTag::new(77),
            message,
        };
        let encoded = immediate.encode();
        assert!(encoded <= u64::from(u32::MAX));
        assert_eq!(Immediate::decode(encoded), Some(immediate));
    }

    #[test]
    fn messages_are_unchanged_after_encoding_and_decoding() {
        for message in [
            Message::DrainReceive,
            Message::Ping,
            Message::PingReply,
            Message::CallReply,
        ] {
            assert_round_trip(message);
        }
        assert_round_trip(Message::Credit(32_767));
        assert_round_trip(Message::CreditRequest(0));
        let signals = [
            Signal::Ready(512),
            Signal::ReceivesReady,
            Signal::Start,
            Signal::Started,
            Signal::Stop,
            Signal::Stopped,
            Signal::Prepared,
            Signal::Posted,
            Signal::IdleSampled,
            Signal::ClockRequest,
            Signal::ClockReady,
            Signal::Version(29_999),
            Signal::VersionPost,
            Signal::ServingEnd,
            Signal::StepsEnd(30),
            Signal::TableReady,
            Signal::Active,
            Signal::Measured,
        ];
        let aborts = REASONS.map(Signal::Abort);
        for signal in signals.into_iter().chain(aborts) {
            assert_round_trip(Message::Signal(signal));
        }
    }

    #[test]
    fn case_tags_differ_from_the_probe_tag() {
        for number in [0, 254, 255, 256, u32::MAX] {
            assert_ne!(CaseTag::new(number), CaseTag::PROBE);
        }
    }

    proptest! {
        #[test]
        fn chunks_are_unchanged_after_encoding_and_decoding(chunk in 0u32..64, transfer in 0u64..=VALUE_MASK) {
            assert_round_trip(Message::Data { chunk, transfer });
        }

        #[test]
        fn encoding_a_decoded_message_preserves_it(immediate: u64) {
            if let Some(decoded) = Immediate::decode(immediate) {
                prop_assert_eq!(Immediate::decode(decoded.encode()), Some(decoded));
            }
        }
    }
}

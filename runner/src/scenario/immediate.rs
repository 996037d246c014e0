//! What the 32 bits of immediate data say. Pure.
//!
//! ```text
//! 31..29 kind   28..21 case   20..15 chunk or signal   14..0 transfer, count or argument
//! ```
//!
//! Everything that is sent carries the number of its case, so that what is left of a failed case is never taken for
//! this one's. Transfers are numbered modulo 2^15, far above the largest window (4096), so a number that comes again
//! within a window is a duplicate. Chunks of a transfer are numbered up to the largest number of rails (64).

use crds::record::FailureReason;

const KIND_SHIFT: u32 = 29;
const CASE_SHIFT: u32 = 21;
const CHUNK_SHIFT: u32 = 15;
const CASE_MASK: u64 = 0xff;
const CHUNK_MASK: u64 = 0x3f;
/// Transfers, counts and arguments are modulo this plus one.
pub const VALUE_MASK: u64 = 0x7fff;

/// Number of a case as far as it fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaseTag(u8);

impl CaseTag {
    /// Messages of the probe, which belongs to no case.
    pub const PROBE: Self = Self(u8::MAX);

    /// Tag of case `number`; never that of the probe.
    pub fn of(number: u32) -> Self {
        Self((number % u32::from(u8::MAX)) as u8)
    }
}

/// What a message or write says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// A chunk of a transfer.
    Data {
        /// Number of the chunk.
        chunk: u32,
        /// Number of the transfer, modulo 2^15.
        transfer: u64,
    },
    /// So many transfers have arrived, modulo 2^15.
    Credit(u64),
    /// Send a credit as soon as so many transfers have arrived, modulo 2^15.
    Drain(u64),
    /// A step of the case.
    Signal(Signal),
    /// Uses up a receive of an earlier case.
    Turnover,
}

/// A step of a case, said by one side to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// This side has begun the case and wants so many messages on each rail to turn its receives over.
    Ready(u64),
    /// This side's receives are those of the case.
    Met,
    /// The initiator's warm-up has drained.
    Start,
    /// The target's window is open.
    Started,
    /// The initiator's window is closed.
    Stop,
    /// The target's window is closed.
    Stopped,
    /// Integrity: the memory of the next group is prepared.
    Prepared,
    /// Integrity: all transfers of the group are complete.
    Posted,
    /// The side that says so has given the case up.
    Abort(FailureReason),
}

/// A message and the case it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Immediate {
    /// Case.
    pub case: CaseTag,
    /// What it says.
    pub message: Message,
}

/// Failures as they are told to the other side; their place is the code.
const REASONS: [FailureReason; 17] = [
    FailureReason::InvalidAssignment,
    FailureReason::NotCompiled,
    FailureReason::LibraryNotFound,
    FailureReason::NoDevice,
    FailureReason::ProviderMismatch,
    FailureReason::Refused,
    FailureReason::MemoryUnavailable,
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
];

impl Signal {
    fn encode(self) -> (u64, u64) {
        match self {
            Self::Ready(turnover) => (0, turnover),
            Self::Met => (1, 0),
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
        }
    }

    fn decode(signal: u64, argument: u64) -> Option<Self> {
        Some(match signal {
            0 => Self::Ready(argument),
            1 => Self::Met,
            2 => Self::Start,
            3 => Self::Started,
            4 => Self::Stop,
            5 => Self::Stopped,
            6 => Self::Prepared,
            7 => Self::Posted,
            8 => Self::Abort(*REASONS.get(argument as usize)?),
            _ => return None,
        })
    }
}

impl Immediate {
    /// As 32 bits.
    #[inline]
    pub fn encode(self) -> u64 {
        let (kind, chunk, value) = match self.message {
            Message::Data { chunk, transfer } => (0, u64::from(chunk), transfer),
            Message::Credit(count) => (1, 0, count),
            Message::Drain(count) => (2, 0, count),
            Message::Signal(signal) => {
                let (signal, argument) = signal.encode();
                (3, signal, argument)
            }
            Message::Turnover => (4, 0, 0),
        };
        let case = u64::from(self.case.0);
        kind << KIND_SHIFT | case << CASE_SHIFT | (chunk & CHUNK_MASK) << CHUNK_SHIFT | value & VALUE_MASK
    }

    /// What 32 bits say; `None` where they are not ours.
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
            2 => Message::Drain(value),
            3 => Message::Signal(Signal::decode(chunk, value)?),
            4 => Message::Turnover,
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

    fn reads_back(message: Message) {
        let immediate = Immediate {
            case: CaseTag::of(77),
            message,
        };
        let encoded = immediate.encode();
        assert!(encoded <= u64::from(u32::MAX));
        assert_eq!(Immediate::decode(encoded), Some(immediate));
    }

    #[test]
    fn every_message_reads_back() {
        reads_back(Message::Turnover);
        reads_back(Message::Credit(32_767));
        reads_back(Message::Drain(0));
        let signals = [
            Signal::Ready(512),
            Signal::Met,
            Signal::Start,
            Signal::Started,
            Signal::Stop,
            Signal::Stopped,
            Signal::Prepared,
            Signal::Posted,
        ];
        let aborts = REASONS.map(Signal::Abort);
        for signal in signals.into_iter().chain(aborts) {
            reads_back(Message::Signal(signal));
        }
    }

    #[test]
    fn no_case_has_the_tag_of_the_probe() {
        for number in [0, 254, 255, 256, u32::MAX] {
            assert_ne!(CaseTag::of(number), CaseTag::PROBE);
        }
    }

    proptest! {
        #[test]
        fn every_chunk_reads_back(chunk in 0u32..64, transfer in 0u64..=VALUE_MASK) {
            reads_back(Message::Data { chunk, transfer });
        }

        #[test]
        fn what_is_not_ours_is_not_taken(immediate: u64) {
            if let Some(read) = Immediate::decode(immediate) {
                prop_assert_eq!(Immediate::decode(read.encode()), Some(read));
            }
        }
    }
}

//! Faults that the transport injects.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::link::SharedLink;

/// Faults to inject. Positions (`*_at`) are indexes of payload posts, starting at 0.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Every n-th payload post returns EAGAIN on its first attempt.
    pub again_every: Option<u64>,
    pub refuse_inject: bool,
    pub fail_at: Option<u64>,
    pub drop_at: Option<u64>,
    pub tear_at: Option<u64>,
    pub corrupt_at: Option<u64>,
    pub duplicate_at: Option<u64>,
    /// Index of a payload post that transfers the bytes of the previous one again, instead of its own.
    pub repeat_at: Option<u64>,
    /// Index of a payload post, and the time that this post takes.
    pub stall_at: Option<(u64, Duration)>,
    /// Number of polls by which completions of local posts are delayed.
    pub delay_polls: u64,
    /// Time that a flush takes; `None` for a transport without flushes.
    pub flush_time: Option<Duration>,
    /// Whether only a flush shows that a completed write has arrived.
    pub completes_writes_locally: bool,
    /// Whether the completions of a poll are returned in reverse order.
    pub reverse: bool,
    /// Link that delays the local completions of both sides' payload posts, and the index of this side.
    pub link: Option<(Arc<Mutex<SharedLink>>, usize)>,
}

impl Faults {
    /// What happens to the payload post at `position`; `None` for other posts.
    pub(super) fn fate(&self, position: Option<u64>) -> Fate {
        let is_hit = |at: Option<u64>| at.is_some() && at == position;
        Fate {
            is_corrupted: is_hit(self.corrupt_at),
            is_repeated: is_hit(self.repeat_at),
            is_torn: is_hit(self.tear_at),
            times: match is_hit(self.drop_at) {
                true => 0,
                false if is_hit(self.duplicate_at) => 2,
                false => 1,
            },
        }
    }
}

/// What happens to one post.
pub(super) struct Fate {
    is_corrupted: bool,
    /// Whether the bytes of the previous post are delivered instead.
    is_repeated: bool,
    /// Whether only the first half is delivered.
    is_torn: bool,
    /// How often the post is delivered.
    pub(super) times: u32,
}

impl Fate {
    pub(super) fn change(&self, bytes: &mut Vec<u8>, previous: &Vec<u8>) {
        if self.is_corrupted {
            bytes[0] ^= 1;
        }
        if self.is_repeated {
            bytes.clone_from(previous);
        }
    }

    /// Number of the `length` bytes that are delivered.
    pub(super) fn delivered(&self, length: usize) -> usize {
        if self.is_torn { length / 2 } else { length }
    }
}

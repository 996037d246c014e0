//! Buffer for the completions of one poll. Performs no I/O.

use crate::transport::{Completion, CompletionKind, Rail};

/// The caller's buffer, filled from the front.
pub(super) struct Sink<'a> {
    completions: &'a mut [Completion],
    count: usize,
}

impl<'a> Sink<'a> {
    pub(super) fn new(completions: &'a mut [Completion]) -> Self {
        Self {
            completions,
            count: 0,
        }
    }

    /// Number of completions in the buffer.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.count >= self.completions.len()
    }

    /// Adds a completion. Does nothing if the buffer is full.
    #[inline]
    pub(super) fn push(&mut self, rail: Rail, kind: CompletionKind) {
        if let Some(slot) = self.completions.get_mut(self.count) {
            *slot = Completion { rail, kind };
            self.count += 1;
        }
    }
}

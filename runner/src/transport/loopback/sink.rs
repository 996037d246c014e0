//! Room for the completions of one poll. Pure.

use crate::transport::{Completion, CompletionKind, Rail};

/// The caller's room, filled from the front.
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

    /// Completions in it.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.count >= self.completions.len()
    }

    /// Adds a completion; only where it is not full.
    #[inline]
    pub(super) fn push(&mut self, rail: Rail, kind: CompletionKind) {
        if let Some(place) = self.completions.get_mut(self.count) {
            *place = Completion { rail, kind };
            self.count += 1;
        }
    }
}

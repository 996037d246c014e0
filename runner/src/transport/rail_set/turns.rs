//! Polls a transport's rails in round-robin order. Does not allocate, lock or log.

use crate::transport::{Completion, CompletionKind, Rail, TransportError};

/// Order in which a transport's rails are polled.
#[derive(Debug, Default)]
pub struct RailTurns {
    /// Rail that the next poll reads first: the rail after the one that was read last, so that a busy rail does not
    /// starve the others.
    next: Rail,
    /// Failure that followed successful completions in the same poll. The next poll returns it.
    failure: Option<TransportError>,
}

/// Completions of one poll. The rail whose turn it is adds its own completions.
pub struct RailCompletions<'a> {
    completions: &'a mut [Completion],
    filled: usize,
    rail: Rail,
}

impl RailTurns {
    /// Polls each of `rails` once, starting after the rail that the previous call polled last, until `completions` is
    /// full.
    ///
    /// # Errors
    /// Returns the failure of a rail. If completions precede the failure, this call returns them, and the next call
    /// fails.
    #[inline]
    pub fn poll<R>(
        &mut self,
        rails: &mut [R],
        completions: &mut [Completion],
        mut poll: impl FnMut(&mut R, &mut RailCompletions<'_>) -> Result<(), TransportError>,
    ) -> Result<usize, TransportError> {
        if self.failure.is_some() {
            return self.failure.take().map_or(Ok(0), Err);
        }
        let mut found = RailCompletions {
            completions,
            filled: 0,
            rail: 0,
        };
        for _ in 0..rails.len() {
            if found.room() == 0 {
                break;
            }
            let rail = self.next;
            self.next = if rail + 1 == rails.len() { 0 } else { rail + 1 };
            found.rail = rail;
            if let Err(failure) = poll(&mut rails[rail], &mut found) {
                if found.filled == 0 {
                    return Err(failure);
                }
                self.failure = Some(failure);
                break;
            }
        }
        Ok(found.filled)
    }

    /// Whether the next poll fails.
    pub fn has_failed(&self) -> bool {
        self.failure.is_some()
    }
}

impl RailCompletions<'_> {
    /// Rail whose turn it is.
    #[inline]
    pub fn rail(&self) -> Rail {
        self.rail
    }

    /// Maximum number of completions that the rail may add.
    #[inline]
    pub fn room(&self) -> usize {
        self.completions.len() - self.filled
    }

    /// Adds a completion for the rail.
    #[inline]
    pub fn push(&mut self, kind: CompletionKind) {
        self.completions[self.filled] = Completion {
            rail: self.rail,
            kind,
        };
        self.filled += 1;
    }
}

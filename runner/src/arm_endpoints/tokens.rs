//! Tokens of the posts in flight on one rail. Pure.
//!
//! A token is reused only after the completion of its post was read. A completion that arrives after its case was
//! aborted is therefore recognized and not mistaken for one of the next case.

/// The purpose of a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Number of the case.
    pub case: u32,
    /// Slot of the transfer, or [`Owner::CONTROL`].
    pub slot: u32,
}

impl Owner {
    /// Slot of a message that does not belong to a transfer.
    pub const CONTROL: u32 = u32::MAX;
}

/// Tokens of one rail.
#[derive(Debug)]
pub struct Tokens {
    free: Vec<u32>,
    owners: Box<[Option<Owner>]>,
}

impl Tokens {
    /// Tokens from 0 to `depth` minus 1.
    pub fn new(depth: usize) -> Self {
        Self {
            free: (0..depth as u32).rev().collect(),
            owners: vec![None; depth].into(),
        }
    }

    /// Takes a token for a post; `None` if all are in flight.
    #[inline]
    pub fn take(&mut self, owner: Owner) -> Option<u32> {
        let token = self.free.pop()?;
        self.owners[token as usize] = Some(owner);
        Some(token)
    }

    /// Releases the token of a completed post and returns its owner; `None` if the token was not in flight.
    #[inline]
    pub fn release(&mut self, token: u32) -> Option<Owner> {
        let owner = self.owners.get_mut(token as usize)?.take()?;
        self.free.push(token);
        Some(owner)
    }

    /// Number of posts in flight.
    pub fn in_flight(&self) -> usize {
        self.owners.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reuses_a_token_only_after_release() {
        let mut tokens = Tokens::new(2);
        let owner = Owner { case: 1, slot: 7 };
        let (first, second) = (tokens.take(owner).unwrap(), tokens.take(owner).unwrap());
        assert_ne!(first, second);
        assert_eq!((tokens.take(owner), tokens.in_flight()), (None, 2));
        assert_eq!(tokens.release(first), Some(owner));
        assert_eq!(tokens.release(first), None);
        assert_eq!(tokens.release(99), None);
        assert_eq!(tokens.take(Owner { case: 2, slot: 0 }), Some(first));
    }
}

//! Tokens of the posts in flight on one rail. Performs no I/O.
//!
//! A token is reused only after the completion of its post has been read. A completion that arrives after its case was
//! aborted is therefore not attributed to the next case.

/// Case and transfer that a post belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PostOwner {
    /// Case number.
    pub case: u32,
    /// Slot of the transfer, or [`PostOwner::CONTROL`].
    pub slot: u32,
}

impl PostOwner {
    /// Slot value for control messages, which do not belong to a transfer.
    pub const CONTROL: u32 = u32::MAX;
}

/// Tokens of one rail.
#[derive(Debug)]
pub struct Tokens {
    free: Vec<u32>,
    owners: Box<[Option<PostOwner>]>,
}

impl Tokens {
    /// Creates the tokens from 0 to `depth - 1`.
    pub fn new(depth: usize) -> Self {
        Self {
            free: (0..depth as u32).rev().collect(),
            owners: vec![None; depth].into(),
        }
    }

    /// Takes a token for a post; returns `None` if all tokens are in use.
    #[inline]
    pub fn take(&mut self, owner: PostOwner) -> Option<u32> {
        let token = self.free.pop()?;
        self.owners[token as usize] = Some(owner);
        Some(token)
    }

    /// Releases the token of a completed post and returns its owner; returns `None` if the token was not in use.
    #[inline]
    pub fn release(&mut self, token: u32) -> Option<PostOwner> {
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
        let owner = PostOwner { case: 1, slot: 7 };
        let (first, second) = (tokens.take(owner).unwrap(), tokens.take(owner).unwrap());
        assert_ne!(first, second);
        assert_eq!((tokens.take(owner), tokens.in_flight()), (None, 2));
        assert_eq!(tokens.release(first), Some(owner));
        assert_eq!(tokens.release(first), None);
        assert_eq!(tokens.release(99), None);
        assert_eq!(tokens.take(PostOwner { case: 2, slot: 0 }), Some(first));
    }
}

//! Decides which posts use the library's inject call. Performs no I/O.
//!
//! The caller may reuse the buffer of an injected post as soon as the call returns, and no completion follows
//! (libfabric's `fi_msg(3)`, `fi_rma(3)`). The payload may be no longer than the arm's limit and the provider's limit
//! for the operation. Device memory is never injected, because providers copy the payload with the CPU.

/// Call to use for a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectChoice {
    /// The ordinary call: the arm does not inject, or the provider has rejected an inject call.
    Ordinary,
    /// The ordinary call: the post exceeds the limit.
    OverLimit,
    /// The inject call.
    Inject,
}

/// An arm's inject policy for one operation.
#[derive(Clone, Copy, Debug)]
pub struct InjectPolicy {
    limit: Option<u64>,
    rejected: bool,
}

impl InjectPolicy {
    /// Creates the policy of an arm that injects up to `arm_max` bytes (`None` disables injection), with a provider
    /// that accepts up to `provider_max` bytes for this operation.
    pub fn new(arm_max: Option<u64>, provider_max: u64, device_memory: bool) -> Self {
        let provider_max = if device_memory { 0 } else { provider_max };
        Self {
            limit: arm_max.map(|arm_max| arm_max.min(provider_max)),
            rejected: false,
        }
    }

    /// Size in bytes of the largest post that is injected; `None` if the arm does not inject.
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// Selects the call for a post of `length` bytes.
    #[inline]
    pub fn choose(&self, length: u64) -> InjectChoice {
        match self.limit {
            None => InjectChoice::Ordinary,
            Some(limit) if length > limit => InjectChoice::OverLimit,
            Some(_) if self.rejected => InjectChoice::Ordinary,
            Some(_) => InjectChoice::Inject,
        }
    }

    /// Records that the provider rejected an inject call.
    ///
    /// No further inject calls are made until the next measured window starts, because every rejected call costs time.
    pub fn record_rejection(&mut self) {
        self.rejected = true;
    }

    /// Allows inject calls again. Callers do this at the start of the measured window, so that a rejection is counted
    /// in it.
    pub fn clear_rejection(&mut self) {
        self.rejected = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn applies_the_smaller_limit() {
        let policy = InjectPolicy::new(Some(256), 128, false);
        assert_eq!(policy.limit(), Some(128));
        assert_eq!(policy.choose(128), InjectChoice::Inject);
        assert_eq!(policy.choose(129), InjectChoice::OverLimit);
        assert_eq!(InjectPolicy::new(Some(64), 4096, false).limit(), Some(64));
    }

    #[test]
    fn without_injection_every_post_is_ordinary() {
        let policy = InjectPolicy::new(None, 4096, false);
        assert_eq!(policy.choose(1), InjectChoice::Ordinary);
        assert_eq!(policy.choose(1 << 20), InjectChoice::Ordinary);
    }

    #[test]
    fn device_memory_is_never_injected() {
        let policy = InjectPolicy::new(Some(256), 4096, true);
        assert_eq!(policy.limit(), Some(0));
        assert_eq!(policy.choose(1), InjectChoice::OverLimit);
    }

    #[test]
    fn stops_injecting_after_a_rejection_until_it_is_cleared() {
        let mut policy = InjectPolicy::new(Some(256), 256, false);
        policy.record_rejection();
        assert_eq!(policy.choose(64), InjectChoice::Ordinary);
        assert_eq!(policy.choose(512), InjectChoice::OverLimit);
        policy.clear_rejection();
        assert_eq!(policy.choose(64), InjectChoice::Inject);
    }
}

//! When a post is made by the library's inject call. Pure.
//!
//! The buffer of an injected post is free on return and no completion follows (libfabric's `fi_msg(3)`, `fi_rma(3)`),
//! so a post may only be injected up to a limit: the smaller of what the arm asks for and what the provider takes for
//! the operation. Device memory is never injected: providers copy the payload with the processor.

/// How one post is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectChoice {
    /// By the ordinary call: the arm injects nothing, or the provider refused before.
    Ordinary,
    /// By the ordinary call, because the post is above the limit.
    OverLimit,
    /// By the inject call.
    Inject,
}

/// The inject policy of an arm for one operation.
#[derive(Clone, Copy, Debug)]
pub struct InjectPolicy {
    limit: Option<u64>,
    refused: bool,
}

impl InjectPolicy {
    /// Policy of an arm that injects up to `arm_max` bytes (`None`: nothing) where the provider takes
    /// `provider_max` bytes for this operation.
    pub fn new(arm_max: Option<u64>, provider_max: u64, device_memory: bool) -> Self {
        let provider_max = if device_memory { 0 } else { provider_max };
        Self {
            limit: arm_max.map(|arm_max| arm_max.min(provider_max)),
            refused: false,
        }
    }

    /// Largest post in bytes that is injected; `None` where the arm injects nothing.
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// How a post of `length` bytes is to be made.
    #[inline]
    pub fn choose(&self, length: u64) -> InjectChoice {
        match self.limit {
            None => InjectChoice::Ordinary,
            Some(limit) if length > limit => InjectChoice::OverLimit,
            Some(_) if self.refused => InjectChoice::Ordinary,
            Some(_) => InjectChoice::Inject,
        }
    }

    /// The provider refused an inject call: it is not asked again in this phase, for a refusal costs a call each time.
    pub fn refuse(&mut self) {
        self.refused = true;
    }

    /// Asks again: at the start of the measured window, so that its own counters show the refusal.
    pub fn forget_refusal(&mut self) {
        self.refused = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_limit_holds() {
        let policy = InjectPolicy::new(Some(256), 128, false);
        assert_eq!(policy.limit(), Some(128));
        assert_eq!(policy.choose(128), InjectChoice::Inject);
        assert_eq!(policy.choose(129), InjectChoice::OverLimit);
        assert_eq!(InjectPolicy::new(Some(64), 4096, false).limit(), Some(64));
    }

    #[test]
    fn an_arm_without_inject_has_no_limit_to_be_over() {
        let policy = InjectPolicy::new(None, 4096, false);
        assert_eq!(policy.choose(1), InjectChoice::Ordinary);
        assert_eq!(policy.choose(1 << 20), InjectChoice::Ordinary);
    }

    #[test]
    fn device_memory_is_over_every_limit() {
        let policy = InjectPolicy::new(Some(256), 4096, true);
        assert_eq!(policy.limit(), Some(0));
        assert_eq!(policy.choose(1), InjectChoice::OverLimit);
    }

    #[test]
    fn a_refusal_is_remembered_until_the_window_starts() {
        let mut policy = InjectPolicy::new(Some(256), 256, false);
        policy.refuse();
        assert_eq!(policy.choose(64), InjectChoice::Ordinary);
        assert_eq!(policy.choose(512), InjectChoice::OverLimit);
        policy.forget_refusal();
        assert_eq!(policy.choose(64), InjectChoice::Inject);
    }
}

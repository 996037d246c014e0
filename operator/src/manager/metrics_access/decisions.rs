//! Decisions about bearer tokens, kept for a short time and in bounded memory. Performs no I/O.

use std::collections::HashMap;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::time::Instant;

/// Time for which a permission is kept. A right that is withdrawn ends after this time.
const ALLOWED_FOR: Duration = Duration::from_secs(60);
/// Time for which a refusal is kept. A right that is granted applies after this time.
const REFUSED_FOR: Duration = Duration::from_secs(10);
/// Maximum number of decisions.
const MAX_DECISIONS: usize = 256;

/// Answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::manager) enum Decision {
    /// The user may read the metrics.
    Allowed,
    /// The user is known, but may not read the metrics.
    Forbidden,
    /// There is no token, or it belongs to no user.
    Unauthenticated,
}

/// Returns the key of `token`. The token itself is not kept.
pub(super) fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

/// Recent decisions.
#[derive(Debug, Default)]
pub(super) struct Decisions(HashMap<[u8; 32], (Decision, Instant)>);

impl Decisions {
    /// Returns the decision about the token with `digest`, if it still applies at `now`.
    pub(super) fn get(&self, digest: &[u8; 32], now: Instant) -> Option<Decision> {
        let (decision, end) = self.0.get(digest)?;
        (now < *end).then_some(*decision)
    }

    /// Keeps a decision that was made at `now`. If there are too many, the one that ends first is dropped.
    pub(super) fn insert(&mut self, digest: [u8; 32], decision: Decision, now: Instant) {
        self.0.retain(|_, (_, end)| now < *end);
        if self.0.len() >= MAX_DECISIONS {
            let first = self.0.iter().min_by_key(|(_, (_, end))| *end);
            if let Some(first) = first.map(|(digest, _)| *digest) {
                self.0.remove(&first);
            }
        }
        let duration = match decision {
            Decision::Allowed => ALLOWED_FOR,
            Decision::Forbidden | Decision::Unauthenticated => REFUSED_FOR,
        };
        self.0.insert(digest, (decision, now + duration));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_applies_for_a_limited_time() {
        let now = Instant::now();
        let mut decisions = Decisions::default();
        decisions.insert(digest("reader"), Decision::Allowed, now);
        decisions.insert(digest("other"), Decision::Forbidden, now);
        let at = |token, seconds| decisions.get(&digest(token), now + Duration::from_secs(seconds));
        assert_eq!(at("reader", 59), Some(Decision::Allowed));
        assert_eq!(at("reader", 60), None);
        assert_eq!(at("other", 9), Some(Decision::Forbidden));
        assert_eq!(at("other", 10), None);
        assert_eq!(at("unknown", 0), None);
    }

    #[test]
    fn invented_tokens_displace_refusals_before_permissions() {
        let now = Instant::now();
        let mut decisions = Decisions::default();
        decisions.insert(digest("reader"), Decision::Allowed, now);
        for token in 0..10 * MAX_DECISIONS {
            decisions.insert(digest(&token.to_string()), Decision::Unauthenticated, now);
        }
        assert_eq!(decisions.0.len(), MAX_DECISIONS);
        assert_eq!(decisions.get(&digest("reader"), now), Some(Decision::Allowed));
    }
}

//! Evidence for doorbell batching. Providers do not report how they handle the FI_MORE hint, so the runner's counters
//! are the only evidence, and the engagement is never `Confirmed`. For verbs, the posts in a batch are passed to the
//! driver in one call, but no device reports how often its doorbell was rung.

use crds::record::PostingCounters;
use crds::v1alpha1::Engagement;

pub(super) fn assess(counters: &PostingCounters, over_verbs: bool) -> (Engagement, String) {
    let PostingCounters {
        posts,
        injected,
        more,
        app_doorbells,
        posts_per_burst,
        ..
    } = counters;
    if *posts > 0 && injected == posts {
        return (
            Engagement::NotApplicable,
            "every post was an inject call, which carries no FI_MORE".to_owned(),
        );
    }
    if *posts_per_burst < 2 {
        return (
            Engagement::NotApplicable,
            format!("{posts_per_burst} post per rail per burst"),
        );
    }
    if *more == 0 {
        return (
            Engagement::NotEngaged,
            format!("none of {posts} posts carried FI_MORE"),
        );
    }
    if over_verbs {
        return (
            Engagement::RequestedOnly,
            format!(
                "{posts} work requests in {app_doorbells} requested calls of ibv_post_send, and one more whenever the queue was \
                 full; the device reports no doorbells"
            ),
        );
    }
    (
        Engagement::RequestedOnly,
        format!(
            "{more} of {posts} posts carried FI_MORE, {app_doorbells} doorbells requested; the provider reports no doorbells"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runner_counters_never_confirm_doorbell_batching() {
        let counters = |more, posts_per_burst| PostingCounters {
            posts: 160,
            more,
            app_doorbells: 160 - more,
            posts_per_burst,
            ..PostingCounters::default()
        };
        assert_eq!(assess(&counters(150, 16), false).0, Engagement::RequestedOnly);
        assert_eq!(assess(&counters(0, 16), false).0, Engagement::NotEngaged);
        assert_eq!(assess(&counters(0, 1), false).0, Engagement::NotApplicable);
        let (engagement, reason) = assess(&counters(150, 16), true);
        assert_eq!(engagement, Engagement::RequestedOnly);
        assert!(
            reason.starts_with("160 work requests in 10 requested calls"),
            "{reason}"
        );
        let injected = PostingCounters {
            injected: 160,
            ..counters(0, 16)
        };
        assert_eq!(assess(&injected, true).0, Engagement::NotApplicable);
    }
}

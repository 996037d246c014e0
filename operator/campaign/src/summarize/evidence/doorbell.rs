//! Evidence for doorbell batching. Providers do not report how they handle the FI_MORE hint, so the runner's counters
//! are the only evidence, and the engagement is never `Confirmed`.

use crds::record::PostingCounters;
use crds::v1alpha1::Engagement;

pub(super) fn assess(counters: &PostingCounters) -> (Engagement, String) {
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
        assert_eq!(assess(&counters(150, 16)).0, Engagement::RequestedOnly);
        assert_eq!(assess(&counters(0, 16)).0, Engagement::NotEngaged);
        assert_eq!(assess(&counters(0, 1)).0, Engagement::NotApplicable);
        let injected = PostingCounters {
            injected: 160,
            ..counters(0, 16)
        };
        assert_eq!(assess(&injected).0, Engagement::NotApplicable);
    }
}

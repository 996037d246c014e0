//! Evidence for inject. An injected send has no completion, so missing completions for exactly the injected posts are
//! evidence that does not depend on what the runner requested.

use crds::record::PostingCounters;
use crds::v1alpha1::Engagement;

pub(super) fn assess(counters: &PostingCounters) -> (Engagement, String) {
    let PostingCounters {
        posts,
        injected,
        over_limit,
        refused,
        completions,
        inject_limit_bytes,
        ..
    } = counters;
    let limit = inject_limit_bytes.map_or_else(String::new, |limit| format!(" of {limit} B"));
    if *injected == 0 && over_limit > refused {
        return (
            Engagement::NotEngaged,
            format!("over the inject limit{limit}: {over_limit} of {posts} posts"),
        );
    }
    if *refused > 0 {
        return (
            Engagement::NotEngaged,
            format!("the provider rejected {refused} of {posts} inject calls"),
        );
    }
    if *injected == 0 {
        return (
            Engagement::NotEngaged,
            format!("none of {posts} posts was injected"),
        );
    }
    let others = posts.saturating_sub(*injected);
    let partly = match over_limit {
        0 => String::new(),
        over => format!(" ({over} over the limit{limit})"),
    };
    if *completions == others {
        return (
            Engagement::Confirmed,
            match others {
                0 => format!("{injected} of {posts} posts injected{partly}, without a completion"),
                others => {
                    format!(
                        "{injected} of {posts} posts injected{partly}, completions only for the other {others}"
                    )
                }
            },
        );
    }
    (
        Engagement::RequestedOnly,
        format!(
            "{injected} of {posts} posts injected{partly}, but {completions} completions arrived for {others} other posts"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(posts: u64, injected: u64, completions: u64) -> PostingCounters {
        PostingCounters {
            posts,
            injected,
            completions,
            inject_limit_bytes: Some(128),
            ..PostingCounters::default()
        }
    }

    #[test]
    fn missing_completions_confirm_inject() {
        assert_eq!(assess(&counters(1000, 1000, 0)).0, Engagement::Confirmed);
        assert_eq!(assess(&counters(1000, 600, 400)).0, Engagement::Confirmed);
        assert_eq!(assess(&counters(1000, 1000, 1000)).0, Engagement::RequestedOnly);
    }

    #[test]
    fn oversized_and_refused_posts_are_counted_and_prevent_engagement() {
        let over = PostingCounters {
            over_limit: 1000,
            ..counters(1000, 0, 1000)
        };
        assert_eq!(
            assess(&over),
            (
                Engagement::NotEngaged,
                "over the inject limit of 128 B: 1000 of 1000 posts".to_owned()
            )
        );
        let refused = PostingCounters {
            refused: 3,
            ..counters(1000, 997, 3)
        };
        assert_eq!(assess(&refused).0, Engagement::NotEngaged);
        assert_eq!(assess(&counters(1000, 0, 1000)).0, Engagement::NotEngaged);
    }
}

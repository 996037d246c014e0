//! Evidence for inject. An injected send generates no completion. If completions are missing for exactly the injected
//! posts, that is evidence independent of what the runner requested. ibverbs is different: the runner itself decides
//! which work requests have a completion, so missing completions are not evidence.

use crds::record::PostingCounters;
use crds::v1alpha1::Engagement;

/// How an injected message reaches the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InjectMethod {
    /// The transport has no device, or the device's inline size is unknown.
    Unknown,
    /// The message is part of the work request.
    Inlined,
    /// The provider copies the message into a separate buffer, because it is larger than the device's inline size.
    Copied {
        /// The inline size in bytes.
        inline_bytes: u64,
    },
}

impl InjectMethod {
    /// Method for chunks of `chunk_bytes` bytes on a device with this inline size.
    pub(super) fn new(chunk_bytes: u64, inline_bytes: Option<u64>) -> Self {
        match inline_bytes {
            None => Self::Unknown,
            Some(inline_bytes) if chunk_bytes <= inline_bytes => Self::Inlined,
            Some(inline_bytes) => Self::Copied { inline_bytes },
        }
    }

    fn description(self) -> String {
        match self {
            Self::Unknown => String::new(),
            Self::Inlined => "; inlined in the work request".to_owned(),
            Self::Copied { inline_bytes } => {
                format!("; copied by the provider, because the device inlines at most {inline_bytes} B")
            }
        }
    }
}

/// Assesses `counters`. `over_verbs` is true for an arm that calls ibverbs directly.
pub(super) fn assess(
    counters: &PostingCounters,
    method: InjectMethod,
    over_verbs: bool,
) -> (Engagement, String) {
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
    if over_verbs {
        return (
            Engagement::RequestedOnly,
            format!(
                "{injected} of {posts} posts had IBV_SEND_INLINE{partly}, and the driver accepted them; the device does not \
                 report how it read them"
            ),
        );
    }
    if *completions == others {
        return (
            Engagement::Confirmed,
            match others {
                0 => format!(
                    "{injected} of {posts} posts injected{partly}, without a completion{}",
                    method.description()
                ),
                others => {
                    format!(
                        "{injected} of {posts} posts injected{partly}, completions only for the other {others}{}",
                        method.description()
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
        assert_eq!(
            assess(&counters(1000, 1000, 0), InjectMethod::Unknown, false).0,
            Engagement::Confirmed
        );
        assert_eq!(
            assess(&counters(1000, 600, 400), InjectMethod::Unknown, false).0,
            Engagement::Confirmed
        );
        assert_eq!(
            assess(&counters(1000, 1000, 1000), InjectMethod::Unknown, false).0,
            Engagement::RequestedOnly
        );
    }

    #[test]
    fn verbs_do_not_confirm_inject() {
        let (engagement, reason) = assess(&counters(1000, 1000, 0), InjectMethod::Inlined, true);
        assert_eq!(engagement, Engagement::RequestedOnly);
        assert!(
            reason.starts_with("1000 of 1000 posts had IBV_SEND_INLINE, and the driver accepted them"),
            "{reason}"
        );
        let none = assess(&counters(1000, 0, 1000), InjectMethod::Inlined, true);
        assert_eq!(none.0, Engagement::NotEngaged);
    }

    #[test]
    fn reason_distinguishes_inlined_and_copied_messages() {
        let reason = |chunk_bytes, inline_bytes| {
            assess(
                &counters(1000, 1000, 0),
                InjectMethod::new(chunk_bytes, inline_bytes),
                false,
            )
            .1
        };
        assert!(reason(32, Some(32)).ends_with("inlined in the work request"));
        assert!(reason(64, Some(32)).ends_with("because the device inlines at most 32 B"));
        assert!(reason(64, None).ends_with("without a completion"));
    }

    #[test]
    fn oversized_and_refused_posts_are_counted_and_prevent_engagement() {
        let over = PostingCounters {
            over_limit: 1000,
            ..counters(1000, 0, 1000)
        };
        assert_eq!(
            assess(&over, InjectMethod::Unknown, false),
            (
                Engagement::NotEngaged,
                "over the inject limit of 128 B: 1000 of 1000 posts".to_owned()
            )
        );
        let refused = PostingCounters {
            refused: 3,
            ..counters(1000, 997, 3)
        };
        assert_eq!(
            assess(&refused, InjectMethod::Unknown, false).0,
            Engagement::NotEngaged
        );
        assert_eq!(
            assess(&counters(1000, 0, 1000), InjectMethod::Unknown, false).0,
            Engagement::NotEngaged
        );
    }
}

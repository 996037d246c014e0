//! The evidence lines of the test procedures, word for word. Pure: they are made after the window from what was
//! counted in it, so a line says that the optimization happened, not that it was asked for.

use crds::record::PostingCounters;
use crds::striping::{StripingPolicy, StripingRule};

/// Lines of one case of transfers of `size` bytes, where `rule` spread them over `rails` open rails.
pub fn lines(counters: &PostingCounters, rule: StripingRule, size: u64, rails: u64) -> Vec<String> {
    let mut lines = Vec::new();
    if counters.injected > 0 {
        lines.push(format!("Using fi_injectdata for small message size={size}"));
    }
    if counters.more > 0 {
        lines.push("RDMA write posted with FI_MORE (batched)".to_owned());
    }
    let all = StripingRule {
        policy: StripingPolicy::Nixl,
        ..rule
    };
    let (used, without) = (rule.stripes(size, rails).rails, all.stripes(size, rails).rails);
    if rule.policy == StripingPolicy::NixlCoalesce && used < without && counters.posts > 0 {
        lines.push(format!(
            "Transfer coalescing: reducing rails from {without} to {used} for transfer_size={size}"
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const COALESCE: StripingRule = StripingRule {
        policy: StripingPolicy::NixlCoalesce,
        threshold_bytes: 16 * 1024,
        min_chunk_bytes: 16 * 1024,
    };

    fn counted(posts: u64, injected: u64, more: u64) -> PostingCounters {
        PostingCounters {
            posts,
            injected,
            more,
            ..PostingCounters::default()
        }
    }

    #[test]
    fn the_lines_are_those_of_the_procedures() {
        assert_eq!(
            lines(&counted(1, 1, 0), COALESCE, 64, 4),
            ["Using fi_injectdata for small message size=64"]
        );
        assert_eq!(
            lines(&counted(2, 0, 1), COALESCE, 32 * 1024, 4),
            [
                "RDMA write posted with FI_MORE (batched)",
                "Transfer coalescing: reducing rails from 4 to 2 for transfer_size=32768",
            ]
        );
    }

    #[test]
    fn nothing_is_said_of_what_did_not_happen() {
        let none = Vec::<String>::new();
        assert_eq!(lines(&counted(8, 0, 0), COALESCE, 64 * 1024, 4), none);
        assert_eq!(lines(&counted(8, 0, 0), COALESCE, 32 * 1024, 1), none);
        assert_eq!(lines(&counted(0, 0, 0), COALESCE, 32 * 1024, 4), none);
    }
}

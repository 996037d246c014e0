//! Evidence lines with the exact wording of the test procedures. Performs no I/O. The lines are derived from the
//! counters after the window has ended, so a line shows that the optimization took effect, not only that it was
//! requested.

use crds::record::PostingCounters;
use crds::striping::{StripingPolicy, StripingRule};

/// Evidence lines for one case with transfers of `size` bytes, striped by `rule` over `rails` open rails.
pub fn lines(counters: &PostingCounters, rule: StripingRule, size: u64, rails: u64) -> Vec<String> {
    let mut lines = Vec::new();
    if counters.injected > 0 {
        lines.push(format!("Using fi_injectdata for small message size={size}"));
    }
    if counters.more > 0 {
        lines.push("RDMA write posted with FI_MORE (batched)".to_owned());
    }
    let not_coalesced = StripingRule {
        policy: StripingPolicy::Nixl,
        ..rule
    };
    let (used, without) = (
        rule.stripes(size, rails).rails,
        not_coalesced.stripes(size, rails).rails,
    );
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
    fn lines_match_the_test_procedures() {
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
    fn reports_no_evidence_for_optimizations_without_effect() {
        let none = Vec::<String>::new();
        assert_eq!(lines(&counted(8, 0, 0), COALESCE, 64 * 1024, 4), none);
        assert_eq!(lines(&counted(8, 0, 0), COALESCE, 32 * 1024, 1), none);
        assert_eq!(lines(&counted(0, 0, 0), COALESCE, 32 * 1024, 4), none);
    }
}

//! Posting counters in the record format. Performs no I/O.

use crds::record::PostingCounters;

/// Creates zeroed counters for `rails` rails.
///
/// All memory for the counters is allocated here, so that counting never allocates.
pub fn zeroed(rails: usize) -> PostingCounters {
    PostingCounters {
        bytes_per_rail: vec![0; rails],
        posts_per_rail: vec![0; rails],
        ..PostingCounters::default()
    }
}

/// Sets all counts to zero, but keeps the planned values (inject limit and number of planned rails).
pub fn clear(counters: &mut PostingCounters) {
    let mut bytes_per_rail = std::mem::take(&mut counters.bytes_per_rail);
    let mut posts_per_rail = std::mem::take(&mut counters.posts_per_rail);
    bytes_per_rail.fill(0);
    posts_per_rail.fill(0);
    *counters = PostingCounters {
        inject_limit_bytes: counters.inject_limit_bytes,
        rails_planned: counters.rails_planned,
        bytes_per_rail,
        posts_per_rail,
        ..PostingCounters::default()
    };
}

/// Counters of a thread that uses the rails of group `group`. Zeros are inserted for the rails of preceding groups,
/// which the thread does not use.
pub fn in_group(counters: PostingCounters, group: usize) -> PostingCounters {
    let after_others = |values: Vec<u64>| {
        let mut all = vec![0; values.len() * group];
        all.extend(values);
        all
    };
    PostingCounters {
        bytes_per_rail: after_others(counters.bytes_per_rail),
        posts_per_rail: after_others(counters.posts_per_rail),
        ..counters
    }
}

/// Adds the counters of another thread of the same case to `total`.
pub fn add(total: &mut PostingCounters, other: &PostingCounters) {
    total.merge(other);
    total.rails_used = total.bytes_per_rail.iter().filter(|bytes| **bytes > 0).count() as u64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_over_threads_and_counts_rails_that_carried_bytes() {
        let mut one = zeroed(3);
        one.posts = 5;
        one.posts_per_burst = 4;
        one.bytes_per_rail = vec![10, 0, 0];
        let mut other = one.clone();
        other.posts_per_burst = 2;
        other.bytes_per_rail = vec![0, 0, 7];
        let mut total = zeroed(3);
        add(&mut total, &one);
        add(&mut total, &other);
        assert_eq!((total.posts, total.posts_per_burst), (10, 4));
        assert_eq!((total.bytes_per_rail, total.rails_used), (vec![10, 0, 7], 2));
    }

    #[test]
    fn groups_have_separate_rails() {
        let thread = |bytes: u64| PostingCounters {
            bytes_per_rail: vec![bytes, bytes],
            ..zeroed(2)
        };
        let mut total = zeroed(6);
        for (bytes, group) in [(1, 0), (2, 1), (4, 0)] {
            add(&mut total, &in_group(thread(bytes), group));
        }
        assert_eq!(
            (total.bytes_per_rail, total.rails_used),
            (vec![5, 5, 2, 2, 0, 0], 4)
        );
    }

    #[test]
    fn clear_keeps_planned_values() {
        let mut counters = zeroed(2);
        counters.inject_limit_bytes = Some(64);
        counters.rails_planned = 2;
        counters.posts = 9;
        counters.bytes_per_rail[1] = 5;
        clear(&mut counters);
        let expected = PostingCounters {
            inject_limit_bytes: Some(64),
            rails_planned: 2,
            ..zeroed(2)
        };
        assert_eq!(counters, expected);
    }
}

//! What a tuning posts at a size: rails, chunks, posts of a burst, and whether each optimization can take part. Pure.

use crds::assignment::{PingPongWorkload, TransferWorkload, Workload};
use crds::striping::{Stripes, StripingPolicy, StripingRule};
use crds::units::Size;
use crds::v1alpha1::{Optimization, PingPongOperation, TransferOperation};
use serde::Serialize;

/// Whether an optimization can take part in a cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedOptimization {
    /// The optimization.
    pub optimization: Optimization,
    /// Reason it cannot take part, if it cannot.
    pub not_applicable: Option<String>,
}

/// How messages are posted, with every default filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// Largest chunk injected, in bytes.
    pub inject_max_bytes: Option<u64>,
    /// Most posts for one doorbell.
    pub doorbell_max_batch: Option<u32>,
    /// How a transfer is spread over rails.
    pub striping: StripingRule,
}

/// What a workload asks of the posting side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// Transfers posted together.
    pub transfers: u64,
    /// What each is; that of a ping-pong has the same name.
    pub operation: TransferOperation,
}

impl Burst {
    /// The bursts of `workload`.
    pub fn of(workload: &Workload) -> Self {
        match workload {
            Workload::PingPong(PingPongWorkload { operation, .. }) => Self {
                transfers: 1,
                operation: match operation {
                    PingPongOperation::Send => TransferOperation::Send,
                    PingPongOperation::WriteImmediate => TransferOperation::WriteImmediate,
                },
            },
            Workload::Transfer(TransferWorkload { batch, operation, .. }) => Self {
                transfers: u64::from(*batch),
                operation: *operation,
            },
        }
    }

    /// Whether they are reads, which carry no FI_MORE: the efa provider ignores it on them.
    pub fn is_read(&self) -> bool {
        self.operation == TransferOperation::Read
    }

    /// Why none of them can be injected, where that is so. Nothing completes at the initiator for an injected post,
    /// so the target must be able to say that it has arrived.
    pub fn never_injected(&self) -> Option<&'static str> {
        match self.operation {
            TransferOperation::Send | TransferOperation::WriteImmediate => None,
            TransferOperation::Write => {
                Some("nobody is told when an injected Write has arrived; use WriteImmediate or Send")
            }
            TransferOperation::Read => Some("a read sends nothing that could be injected"),
        }
    }
}

/// What one tuning posts at one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posting {
    /// Chunks of a transfer.
    pub stripes: Stripes,
    /// Most posts on one rail in one burst.
    pub posts_per_burst: u64,
    /// Posts that share a doorbell; 1 where every post rings.
    pub posts_per_doorbell: u64,
    /// Whether all chunks but the last, and the last, are injected.
    pub injected: (bool, bool),
    /// Consecutive transfers of one chunk that share a rail; 1 where that makes no difference.
    rotation_group: u64,
}

impl Posting {
    /// What `tuning` posts for transfers of `size` bytes over `rails` rails.
    pub fn of(tuning: Tuning, burst: Burst, size: u64, rails: u32) -> Self {
        let rails = u64::from(rails);
        let stripes = tuning.striping.stripes(size, rails);
        let posts_per_burst = tuning
            .striping
            .posts_per_burst(size, rails, burst.transfers, burst.is_read());
        let most = tuning
            .inject_max_bytes
            .filter(|_| burst.never_injected().is_none());
        let injects = |chunk| most.is_some_and(|most| chunk <= most);
        let posts_per_doorbell = match tuning.doorbell_max_batch {
            Some(most) if !burst.is_read() => posts_per_burst.min(u64::from(most)).max(1),
            _ => 1,
        };
        let rotates = stripes.rails == 1 && rails > 1;
        let rotation_group = if rotates {
            tuning.striping.policy.group(burst.is_read()).min(burst.transfers)
        } else {
            1
        };
        Self {
            stripes,
            posts_per_burst,
            posts_per_doorbell,
            injected: (injects(stripes.chunk_bytes), injects(stripes.last_chunk_bytes)),
            rotation_group,
        }
    }

    /// Posts with FI_MORE on one rail in one burst: all but the last of each doorbell.
    pub fn more_per_burst(&self) -> u64 {
        self.posts_per_burst - self.posts_per_burst.div_ceil(self.posts_per_doorbell)
    }
}

/// The optimizations of `tuning`, each with the reason why it cannot take part at `size`, where it cannot.
pub fn optimizations(tuning: Tuning, burst: Burst, size: u64, rails: u32) -> Vec<PlannedOptimization> {
    let posting = Posting::of(tuning, burst, size, rails);
    let mut planned = Vec::new();
    let mut add = |optimization, not_applicable| {
        planned.push(PlannedOptimization {
            optimization,
            not_applicable,
        });
    };
    if let Some(most) = tuning.inject_max_bytes {
        add(Optimization::Inject, no_inject(posting, burst, most));
    }
    if tuning.doorbell_max_batch.is_some() {
        add(Optimization::Doorbell, no_doorbell(posting, burst));
    }
    if tuning.striping.policy == StripingPolicy::NixlCoalesce {
        add(
            Optimization::Coalesce,
            no_coalescing(tuning.striping, size, rails),
        );
    }
    planned
}

fn no_inject(posting: Posting, burst: Burst, most: u64) -> Option<String> {
    if let Some(never) = burst.never_injected() {
        return Some(never.to_owned());
    }
    let chunk = posting.stripes.chunk_bytes.min(posting.stripes.last_chunk_bytes);
    (chunk > most).then(|| format!("above maxBytes {}", Size(most)))
}

fn no_doorbell(posting: Posting, burst: Burst) -> Option<String> {
    if burst.is_read() {
        return Some("reads carry no FI_MORE".to_owned());
    }
    (posting.posts_per_burst < 2).then(|| "one post on a rail in a burst".to_owned())
}

fn no_coalescing(rule: StripingRule, size: u64, rails: u32) -> Option<String> {
    let rails = u64::from(rails);
    let plain = StripingRule {
        policy: StripingPolicy::Nixl,
        ..rule
    };
    if rails == 1 {
        return Some("one rail".to_owned());
    }
    if size < rule.threshold_bytes {
        return Some(format!(
            "one chunk below thresholdBytes {}",
            Size(rule.threshold_bytes)
        ));
    }
    (rule.stripes(size, rails) == plain.stripes(size, rails)).then(|| {
        format!(
            "chunks are not below minChunkBytes {}",
            Size(rule.min_chunk_bytes)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1024;

    fn tuning(policy: StripingPolicy) -> Tuning {
        Tuning {
            inject_max_bytes: Some(256),
            doorbell_max_batch: Some(16),
            striping: StripingRule {
                policy,
                threshold_bytes: 16 * KIB,
                min_chunk_bytes: 16 * KIB,
            },
        }
    }

    fn burst(transfers: u64) -> Burst {
        let operation = TransferOperation::WriteImmediate;
        Burst { transfers, operation }
    }

    fn reasons(size: u64, burst: Burst, rails: u32) -> Vec<Option<String>> {
        let planned = optimizations(tuning(StripingPolicy::NixlCoalesce), burst, size, rails);
        planned
            .into_iter()
            .map(|planned| planned.not_applicable)
            .collect()
    }

    #[test]
    fn every_optimization_says_why_it_cannot_take_part() {
        let text = |reason: &str| Some(reason.to_owned());
        assert_eq!(
            reasons(256, burst(1), 4),
            [
                None,
                text("one post on a rail in a burst"),
                text("one chunk below thresholdBytes 16Ki")
            ]
        );
        assert_eq!(
            reasons(32 * KIB, burst(16), 4),
            [text("above maxBytes 256"), None, None]
        );
        assert_eq!(
            reasons(64 * KIB, burst(16), 4)[2],
            text("chunks are not below minChunkBytes 16Ki")
        );
        assert_eq!(reasons(32 * KIB, burst(16), 1)[2], text("one rail"));
        let read = Burst {
            transfers: 16,
            operation: TransferOperation::Read,
        };
        assert_eq!(
            reasons(64, read, 4)[..2],
            [
                text("a read sends nothing that could be injected"),
                text("reads carry no FI_MORE")
            ]
        );
    }

    #[test]
    fn a_plain_write_is_never_injected() {
        let write = Burst {
            transfers: 16,
            operation: TransferOperation::Write,
        };
        let planned = reasons(64, write, 4);
        assert!(
            planned[0]
                .as_ref()
                .is_some_and(|reason| reason.contains("use WriteImmediate or Send")),
            "{planned:?}"
        );
        let posting = |inject_max_bytes| {
            let tuning = Tuning {
                inject_max_bytes,
                ..tuning(StripingPolicy::Nixl)
            };
            Posting::of(tuning, write, 64, 4)
        };
        assert_eq!(posting(Some(256)), posting(None));
    }

    #[test]
    fn all_posts_of_a_doorbell_but_the_last_carry_more() {
        let more = |transfers, batch| {
            let tuning = Tuning {
                doorbell_max_batch: batch,
                ..tuning(StripingPolicy::Nixl)
            };
            Posting::of(tuning, burst(transfers), 64 * KIB, 4).more_per_burst()
        };
        assert_eq!(more(16, Some(16)), 15);
        assert_eq!(more(16, Some(4)), 12);
        assert_eq!(more(17, Some(16)), 15);
        assert_eq!(more(1, Some(16)), 0);
        assert_eq!(more(16, None), 0);
    }

    #[test]
    fn doorbells_larger_than_a_burst_are_the_same() {
        let posting = |batch| {
            let tuning = Tuning {
                doorbell_max_batch: Some(batch),
                ..tuning(StripingPolicy::Nixl)
            };
            Posting::of(tuning, burst(8), 64 * KIB, 4)
        };
        assert_eq!(posting(16), posting(32));
        assert_ne!(posting(4), posting(8));
    }

    #[test]
    fn policies_differ_below_the_threshold_only_in_how_rails_rotate() {
        let posting = |policy, transfers, rails| Posting::of(tuning(policy), burst(transfers), 64, rails);
        assert_ne!(
            posting(StripingPolicy::Single, 4, 4),
            posting(StripingPolicy::Nixl, 4, 4)
        );
        assert_eq!(
            posting(StripingPolicy::Single, 1, 4),
            posting(StripingPolicy::Nixl, 1, 4)
        );
        assert_eq!(
            posting(StripingPolicy::Single, 4, 1),
            posting(StripingPolicy::Nixl, 4, 1)
        );
    }
}

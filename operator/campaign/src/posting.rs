//! Computes how a tuning posts transfers of one size: rails, chunks, posts in a burst, and which optimizations apply.
//! Performs no I/O.

use crds::assignment::Workload;
use crds::striping::{Stripes, StripingPolicy, StripingRule};
use crds::units::Size;
use crds::v1alpha1::{Optimization, TransferOperation, TransportSpec};
use serde::Serialize;

/// A requested optimization, and whether it applies in a cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedOptimization {
    /// The optimization.
    pub optimization: Optimization,
    /// Why it does not apply; `None` if it applies.
    pub not_applicable: Option<String>,
}

/// Settings that determine how messages are posted, with all defaults filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// Maximum size, in bytes, of a chunk that is injected.
    pub inject_max_bytes: Option<u64>,
    /// Maximum number of posts per doorbell.
    pub doorbell_max_batch: Option<u32>,
    /// Rule for striping a transfer across rails.
    pub striping: StripingRule,
}

impl Tuning {
    /// The tuning without the optimizations that the library of `transport` cannot perform, which is how the runner
    /// posts.
    pub fn supported_by(self, transport: &TransportSpec) -> Self {
        let is_possible = |optimization| library_blocker(optimization, transport).is_none();
        Self {
            inject_max_bytes: self
                .inject_max_bytes
                .filter(|_| is_possible(Optimization::Inject)),
            doorbell_max_batch: self
                .doorbell_max_batch
                .filter(|_| is_possible(Optimization::Doorbell)),
            ..self
        }
    }
}

/// Transfers that a workload posts together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// Number of transfers.
    pub transfers: u64,
    /// Operation of each transfer. A ping-pong operation is represented by the transfer operation of the same name.
    pub operation: TransferOperation,
}

impl From<&Workload> for Burst {
    fn from(workload: &Workload) -> Self {
        Self {
            transfers: workload.batch().into(),
            operation: workload.operation(),
        }
    }
}

impl Burst {
    /// Whether the transfers are reads, which are posted without FI_MORE because the efa provider ignores it on reads.
    pub fn is_read(&self) -> bool {
        self.operation == TransferOperation::Read
    }

    /// Why none of the transfers can be injected; `None` if the operation allows injection. The initiator gets no
    /// completion for an injected post, so the target must get one that confirms that the data has arrived.
    pub fn injection_blocker(&self) -> Option<&'static str> {
        match self.operation {
            TransferOperation::Send | TransferOperation::WriteImmediate => None,
            TransferOperation::Write => {
                Some("an injected Write gives the target no completion; use WriteImmediate or Send")
            }
            TransferOperation::Read => Some("a Read sends no payload that could be injected"),
        }
    }
}

/// Posts of one tuning at one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posting {
    /// Rails and chunks of a transfer.
    pub stripes: Stripes,
    /// Maximum number of posts on one rail in one burst.
    pub posts_per_burst: u64,
    /// Number of posts that share a doorbell; 1 if every post rings its own doorbell.
    pub posts_per_doorbell: u64,
    /// Whether all chunks but the last are injected, and whether the last one is.
    pub injected: (bool, bool),
    /// Number of consecutive single-chunk transfers that share a rail; 1 if the grouping has no effect.
    rotation_group: u64,
}

impl Posting {
    /// Computes how `tuning` posts transfers of `size` bytes over `rails` rails.
    pub fn new(tuning: Tuning, burst: Burst, size: u64, rails: u32) -> Self {
        let rails = u64::from(rails);
        let stripes = tuning.striping.stripes(size, rails);
        let posts_per_burst = tuning
            .striping
            .posts_per_burst(size, rails, burst.transfers, burst.is_read());
        let inject_limit = tuning
            .inject_max_bytes
            .filter(|_| burst.injection_blocker().is_none());
        let injects = |chunk| inject_limit.is_some_and(|limit| chunk <= limit);
        let posts_per_doorbell = match tuning.doorbell_max_batch {
            Some(limit) if !burst.is_read() => posts_per_burst.min(u64::from(limit)).max(1),
            _ => 1,
        };
        let rotates = stripes.rails == 1 && rails > 1;
        let rotation_group = if rotates {
            let group = tuning.striping.policy.group_size(burst.is_read());
            group.min(burst.transfers)
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

    /// Number of posts with FI_MORE on one rail in one burst: all but the last post of each doorbell.
    pub fn more_per_burst(&self) -> u64 {
        self.posts_per_burst - self.posts_per_burst.div_ceil(self.posts_per_doorbell)
    }
}

/// Optimizations that `tuning` requests, with a reason for each one that does not apply at `size`.
pub fn optimizations(
    tuning: Tuning,
    burst: Burst,
    size: u64,
    transport: &TransportSpec,
) -> Vec<PlannedOptimization> {
    let rails = transport.rails();
    let posting = Posting::new(tuning, burst, size, rails);
    let mut planned = Vec::new();
    let mut add = |optimization, not_applicable| {
        planned.push(PlannedOptimization {
            optimization,
            not_applicable,
        });
    };
    if let Some(limit) = tuning.inject_max_bytes {
        let blocker = library_blocker(Optimization::Inject, transport);
        let blocker = blocker.map(str::to_owned);
        add(
            Optimization::Inject,
            blocker.or_else(|| inject_blocker(posting, burst, limit)),
        );
    }
    if tuning.doorbell_max_batch.is_some() {
        let blocker = library_blocker(Optimization::Doorbell, transport);
        let blocker = blocker.map(str::to_owned);
        add(
            Optimization::Doorbell,
            blocker.or_else(|| doorbell_blocker(posting, burst)),
        );
    }
    if tuning.striping.policy == StripingPolicy::NixlCoalesce {
        add(
            Optimization::Coalesce,
            coalesce_blocker(tuning.striping, size, rails),
        );
    }
    planned
}

/// Why the library of `transport` cannot perform `optimization` at all; `None` if it can.
fn library_blocker(optimization: Optimization, transport: &TransportSpec) -> Option<&'static str> {
    match (transport, optimization) {
        (TransportSpec::Ucx(_), Optimization::Inject) => {
            Some("UCX has no inject call: UCX itself decides which messages to copy")
        }
        (TransportSpec::Ucx(_), Optimization::Doorbell) => {
            Some("UCX has no FI_MORE: UCX itself decides when to ring a doorbell")
        }
        (TransportSpec::Nixl(_), Optimization::Inject) => {
            Some("NIXL has no inject call: its backend decides which messages to copy")
        }
        (TransportSpec::Nixl(_), Optimization::Doorbell) => {
            Some("NIXL has no FI_MORE: its backend decides when to ring a doorbell")
        }
        _ => None,
    }
}

fn inject_blocker(posting: Posting, burst: Burst, limit: u64) -> Option<String> {
    if let Some(blocker) = burst.injection_blocker() {
        return Some(blocker.to_owned());
    }
    let chunk = posting.stripes.chunk_bytes.min(posting.stripes.last_chunk_bytes);
    (chunk > limit).then(|| format!("chunks exceed maxBytes {}", Size(limit)))
}

fn doorbell_blocker(posting: Posting, burst: Burst) -> Option<String> {
    if burst.is_read() {
        return Some("a Read carries no FI_MORE".to_owned());
    }
    (posting.posts_per_burst < 2).then(|| "only one post per rail per burst".to_owned())
}

fn coalesce_blocker(rule: StripingRule, size: u64, rails: u32) -> Option<String> {
    let rails = u64::from(rails);
    let plain = StripingRule {
        policy: StripingPolicy::Nixl,
        ..rule
    };
    if rails == 1 {
        return Some("the transport has only one rail".to_owned());
    }
    if size < rule.threshold_bytes {
        return Some(format!(
            "not split below thresholdBytes {}",
            Size(rule.threshold_bytes)
        ));
    }
    (rule.stripes(size, rails) == plain.stripes(size, rails)).then(|| {
        format!(
            "chunks already reach minChunkBytes {}",
            Size(rule.min_chunk_bytes)
        )
    })
}

#[cfg(test)]
mod tests {
    use crds::v1alpha1::{Loopback, Ucx, UcxTransport};

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

    fn blockers(size: u64, burst: Burst, rails: u32) -> Vec<Option<String>> {
        blockers_for(size, burst, &TransportSpec::Loopback(Loopback { rails }))
    }

    fn blockers_for(size: u64, burst: Burst, transport: &TransportSpec) -> Vec<Option<String>> {
        let planned = optimizations(tuning(StripingPolicy::NixlCoalesce), burst, size, transport);
        planned
            .into_iter()
            .map(|planned| planned.not_applicable)
            .collect()
    }

    #[test]
    fn optimizations_that_do_not_apply_have_a_reason() {
        let text = |reason: &str| Some(reason.to_owned());
        assert_eq!(
            blockers(256, burst(1), 4),
            [
                None,
                text("only one post per rail per burst"),
                text("not split below thresholdBytes 16Ki")
            ]
        );
        assert_eq!(
            blockers(32 * KIB, burst(16), 4),
            [text("chunks exceed maxBytes 256"), None, None]
        );
        assert_eq!(
            blockers(64 * KIB, burst(16), 4)[2],
            text("chunks already reach minChunkBytes 16Ki")
        );
        assert_eq!(
            blockers(32 * KIB, burst(16), 1)[2],
            text("the transport has only one rail")
        );
        let read = Burst {
            transfers: 16,
            operation: TransferOperation::Read,
        };
        assert_eq!(
            blockers(64, read, 4)[..2],
            [
                text("a Read sends no payload that could be injected"),
                text("a Read carries no FI_MORE")
            ]
        );
    }

    #[test]
    fn inject_and_doorbell_do_not_apply_to_ucx() {
        let ucx = TransportSpec::Ucx(Ucx::new(vec![UcxTransport::Tcp], 4));
        let blockers = blockers_for(64, burst(16), &ucx);
        for (reason, text) in blockers
            .iter()
            .zip(["UCX has no inject call", "UCX has no FI_MORE"])
        {
            assert!(
                reason.as_ref().is_some_and(|reason| reason.starts_with(text)),
                "{blockers:?}"
            );
        }
        let supported = tuning(StripingPolicy::Nixl).supported_by(&ucx);
        assert_eq!(
            (supported.inject_max_bytes, supported.doorbell_max_batch),
            (None, None)
        );
    }

    #[test]
    fn write_is_never_injected() {
        let write = Burst {
            transfers: 16,
            operation: TransferOperation::Write,
        };
        let planned = blockers(64, write, 4);
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
            Posting::new(tuning, write, 64, 4)
        };
        assert_eq!(posting(Some(256)), posting(None));
    }

    #[test]
    fn all_posts_of_a_batch_except_the_last_set_fi_more() {
        let more = |transfers, batch| {
            let tuning = Tuning {
                doorbell_max_batch: batch,
                ..tuning(StripingPolicy::Nixl)
            };
            Posting::new(tuning, burst(transfers), 64 * KIB, 4).more_per_burst()
        };
        assert_eq!(more(16, Some(16)), 15);
        assert_eq!(more(16, Some(4)), 12);
        assert_eq!(more(17, Some(16)), 15);
        assert_eq!(more(1, Some(16)), 0);
        assert_eq!(more(16, None), 0);
    }

    #[test]
    fn doorbell_batches_larger_than_a_burst_are_equivalent() {
        let posting = |batch| {
            let tuning = Tuning {
                doorbell_max_batch: Some(batch),
                ..tuning(StripingPolicy::Nixl)
            };
            Posting::new(tuning, burst(8), 64 * KIB, 4)
        };
        assert_eq!(posting(16), posting(32));
        assert_ne!(posting(4), posting(8));
    }

    #[test]
    fn policies_differ_below_the_threshold_only_in_rail_rotation() {
        let posting = |policy, transfers, rails| Posting::new(tuning(policy), burst(transfers), 64, rails);
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

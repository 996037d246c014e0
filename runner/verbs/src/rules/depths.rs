//! Queue sizes of a rail, within the limits of its device. Performs no I/O.

use super::request_id::MAX_QUEUES;

/// Number of queue pairs for each peer: one for messages, and one for reads and writes.
pub(crate) const QUEUES_PER_PEER: usize = 2;

/// Device limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeviceLimits {
    /// Maximum number of requests in a queue pair's queue (`max_qp_wr`).
    pub queue: usize,
    /// Maximum number of requests in a shared receive queue (`max_srq_wr`).
    pub shared_receives: usize,
    /// Maximum number of entries in a completion queue (`max_cqe`).
    pub completions: usize,
}

/// Queue sizes of a rail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Depths {
    /// Number of requests in each send queue.
    pub sends: usize,
    /// Number of receives for messages, shared by all peers.
    pub receives: usize,
    /// Number of receives for writes with immediate data, shared by all peers.
    pub immediates: usize,
    /// Number of entries in the completion queue.
    pub completions: usize,
}

impl Depths {
    /// Computes the sizes for `depth` posts in flight to each of `peers` peers.
    ///
    /// In addition to `depth` ordinary posts, each send queue has space for injected posts, which occupy the queue
    /// until a later post completes. Every peer may have `depth` writes with immediate data in flight. If the device
    /// has fewer receives, the writes are retransmitted until a receive is available.
    ///
    /// # Errors
    ///
    /// Returns a message if the device's limits are too low.
    pub(crate) fn new(depth: usize, peers: usize, limits: DeviceLimits) -> Result<Self, String> {
        let peers = peers.max(1);
        let queues = peers.saturating_mul(QUEUES_PER_PEER);
        if queues > MAX_QUEUES {
            return Err(format!(
                "{peers} peers need {queues} queue pairs on a rail; at most {MAX_QUEUES} are supported"
            ));
        }
        if depth > limits.queue || depth > limits.shared_receives {
            return Err(format!(
                "{depth} posts in flight were requested, but the device supports {} requests per queue pair and {} in a \
                 shared receive queue: reduce window or batch",
                limits.queue, limits.shared_receives
            ));
        }
        let sends = depth.saturating_mul(2).min(limits.queue);
        let immediates = depth.saturating_mul(peers).min(limits.shared_receives);
        let completions = queues
            .saturating_mul(sends)
            .saturating_add(depth)
            .saturating_add(immediates);
        if completions > limits.completions {
            return Err(format!(
                "{depth} posts in flight with each of {peers} peers need a completion queue of {completions} entries, but \
                 the device supports {}: reduce window or batch",
                limits.completions
            ));
        }
        Ok(Self {
            sends,
            receives: depth,
            immediates,
            completions,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Soft-RoCE limits in Linux 6.1.
    const RXE: DeviceLimits = DeviceLimits {
        queue: 1_048_576,
        shared_receives: 1_048_576,
        completions: 32_767,
    };

    #[test]
    fn every_request_in_flight_has_an_entry() {
        let depths = Depths::new(100, 3, RXE).unwrap();
        assert_eq!(
            (depths.sends, depths.receives, depths.immediates),
            (200, 100, 300)
        );
        assert_eq!(depths.completions, 6 * 200 + 100 + 300);
    }

    #[test]
    fn injected_posts_get_less_space_on_a_small_device() {
        let limits = DeviceLimits { queue: 120, ..RXE };
        assert_eq!(Depths::new(100, 1, limits).unwrap().sends, 120);
    }

    #[test]
    fn rejects_a_device_whose_limits_are_too_low() {
        let queue = DeviceLimits { queue: 64, ..RXE };
        assert!(
            Depths::new(65, 1, queue)
                .unwrap_err()
                .contains("64 requests per queue pair")
        );
        let completions = DeviceLimits {
            completions: 599,
            ..RXE
        };
        assert!(
            Depths::new(100, 1, completions)
                .unwrap_err()
                .contains("600 entries")
        );
        assert!(
            Depths::new(1, 40_000, RXE)
                .unwrap_err()
                .contains("80000 queue pairs")
        );
    }
}

//! The flows of the many-to-many pattern: which worker sends to which. Performs no I/O.

use serde::{Deserialize, Serialize};

/// Senders and receivers of the many-to-many pattern. The first ranks send, and the others receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ManyToMany {
    /// Number of workers that send, at least 1.
    pub senders: u32,
    /// Number of workers that receive, at least 1.
    pub receivers: u32,
}

impl ManyToMany {
    /// Number of workers.
    pub fn workers(self) -> u32 {
        self.senders.saturating_add(self.receivers)
    }

    /// Number of flows: each sender transfers to each receiver.
    pub fn flow_count(self) -> u64 {
        u64::from(self.senders) * u64::from(self.receivers)
    }

    /// The flows, each as the ranks of its sender and its receiver.
    pub fn flows(self) -> impl Iterator<Item = (u32, u32)> {
        (0..self.senders).flat_map(move |sender| (self.senders..self.workers()).map(move |to| (sender, to)))
    }

    /// Whether there is a flow from rank `sender` to rank `receiver`.
    pub fn has_flow(self, sender: u32, receiver: u32) -> bool {
        sender < self.senders && (self.senders..self.workers()).contains(&receiver)
    }

    /// Number of flows of the worker with this rank.
    pub fn flows_of(self, rank: u32) -> u32 {
        match rank < self.senders {
            true => self.receivers,
            false => self.senders,
        }
    }

    /// Largest number of flows of a worker.
    pub fn max_flows_of_a_worker(self) -> u32 {
        self.senders.max(self.receivers)
    }

    /// Index of the flow between `rank` and `partner` among the flows of `rank`; `None` if there is no such flow.
    pub fn flow_index(self, rank: u32, partner: u32) -> Option<u32> {
        if self.has_flow(rank, partner) {
            Some(partner - self.senders)
        } else {
            self.has_flow(partner, rank).then_some(partner)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sender_has_a_flow_to_every_receiver() {
        let pattern = ManyToMany {
            senders: 2,
            receivers: 3,
        };
        let flows: Vec<(u32, u32)> = pattern.flows().collect();
        assert_eq!(flows, [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4)]);
        assert_eq!(flows.len() as u64, pattern.flow_count());
        for (sender, receiver) in flows {
            assert!(pattern.has_flow(sender, receiver) && !pattern.has_flow(receiver, sender));
        }
        assert!(!pattern.has_flow(0, 1) && !pattern.has_flow(2, 3) && !pattern.has_flow(0, 5));
    }

    #[test]
    fn flows_of_a_worker_are_numbered_without_gaps() {
        let pattern = ManyToMany {
            senders: 3,
            receivers: 2,
        };
        for rank in 0..pattern.workers() {
            let indexes: Vec<u32> = (0..pattern.workers())
                .filter_map(|partner| pattern.flow_index(rank, partner))
                .collect();
            assert!(
                indexes.iter().copied().eq(0..pattern.flows_of(rank)),
                "{rank}: {indexes:?}"
            );
        }
        assert_eq!(pattern.max_flows_of_a_worker(), 3);
        assert_eq!(pattern.flow_index(0, 1), None);
    }
}

//! Counts an agent's transfers and adds up the times of their steps. Performs no I/O. Used only in rounds that are not
//! measured.

use crds::record::ProtocolUse;
use crds::v1alpha1::{NixlRequests, StepTimes};

/// Maximum number of transfer kinds that are counted separately. Any further kinds are counted together.
const MAX_KINDS: usize = 32;

/// Kind of transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport::nixl) struct Kind {
    pub is_read: bool,
    /// Length of the transfer in bytes.
    pub length: u64,
}

/// Transfer steps of one agent.
#[derive(Debug, Default)]
pub(in crate::transport::nixl) struct Steps {
    kinds: Vec<(Kind, StepTimes)>,
    others: StepTimes,
}

impl Steps {
    /// Adds one completed transfer.
    pub(in crate::transport::nixl) fn add(&mut self, kind: Kind, times: &StepTimes) {
        match self.kinds.iter().position(|(known, _)| *known == kind) {
            Some(index) => self.kinds[index].1.add(times),
            None if self.kinds.len() < MAX_KINDS => self.kinds.push((kind, times.clone())),
            None => self.others.add(times),
        }
    }

    /// Returns an entry with the count and the steps of each kind of transfer. `served_by` is the backend that served
    /// the transfers.
    pub(in crate::transport::nixl) fn protocols(
        &self,
        requests: NixlRequests,
        served_by: &str,
    ) -> Vec<ProtocolUse> {
        let protocol = |function: &str, from_bytes, to_bytes, steps: &StepTimes| ProtocolUse {
            function: function.to_owned(),
            from_bytes,
            to_bytes,
            memory: None,
            description: format!("requests {}", requests.name()),
            lanes: served_by.to_owned(),
            count: steps.transfers,
            steps: Some(steps.clone()),
        };
        let mut protocols: Vec<_> = self
            .kinds
            .iter()
            .map(|(kind, steps)| {
                let function = if kind.is_read { READ } else { WRITE };
                protocol(function, kind.length, Some(kind.length), steps)
            })
            .collect();
        if self.others.transfers > 0 {
            protocols.push(protocol("other transfers", 0, None, &self.others));
        }
        protocols
    }
}

/// Function name recorded for reads.
const READ: &str = "nixl READ";
/// Function name recorded for writes.
const WRITE: &str = "nixl WRITE";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_up_the_transfers_of_each_kind() {
        let mut steps = Steps::default();
        let one = StepTimes {
            transfers: 1,
            post_nanos: 10,
            ..StepTimes::default()
        };
        for length in [64, 64, 4096] {
            for is_read in [false, true] {
                steps.add(Kind { is_read, length }, &one);
            }
        }
        let protocols = steps.protocols(NixlRequests::Created, "UCX");
        let counts: Vec<_> = protocols
            .iter()
            .map(|protocol| (protocol.function.as_str(), protocol.from_bytes, protocol.count))
            .collect();
        let expected = [(WRITE, 64, 2), (READ, 64, 2), (WRITE, 4096, 1), (READ, 4096, 1)];
        assert_eq!(counts, expected);
        assert_eq!(
            protocols[0].steps.as_ref().map(|steps| steps.post_nanos),
            Some(20)
        );
        assert_eq!(protocols[0].description, "requests created");
        for length in 0..100 {
            steps.add(
                Kind {
                    is_read: true,
                    length,
                },
                &one,
            );
        }
        let protocols = steps.protocols(NixlRequests::Prepared, "UCX");
        assert_eq!(protocols.len(), MAX_KINDS + 1);
        assert_eq!(protocols.iter().map(|protocol| protocol.count).sum::<u64>(), 106);
    }
}

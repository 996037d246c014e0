//! Detects changes in the endpoints between rounds. Performs no I/O.

use std::collections::BTreeMap;

use crds::record::EndpointsRecord;

/// Latest endpoint record of every arm on every worker.
#[derive(Debug, Default)]
pub struct EndpointLog(BTreeMap<(u32, String), EndpointsRecord>);

/// Result of comparing an endpoint record with the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// There is no previous record.
    First,
    /// The endpoints have not changed.
    Unchanged,
    /// The endpoints have changed.
    Changed,
}

impl EndpointLog {
    /// Compares `record` with the previous record of the same arm and rank, and stores it.
    pub fn update(&mut self, record: &EndpointsRecord) -> Change {
        let facts = comparable_record(record);
        let key = (record.rank, record.arm.clone());
        match self.0.insert(key, facts.clone()) {
            None => Change::First,
            Some(last) if last == facts => Change::Unchanged,
            Some(_) => Change::Changed,
        }
    }
}

/// Removes the values that differ in every round: the round, and the addresses, which contain a port or process ID.
fn comparable_record(record: &EndpointsRecord) -> EndpointsRecord {
    let mut facts = record.clone();
    (facts.round, facts.restart) = (0, 0);
    for rail in facts.fabric.iter_mut().flat_map(|fabric| &mut fabric.rails) {
        rail.address.clear();
    }
    facts
}

#[cfg(test)]
mod tests {
    use crds::record::{FabricFacts, RailFacts};

    use super::*;

    fn record(round: u32, address: &str, domain: &str) -> EndpointsRecord {
        let rail = RailFacts {
            domain: domain.into(),
            address: address.into(),
            ..RailFacts::default()
        };
        EndpointsRecord {
            round,
            restart: 0,
            rank: 1,
            arm: "baseline".into(),
            fabric: Some(FabricFacts {
                rails: vec![rail],
                ..FabricFacts::default()
            }),
            failure: None,
        }
    }

    #[test]
    fn ignores_a_new_port_and_detects_a_new_domain() {
        let mut log = EndpointLog::default();
        assert_eq!(log.update(&record(1, "127.0.0.1:1000", "lo")), Change::First);
        assert_eq!(log.update(&record(2, "127.0.0.1:2000", "lo")), Change::Unchanged);
        assert_eq!(log.update(&record(3, "127.0.0.1:2000", "eth0")), Change::Changed);
    }
}

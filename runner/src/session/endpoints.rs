//! Which endpoint facts are new. Pure.

use std::collections::BTreeMap;

use crds::record::EndpointsRecord;

/// The facts of every arm at every worker, as they were said last.
#[derive(Debug, Default)]
pub struct EndpointLog(BTreeMap<(u32, String), EndpointsRecord>);

/// How facts compare with those of the round before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// There were none before.
    First,
    /// They are as before.
    None,
    /// They are others.
    Changed,
}

impl EndpointLog {
    /// Compares `record` with the last one of its arm and rank, and remembers it.
    pub fn note(&mut self, record: &EndpointsRecord) -> Change {
        let facts = lasting(record);
        let key = (record.rank, record.arm.clone());
        match self.0.insert(key, facts.clone()) {
            None => Change::First,
            Some(last) if last == facts => Change::None,
            Some(_) => Change::Changed,
        }
    }
}

/// The facts that one process's endpoints should share with the next one's: not the round, nor addresses, which hold
/// a port or process number.
fn lasting(record: &EndpointsRecord) -> EndpointsRecord {
    let mut facts = record.clone();
    facts.round = 0;
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
    fn a_new_port_is_no_change_and_a_new_domain_is() {
        let mut log = EndpointLog::default();
        assert_eq!(log.note(&record(1, "127.0.0.1:1000", "lo")), Change::First);
        assert_eq!(log.note(&record(2, "127.0.0.1:2000", "lo")), Change::None);
        assert_eq!(log.note(&record(3, "127.0.0.1:2000", "eth0")), Change::Changed);
    }
}

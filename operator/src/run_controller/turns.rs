//! Which runs want to place a gang, and which do. Keeps what each run was last seen to do; who comes first is decided in
//! [`super::gate`]. No I/O.
//!
//! From the moment a run is told that it is its turn, it counts as placing, though its Job is in no cache yet. Only one
//! process acts at a time, and it notes every run before it acts, so nothing of this has to outlive it.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::gate::{Contender, Stage, ahead, beside};
use super::store::RunKey;

/// What every run that is going on was last seen to do.
#[derive(Debug, Default)]
pub(super) struct Turns(Mutex<BTreeMap<RunKey, Contender>>);

/// What comes of noting a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Noted {
    /// The run that it has to wait for.
    pub(super) ahead: Option<String>,
    /// A run whose gang has nodes that this one's, which is being placed, could want.
    pub(super) beside: Option<String>,
    /// Runs that waited and whose turn it may be now.
    pub(super) wake: Vec<RunKey>,
}

impl Turns {
    /// Notes what a run does; asks for its turn where it would create its next gang.
    pub(super) fn note(&self, key: &RunKey, mut own: Contender) -> Noted {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = all.get(key).map(|before| before.stage);
        let first = match own.stage {
            Stage::Next => ahead(&own, all.values()).map(|first| first.name.clone()),
            Stage::Idle | Stage::Placing | Stage::Placed => None,
        };
        if own.stage == Stage::Next && first.is_none() {
            own.stage = Stage::Placing;
        }
        let freed = before == Some(Stage::Placing) && own.stage != Stage::Placing
            || before == Some(Stage::Placed) && own.stage == Stage::Idle
            || before == Some(Stage::Next) && own.stage == Stage::Idle;
        let beside = match own.stage {
            Stage::Placing => beside(&own, all.values()).map(|other| other.name.clone()),
            Stage::Idle | Stage::Next | Stage::Placed => None,
        };
        match own.stage {
            Stage::Idle => all.remove(key),
            Stage::Next | Stage::Placing | Stage::Placed => all.insert(key.clone(), own),
        };
        Noted {
            ahead: first,
            beside,
            wake: if freed { waiting(&all, key) } else { Vec::new() },
        }
    }

    /// The run is over or gone. Gives the runs whose turn it may be now.
    pub(super) fn forget(&self, key: &RunKey) -> Vec<RunKey> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match all.remove(key) {
            Some(_) => waiting(&all, key),
            None => Vec::new(),
        }
    }
}

fn waiting(all: &BTreeMap<RunKey, Contender>, but: &RunKey) -> Vec<RunKey> {
    let waiting = all
        .iter()
        .filter(|(key, run)| *key != but && matches!(run.stage, Stage::Next | Stage::Placing));
    waiting.map(|(key, _)| key.clone()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use jiff::Timestamp;

    use super::*;

    fn key(name: &str) -> RunKey {
        RunKey {
            namespace: "n".to_owned(),
            name: name.to_owned(),
        }
    }

    fn run(name: &str, created: i64, stage: Stage) -> Contender {
        Contender {
            name: format!("n/{name}"),
            uid: name.to_owned(),
            created: Timestamp::from_second(created).unwrap(),
            workers: 2,
            exclusive: true,
            may_use: None,
            nodes: BTreeSet::new(),
            stage,
        }
    }

    #[test]
    fn one_at_a_time_and_the_oldest_next() {
        let turns = Turns::default();
        let ask = |name: &str, created| turns.note(&key(name), run(name, created, Stage::Next));
        assert_eq!(ask("b", 2), Noted::default(), "it is its turn");
        assert_eq!(ask("b", 2), Noted::default(), "and stays so while it creates");
        assert_eq!(ask("c", 3).ahead.as_deref(), Some("n/b"));
        assert_eq!(ask("a", 1).ahead.as_deref(), Some("n/b"));
        let placed = turns.note(&key("b"), run("b", 2, Stage::Placed));
        assert_eq!(placed.wake, [key("a"), key("c")]);
        assert_eq!(ask("c", 3).ahead.as_deref(), Some("n/a"), "the oldest is next");
        assert_eq!(ask("a", 1).ahead, None);
        assert_eq!(turns.forget(&key("a")), [key("c")]);
        assert_eq!(ask("c", 3).ahead, None);
    }
}

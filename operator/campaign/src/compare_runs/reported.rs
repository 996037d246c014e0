//! Properties of hosts that a worker cannot always read. An unknown value counts neither as a difference nor as a
//! match.

use std::collections::BTreeSet;

use crds::record::HostEnvironment;

use super::FinishedRun;
use super::difference::{Difference, join};

/// A property of a host.
enum HostProperty {
    /// The host has no device with this property.
    NotApplicable,
    /// The worker could not read the property.
    Unknown,
    Value(String),
}

/// Name of a property, and a function that describes its value on a host.
type Property = (&'static str, fn(&HostEnvironment) -> HostProperty);

const PROPERTIES: [Property; 2] = [
    ("maximum GPU clocks", |host| {
        let clocks = host.hardware.max_gpu_clocks().join("; ");
        if host.hardware.gpus.is_empty() {
            HostProperty::NotApplicable
        } else if clocks.is_empty() {
            HostProperty::Unknown
        } else {
            HostProperty::Value(clocks)
        }
    }),
    ("EFA installer", |host| {
        let has_efa = (host.hardware.nics.iter()).any(|nic| nic.driver.as_deref() == Some("efa"));
        match &host.hardware.efa_installer {
            Some(version) => HostProperty::Value(version.clone()),
            None if has_efa => HostProperty::Unknown,
            None => HostProperty::NotApplicable,
        }
    }),
];

/// Values of a property on all hosts of a run.
#[derive(Default)]
struct Values {
    known: BTreeSet<String>,
    has_unknown: bool,
}

impl Values {
    fn new(run: &FinishedRun<'_>, describe: fn(&HostEnvironment) -> HostProperty) -> Self {
        let mut values = Self::default();
        for worker in &run.evaluation.summary.environment.workers {
            match describe(&worker.hello.environment) {
                HostProperty::NotApplicable => {}
                HostProperty::Unknown => values.has_unknown = true,
                HostProperty::Value(value) => {
                    values.known.insert(value);
                }
            }
        }
        values
    }

    /// Whether `self` contains a value that no host of `other` can have.
    fn contradict(&self, other: &Self) -> bool {
        !other.has_unknown && !self.known.is_subset(&other.known)
    }
}

/// Properties in which the known values of the runs differ.
pub(super) fn differences(first: &FinishedRun<'_>, second: &FinishedRun<'_>) -> Vec<Difference> {
    let difference = |(name, describe): &Property| {
        let (first, second) = (Values::new(first, *describe), Values::new(second, *describe));
        (first.contradict(&second) || second.contradict(&first)).then(|| Difference {
            property: (*name).to_owned(),
            first: join(first.known.into_iter()),
            second: join(second.known.into_iter()),
        })
    };
    PROPERTIES.iter().filter_map(difference).collect()
}

/// Names of the properties that some host of either run does not report, so the runs may differ in them unnoticed.
pub fn unreported_properties(first: &FinishedRun<'_>, second: &FinishedRun<'_>) -> Vec<&'static str> {
    let is_unknown = |(_, describe): &&Property| {
        [first, second]
            .iter()
            .any(|run| Values::new(run, *describe).has_unknown)
    };
    let unknown = PROPERTIES.iter().filter(is_unknown);
    unknown.map(|(name, _)| *name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(known: &[&str], has_unknown: bool) -> Values {
        Values {
            known: known.iter().map(|value| (*value).to_owned()).collect(),
            has_unknown,
        }
    }

    #[test]
    fn only_known_values_differ() {
        for (first, second, differ) in [
            (values(&["a"], false), values(&["a"], false), false),
            (values(&["a"], false), values(&["b"], false), true),
            (values(&["a"], false), values(&[], true), false),
            (values(&["a", "b"], false), values(&["a"], true), false),
            (values(&["a"], false), values(&["b"], true), true),
            (values(&[], true), values(&[], true), false),
        ] {
            let found = first.contradict(&second) || second.contradict(&first);
            assert_eq!(found, differ, "{:?} {:?}", first.known, second.known);
        }
    }
}

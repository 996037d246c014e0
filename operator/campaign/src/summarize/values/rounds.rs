//! The valid cases of an arm at one size by round, and medians over them.

use std::collections::BTreeMap;

use crds::record::Measurement;

use crate::stats::median_of;

/// The valid cases of an arm at one size, by round.
#[derive(Debug, Default)]
pub struct Rounds<'a> {
    /// The cases of each round: one for each pair or, with the many-to-many pattern, one for each flow.
    cases: BTreeMap<u32, Vec<&'a Measurement>>,
    /// Whether the cases in a round are flows that share one value. Otherwise, each case has a value.
    are_flows: bool,
}

impl<'a> Rounds<'a> {
    /// Creates an empty collection. `are_flows` determines whether the cases in a round share one value.
    pub(crate) fn new(are_flows: bool) -> Self {
        Self {
            cases: BTreeMap::new(),
            are_flows,
        }
    }

    /// Adds a case of `round`.
    pub(crate) fn add(&mut self, round: u32, case: &'a Measurement) {
        self.cases.entry(round).or_default().push(case);
    }

    /// Rounds with at least one case, in order.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.cases.keys().copied()
    }

    /// All cases, by round.
    pub(crate) fn cases(&self) -> impl Iterator<Item = &'a Measurement> {
        self.cases.values().flatten().copied()
    }

    /// For every round with a value, the median of `value` over its pairs, or `value` of all its flows. `value` is
    /// called with the cases that share one value.
    pub(crate) fn medians(&self, value: impl Fn(&[&Measurement]) -> Option<f64>) -> Vec<(u32, f64)> {
        let round_median = |(round, cases): (&u32, &Vec<&Measurement>)| {
            let median = match self.are_flows {
                true => value(cases),
                false => {
                    let values = cases.iter().filter_map(|case| value(&[*case]));
                    median_of(&mut values.collect::<Vec<_>>())
                }
            };
            median.map(|median| (*round, median))
        };
        self.cases.iter().filter_map(round_median).collect()
    }

    /// Median of [`Rounds::medians`] over the rounds; `None` if no round has a value.
    pub(crate) fn median(&self, value: impl Fn(&[&Measurement]) -> Option<f64>) -> Option<f64> {
        let medians = self.medians(value).into_iter();
        median_of(&mut medians.map(|(_, median)| median).collect::<Vec<_>>())
    }

    /// Median over the rounds of the median of `value` over the pairs, where `value` is defined only for a single case;
    /// `None` if no round has a value.
    pub(crate) fn median_of_pairs(&self, value: impl Fn(&Measurement) -> Option<f64>) -> Option<f64> {
        self.median(|cases| match cases {
            [case] => value(case),
            _ => None,
        })
    }
}

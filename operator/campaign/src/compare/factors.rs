//! Estimates the effects of a run's factors and of their interactions. Performs no I/O.
//!
//! The statistical unit is the round, as in comparisons of arms. A round effect is the median, over the round's pairs,
//! of the contrast of all combinations. The interval is the exact interval computed from the round effects. All effects
//! of a scenario form a separate family.

use std::collections::BTreeMap;

use crds::v1alpha1::{FactorEffectKind, Metric, Optimization, Verdict};
use serde::Serialize;

use super::case_index::{CaseIndex, CasesOfOneValue};
use super::comparison::{Comparison, Effect};
use super::reason::Withheld;
use super::serialize::interval_percent;
use crate::plan::Plan;
use crate::stats::{
    BetterDirection, BoundedValue, Family, Interval, Margin, PairedResult, RoundEffects, StatsError,
    compare_bounded, contrast, percent_change, signed_rank,
};
use crate::stopping::Stopping;
use crate::summarize::bounded_statistic;

/// Effect of one factor or of several factors together on the primary metric of a scenario at one size.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FactorEffect {
    /// Index of the scenario in the plan.
    pub scenario: usize,
    /// Message or transfer size in bytes.
    pub size_bytes: u64,
    /// Kind of effect.
    pub kind: FactorEffectKind,
    /// Factors that the effect involves, in plan order.
    pub factors: Vec<Optimization>,
    /// Number of rounds in which all combinations are valid.
    pub rounds: usize,
    /// Estimated effect; `None` if there is no round in which all combinations are valid.
    pub effect: Option<Effect>,
    /// Effect with its interval; `None` if there are too few rounds.
    #[serde(serialize_with = "interval_percent")]
    pub interval: Option<Interval>,
    /// Verdict; `None` if it is withheld.
    pub verdict: Option<Verdict>,
    /// Reason for withholding the verdict, or for the missing interval.
    pub reason: Option<Withheld>,
    /// For an interaction of two factors, the change caused by the first factor, without and with the second.
    pub conditional: Option<[ConditionalChange; 2]>,
}

/// Change that one factor causes in one state of another factor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConditionalChange {
    /// Estimated change, in percent.
    pub percent: f64,
    /// Lower and upper end of its interval at the level of the factors' family, in percent; `None` if there are too few
    /// rounds. It is descriptive: it is not one of the intervals of the family.
    pub interval_percent: Option<(f64, f64)>,
}

impl FactorEffect {
    /// Whether all factors of the effect apply at its size.
    pub fn is_applicable(&self) -> bool {
        !matches!(self.reason, Some(Withheld::NotApplicable { .. }))
    }

    /// Lower and upper end of the interval, in percent.
    pub fn interval_percent(&self) -> Option<(f64, f64)> {
        self.interval.as_ref().map(Interval::percent)
    }
}

/// An effect to estimate. `factors` is a set of binary digits: digit `i` stands for factor `i` of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Question {
    kind: FactorEffectKind,
    factors: usize,
}

impl Question {
    /// The effects of `count` factors: the effect of each factor, the interactions, and, for more than two factors, the
    /// combination of all factors. For two factors, the combination is their interaction.
    fn all(count: usize) -> Vec<Self> {
        let every = (1_usize << count) - 1;
        let mut questions: Vec<Self> = (1..=every)
            .map(|factors| Self {
                kind: match factors.count_ones() {
                    1 => FactorEffectKind::Main,
                    _ => FactorEffectKind::Interaction,
                },
                factors,
            })
            .collect();
        // Main effects first, then interactions of two factors.
        questions.sort_by_key(|question| question.factors.count_ones());
        if count > 2 {
            questions.push(Self {
                kind: FactorEffectKind::Combination,
                factors: every,
            });
        }
        questions
    }

    /// The effect in one round and pair, from the logarithms of all combinations.
    fn contrast(self, values: &[f64]) -> f64 {
        match self.kind {
            FactorEffectKind::Main | FactorEffectKind::Interaction => contrast::effect(values, self.factors),
            FactorEffectKind::Combination => contrast::departure(values, self.factors),
        }
    }
}

/// Estimates the effects at every size of every scenario, given all comparisons of the arms with the baseline. Empty if
/// there are no factors.
pub(super) fn estimate(
    plan: &Plan,
    index: &CaseIndex<'_>,
    stopping: &Stopping,
    comparisons: &[Comparison],
) -> Result<Vec<FactorEffect>, StatsError> {
    let mut effects = Vec::new();
    if plan.factors.is_empty() {
        return Ok(effects);
    }
    let margin = Margin::from_percent(f64::from(plan.sampling.margin_percent))?;
    for (scenario, planned) in plan.scenarios.iter().enumerate() {
        let family = plan.family(planned.factor_effects)?;
        let direction = BetterDirection::from(planned.primary);
        for size_bytes in planned.sizes.iter().copied() {
            let cell = Cell {
                plan,
                scenario,
                size_bytes,
            };
            let rounds = cell.rounds(index, stopping, planned.primary);
            let applicable = cell.applicability(comparisons);
            let withheld = cell.withheld(comparisons);
            for question in cell.questions(&applicable) {
                let weights = weights(cell.combinations(), |values| question.contrast(values));
                let result = result(&rounds, &weights, &family, (margin, direction));
                let awaited = stopping.awaited_first_analysis(plan);
                let reason = withheld
                    .clone()
                    .or_else(|| cell.not_applicable(question, &applicable))
                    .or_else(|| awaited.map(|rounds| Withheld::NotAnalyzed { rounds }))
                    .or_else(|| {
                        let missing = result.interval.as_ref().err()?;
                        Some(match result.rounds {
                            0 => Withheld::NoCommonRound,
                            _ => Withheld::NoInterval {
                                message: missing.to_string(),
                            },
                        })
                    });
                let keeps_verdict = matches!(reason, None | Some(Withheld::NoInterval { .. }));
                effects.push(FactorEffect {
                    scenario,
                    size_bytes,
                    kind: question.kind,
                    factors: cell.optimizations(question.factors),
                    rounds: result.rounds,
                    effect: result.estimate.filter(|_| awaited.is_none()).map(Effect::new),
                    interval: result.interval.ok().filter(|_| awaited.is_none()),
                    verdict: keeps_verdict.then_some(result.verdict),
                    reason,
                    conditional: match awaited {
                        None => conditional(question, cell.combinations(), &rounds, &family),
                        Some(_) => None,
                    },
                });
            }
        }
    }
    Ok(effects)
}

/// Values of the primary metric of all combinations, by round and pair.
type Rounds = BTreeMap<u32, Vec<Vec<BoundedValue>>>;

/// The result of the contrast with these `weights`. As in comparisons of arms, rounds in which a tool printed 0 are not left
/// out: the remaining ones would be a selection by their values.
fn result(
    rounds: &Rounds,
    weights: &[f64],
    family: &Family,
    (margin, direction): (Margin, BetterDirection),
) -> PairedResult {
    match rounds_below_resolution(rounds) {
        0 => {
            let contrasts = RoundEffects::of_contrast(rounds.values().map(Vec::as_slice), weights);
            compare_bounded(&contrasts, family, margin, direction)
        }
        affected => PairedResult::below_resolution(affected, rounds.len()),
    }
}

/// Number of rounds in which a tool printed 0 for a combination in a pair.
fn rounds_below_resolution(rounds: &Rounds) -> usize {
    let is_below =
        |pairs: &&Vec<Vec<BoundedValue>>| pairs.iter().flatten().any(BoundedValue::is_below_resolution);
    rounds.values().filter(is_below).count()
}

/// The weights of the linear function `contrast` of the logarithms of `count` combinations.
fn weights(count: usize, contrast: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let weight = |combination: usize| {
        let mut unit = vec![0.0; count];
        if let Some(one) = unit.get_mut(combination) {
            *one = 1.0;
        }
        contrast(&unit)
    };
    (0..count).map(weight).collect()
}

/// Change caused by the first factor of an interaction of two, without and with the second: Hodges-Lehmann estimates
/// over the rounds and their intervals at the level of the `family` of effects.
fn conditional(
    question: Question,
    combinations: usize,
    rounds: &Rounds,
    family: &Family,
) -> Option<[ConditionalChange; 2]> {
    let is_of_two = question.kind == FactorEffectKind::Interaction && question.factors.count_ones() == 2;
    if !is_of_two || rounds_below_resolution(rounds) > 0 {
        return None;
    }
    let first = 1 << question.factors.trailing_zeros();
    let second = question.factors & !first;
    let change_in_state = |state: usize| {
        let weights = weights(combinations, |values| {
            let [without, with] = contrast::conditional(values, first, second);
            if state == 0 { without } else { with }
        });
        let effects = RoundEffects::of_contrast(rounds.values().map(Vec::as_slice), &weights);
        Some(ConditionalChange {
            percent: percent_change(signed_rank::estimate(&effects.printed)?),
            interval_percent: effects.interval(family.level()).as_ref().map(Interval::percent),
        })
    };
    Some([change_in_state(0)?, change_in_state(1)?])
}

/// One size of one scenario.
#[derive(Clone, Copy)]
struct Cell<'a> {
    plan: &'a Plan,
    scenario: usize,
    size_bytes: u64,
}

impl Cell<'_> {
    /// Number of combinations of the factors. The number of a combination is the index of its arm.
    fn combinations(self) -> usize {
        1 << self.plan.factors.len()
    }

    /// Values of the rounds in which a pair has values of all combinations, also if a tool printed them as 0, up to the
    /// earliest analysis at which the comparison of any combination ended.
    fn rounds(self, index: &CaseIndex<'_>, stopping: &Stopping, primary: Metric) -> Rounds {
        let mut rounds = Rounds::new();
        let Some(planned) = self.plan.scenarios.get(self.scenario) else {
            return rounds;
        };
        let arms = 1..self.combinations();
        let last_rounds =
            arms.map(|arm| stopping.last_round(self.plan, (self.scenario, self.size_bytes, arm)));
        let last = last_rounds.flatten().min().unwrap_or(u32::MAX);
        let (from, to) = (
            (self.scenario, self.size_bytes, self.plan.baseline, 0, (0, 0)),
            (
                self.scenario,
                self.size_bytes,
                self.plan.baseline,
                last,
                (u32::MAX, u32::MAX),
            ),
        );
        let value = |arm: usize, cases: &CasesOfOneValue<'_>| {
            let moves_payload = self.plan.moves_payload(planned, arm, self.size_bytes);
            bounded_statistic(&planned.assignment.workload, moves_payload, cases, primary)
        };
        for ((_, _, _, round, pair), _) in index.range(from..=to) {
            let values: Option<Vec<BoundedValue>> = (0..self.combinations())
                .map(|arm| {
                    let cases = index.get(&(self.scenario, self.size_bytes, arm, *round, *pair))?;
                    value(arm, cases)
                })
                .collect();
            if let Some(values) = values {
                rounds.entry(*round).or_default().push(values);
            }
        }
        rounds
    }

    fn optimizations(self, factors: usize) -> Vec<Optimization> {
        let named = self.plan.factors.iter().enumerate();
        let named = named.filter(|(index, _)| factors >> index & 1 == 1);
        named.map(|(_, factor)| *factor).collect()
    }

    fn comparison(self, comparisons: &[Comparison], arm: usize) -> Option<&Comparison> {
        comparisons.iter().find(|one| {
            one.primary && (one.scenario, one.size_bytes, one.arm) == (self.scenario, self.size_bytes, arm)
        })
    }

    /// Whether each factor applies at this size, with the reason if it does not.
    fn applicability(self, comparisons: &[Comparison]) -> Vec<Result<(), String>> {
        let factors = 0..self.plan.factors.len();
        let factor_applicability = |factor: usize| {
            let single = self.comparison(comparisons, 1 << factor);
            match single.and_then(|one| one.reason.as_ref()) {
                Some(Withheld::Identical { message } | Withheld::NotApplicable { message }) => {
                    Err(message.clone())
                }
                _ => Ok(()),
            }
        };
        factors.map(factor_applicability).collect()
    }

    /// The effects to estimate. The combination includes the factors that apply at this size.
    fn questions(self, applicable: &[Result<(), String>]) -> Vec<Question> {
        let mut questions = Question::all(self.plan.factors.len());
        let applying = applicable.iter().enumerate().filter(|(_, one)| one.is_ok());
        let applying = applying.fold(0, |set, (factor, _)| set | 1 << factor);
        for question in &mut questions {
            // A combination needs at least two applicable factors. If there are fewer, it keeps all factors, so its
            // reason says why the first inapplicable factor does not apply.
            if question.kind == FactorEffectKind::Combination && usize::count_ones(applying) >= 2 {
                question.factors = applying;
            }
        }
        questions
    }

    fn not_applicable(self, question: Question, applicable: &[Result<(), String>]) -> Option<Withheld> {
        let mut factors = applicable.iter().enumerate();
        factors.find_map(|(factor, result)| {
            let message = result.as_ref().err()?;
            (question.factors >> factor & 1 == 1).then(|| Withheld::NotApplicable {
                message: message.clone(),
            })
        })
    }

    /// Why no effect at this size can be trusted: the reason given by the first combination that is untrusted or
    /// suspect, or whose optimizations did not engage.
    fn withheld(self, comparisons: &[Comparison]) -> Option<Withheld> {
        let mut arms = 1..self.combinations();
        arms.find_map(|arm| {
            let comparison = self.comparison(comparisons, arm)?;
            let reason = comparison.reason.as_ref()?;
            let blocks = comparison.is_untrusted()
                || comparison.is_suspect()
                || matches!(reason, Withheld::NotEngaged { .. } | Withheld::NoEffect { .. });
            blocks.then(|| reason.clone())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tool that prints 0 in one of ten rounds: that round is neither left out nor taken as a ratio.
    #[test]
    fn printed_zeros_withhold_the_effect() {
        let value = |value: f64| BoundedValue {
            value,
            least: (value - 5.0).max(0.0),
            most: value + 5.0,
        };
        let rounds = |first: f64| -> Rounds {
            let values =
                |round: u32| vec![vec![value(if round == 1 { first } else { 1000.0 }), value(500.0)]];
            (1..=10).map(|round| (round, values(round))).collect()
        };
        let family = Family::new(1, 95.0).unwrap();
        let margin = (Margin::from_percent(2.0).unwrap(), BetterDirection::LowerIsBetter);
        let weights = [-1.0, 1.0];
        let found = result(&rounds(1000.0), &weights, &family, margin);
        assert_eq!((found.rounds, found.verdict), (10, Verdict::Improved));
        let withheld = result(&rounds(0.0), &weights, &family, margin);
        assert_eq!((withheld.rounds, withheld.estimate), (10, None));
        assert_eq!(withheld.verdict, Verdict::Inconclusive);
        assert!(withheld.is_resolution_open && withheld.interval.is_err());
        let interaction = Question {
            kind: FactorEffectKind::Interaction,
            factors: 3,
        };
        let four = |first: f64| -> Rounds {
            let repeated = |values: &Vec<BoundedValue>| values.iter().chain(values).copied().collect();
            let all = rounds(first).into_iter();
            all.map(|(round, pairs)| (round, pairs.iter().map(repeated).collect()))
                .collect()
        };
        assert!(conditional(interaction, 4, &four(1000.0), &family).is_some());
        assert!(conditional(interaction, 4, &four(0.0), &family).is_none());
    }

    #[test]
    fn plan_and_comparison_agree_on_the_number_of_effects() {
        for factors in 1..=crds::v1alpha1::Factors::MAX {
            assert_eq!(Question::all(factors).len(), contrast::effect_count(factors));
        }
    }
}

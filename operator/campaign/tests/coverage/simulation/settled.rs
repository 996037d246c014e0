//! Experiments on runs with interim analyses, which end each comparison as soon as it is decided.

use crds::v1alpha1::Verdict;
use fabricbench_campaign::stats::{
    BetterDirection, Family, InterimAnalysis, Interval, MAX_ROUNDS, Margin, QuestionState, analysis_rounds,
    decide_verdict, median_of, signed_rank,
};
use rand::Rng;

use super::campaign::{Order, Setting, round_effects};
use super::experiments::Share;
use super::generator;
use super::noise::Noise;

/// Number of campaigns for each coverage value.
const CAMPAIGNS: usize = 1_000;

/// Number of campaigns for each cost.
const FEW_CAMPAIGNS: usize = 1_000;

/// Number of arms with a verdict.
const VARIANTS: usize = 3;

/// Number of sizes: with three variants, there are 6 comparisons.
const SIZES: usize = 2;

/// Number of draws used to estimate the true effect of asymmetric rounds.
const DRAWS: usize = 200_000;

/// Shift, in units of the noise, of the case that follows the first variant in simulations with carry-over.
const CARRY_OVER: f64 = 0.5;

/// Margin of the verdicts, in percent.
const MARGIN_PERCENT: f64 = 2.0;

/// True effects, in percent.
const EFFECTS: [f64; 5] = [0.0, 1.0, 3.0, 10.0, 50.0];

/// True effect assumed in the coverage simulations, in percent. It is close to the margin, so that each analysis ends
/// some of the comparisons.
const COVERED_EFFECT: f64 = 3.0;

/// When comparisons are analyzed, and what ends them.
struct Design {
    family: Family,
    interim: InterimAnalysis,
    analyses: Vec<u32>,
    futility: bool,
}

/// State of a comparison when it ends.
struct End {
    rounds: u32,
    interval: Interval,
    verdict: Verdict,
}

/// Family of the simulated comparisons.
pub fn family() -> Family {
    Family::new((VARIANTS * SIZES) as u32, 95.0).expect("a valid family")
}

fn margin() -> Margin {
    Margin::from_percent(MARGIN_PERCENT).expect("a valid margin")
}

impl Design {
    /// One analysis after `rounds` rounds.
    fn fixed(rounds: u32) -> Self {
        Self {
            family: family(),
            interim: InterimAnalysis::new(family()),
            analyses: vec![rounds],
            futility: false,
        }
    }

    /// Interim analyses as in a run with `stop: Settled`.
    fn settled(futility: bool) -> Self {
        let analyses = analysis_rounds(MAX_ROUNDS, &family());
        let family = family().with_analyses(analyses.len());
        Self {
            family,
            interim: InterimAnalysis::new(family),
            analyses,
            futility,
        }
    }

    fn end(&mut self, effects: &[f64]) -> End {
        let margin = margin();
        let verdict = |interval: &Interval| decide_verdict(interval, margin, BetterDirection::LowerIsBetter);
        let (last, interim) = self.analyses.split_last().expect("at least one analysis");
        let level = self.family.level();
        let at = |rounds: u32| {
            let interval = signed_rank::interval(&effects[..rounds as usize], level);
            let interval = interval.expect("enough rounds");
            End {
                rounds,
                interval,
                verdict: verdict(&interval),
            }
        };
        for (index, rounds) in interim.iter().enumerate() {
            let end = at(*rounds);
            let later = self.analyses[index + 1..].iter().copied();
            let decides = |interval: &Interval| verdict(interval) != Verdict::Inconclusive;
            match self.interim.answer(&end.interval, *rounds, later, decides) {
                QuestionState::Decided => return end,
                QuestionState::Futile if self.futility => return end,
                QuestionState::Futile | QuestionState::Open => {}
            }
        }
        at(*last)
    }
}

/// Model of a comparison's round effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// The arm and the baseline have the same noise. The random order makes the effects symmetric.
    Same(Noise),
    /// The baseline noise is normal, and the arm noise is skewed.
    ChangedShape,
    /// The case that follows the first variant in a block is slower.
    CarryOver,
}

impl std::fmt::Display for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Model::Same(noise) => noise.fmt(f),
            Model::ChangedShape => f.pad("changed shape"),
            Model::CarryOver => f.pad("carry-over"),
        }
    }
}

/// Standard deviation of case noise.
const SPREAD: f64 = 0.05;

impl Model {
    /// Round effects of each comparison at one size, without the true effect.
    fn rounds(self, rng: &mut impl Rng) -> Vec<Vec<f64>> {
        let rounds = MAX_ROUNDS as usize;
        match self {
            Model::Same(noise) => {
                let setting = Setting {
                    noise,
                    order: Order::Random,
                    pairs: 1,
                    rounds,
                };
                let arms = setting.measure(VARIANTS, 0.0, rng);
                arms.iter().map(|arm| round_effects(arm)).collect()
            }
            Model::ChangedShape => {
                let arms = std::iter::repeat_with(|| {
                    let effects = std::iter::repeat_with(|| changed_shape(rng));
                    effects.take(rounds).collect()
                });
                arms.take(VARIANTS).collect()
            }
            Model::CarryOver => {
                let mut arms = vec![Vec::new(); VARIANTS];
                for _ in 0..rounds {
                    let values = block_with_carry_over(rng);
                    for (arm, effects) in arms.iter_mut().enumerate() {
                        effects.push(SPREAD * (values[arm + 1] - values[0]));
                    }
                }
                arms
            }
        }
    }

    /// The effect that the intervals estimate if the arm has no effect: the median of the Walsh averages of all rounds.
    /// It is not 0 if the round effects are asymmetric.
    fn center(self, rng: &mut impl Rng) -> f64 {
        match self {
            Model::Same(_) | Model::CarryOver => 0.0,
            Model::ChangedShape => {
                let averages =
                    std::iter::repeat_with(|| f64::midpoint(changed_shape(rng), changed_shape(rng)));
                median_of(&mut averages.take(DRAWS).collect::<Vec<f64>>()).expect("at least one draw")
            }
        }
    }
}

fn changed_shape(rng: &mut impl Rng) -> f64 {
    SPREAD * (Noise::Skewed.independent(rng) - Noise::Normal.independent(rng))
}

/// Noise of the baseline (first) and the variants of one block, in which the case that follows the first variant is
/// slower.
fn block_with_carry_over(rng: &mut impl Rng) -> [f64; VARIANTS + 1] {
    use rand::seq::SliceRandom;

    let mut order: [usize; VARIANTS + 1] = std::array::from_fn(|arm| arm);
    order.shuffle(rng);
    let mut values = [0.0; VARIANTS + 1];
    let mut previous = None;
    for arm in order {
        let shift = if previous == Some(1) { CARRY_OVER } else { 0.0 };
        values[arm] = shift + Noise::Normal.independent(rng);
        previous = Some(arm);
    }
    values
}

/// How often any interval of a scenario misses the true effect at the end of its comparison.
#[derive(Debug, Clone, Copy)]
pub struct SettledCoverage {
    /// Model of the rounds.
    pub model: Model,
    /// True effect in percent.
    pub effect_percent: f64,
    /// Fraction of scenarios in which any interval misses the true effect at the end of its comparison.
    pub missed: Share,
    /// The same fraction for the same campaigns with `Fixed` and the maximum number of rounds.
    pub missed_by_fixed: Share,
}

/// Coverage of the scenarios at the end of their comparisons.
pub fn coverage() -> Vec<SettledCoverage> {
    let symmetric = Noise::ALL.into_iter().map(Model::Same);
    let models = symmetric.chain([Model::ChangedShape, Model::CarryOver]);
    let settings = models.flat_map(|model| [0.0, COVERED_EFFECT].map(|effect| (model, effect)));
    (600_000..)
        .zip(settings)
        .map(|(stream, (model, effect))| coverage_of(model, effect, stream))
        .collect()
}

fn coverage_of(model: Model, effect_percent: f64, stream: u64) -> SettledCoverage {
    let mut rng = generator(stream);
    let (mut settled, mut fixed) = (Design::settled(true), Design::fixed(MAX_ROUNDS));
    let effect = (effect_percent / 100.0).ln_1p();
    let center = effect + model.center(&mut rng);
    let mut missed_by_fixed = 0;
    let missed = Share::count(CAMPAIGNS, |_| {
        let sizes: Vec<_> = (0..SIZES).map(|_| model.rounds(&mut rng)).collect();
        let comparisons: Vec<Vec<f64>> = sizes
            .iter()
            .flatten()
            .map(|rounds| rounds.iter().map(|round| effect + round).collect())
            .collect();
        let misses = |design: &mut Design| {
            comparisons.iter().any(|effects| {
                let interval = design.end(effects).interval;
                !(interval.lower..=interval.upper).contains(&center)
            })
        };
        missed_by_fixed += usize::from(misses(&mut fixed));
        misses(&mut settled)
    });
    SettledCoverage {
        model,
        effect_percent,
        missed,
        missed_by_fixed: Share::new(missed_by_fixed, CAMPAIGNS),
    }
}

/// Share of decided comparisons, and mean number of rounds per comparison.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// Fraction of comparisons with a verdict other than `Inconclusive`.
    pub decided: Share,
    /// Mean number of rounds per comparison, whether or not the comparison is decided.
    pub rounds: f64,
}

/// Costs of the designs for one effect.
#[derive(Debug, Clone, Copy)]
pub struct Costs {
    /// Standard deviation of case noise, in percent.
    pub spread_percent: f64,
    /// True effect in percent.
    pub effect_percent: f64,
    /// `Fixed` with the recommended number of rounds.
    pub recommended: Cost,
    /// `Fixed` with the maximum number of rounds.
    pub maximum: Cost,
    /// `Settled`.
    pub settled: Cost,
    /// `Settled` without the futility rule.
    pub without_futility: Cost,
}

/// Costs for small and large noise and all effects.
pub fn costs() -> Vec<Costs> {
    let settings = [1.0, 5.0]
        .into_iter()
        .flat_map(|spread| EFFECTS.map(|effect| (spread, effect)));
    (700_000..)
        .zip(settings)
        .map(|(stream, (spread, effect))| costs_of(spread, effect, stream))
        .collect()
}

fn costs_of(spread_percent: f64, effect_percent: f64, stream: u64) -> Costs {
    let mut rng = generator(stream);
    let effect = (effect_percent / 100.0).ln_1p();
    let scale = spread_percent / 100.0 / SPREAD;
    let model = Model::Same(Noise::Normal);
    let campaigns: Vec<Vec<f64>> = std::iter::repeat_with(|| model.rounds(&mut rng).swap_remove(0))
        .take(FEW_CAMPAIGNS)
        .map(|rounds| rounds.iter().map(|round| effect + scale * round).collect())
        .collect();
    let cost = |mut design: Design| {
        let ends: Vec<End> = campaigns.iter().map(|effects| design.end(effects)).collect();
        let decided = ends.iter().filter(|end| end.verdict != Verdict::Inconclusive);
        Cost {
            decided: Share::new(decided.count(), campaigns.len()),
            rounds: ends.iter().map(|end| f64::from(end.rounds)).sum::<f64>() / ends.len() as f64,
        }
    };
    Costs {
        spread_percent,
        effect_percent,
        recommended: cost(Design::fixed(family().recommended_rounds())),
        maximum: cost(Design::fixed(MAX_ROUNDS)),
        settled: cost(Design::settled(true)),
        without_futility: cost(Design::settled(false)),
    }
}

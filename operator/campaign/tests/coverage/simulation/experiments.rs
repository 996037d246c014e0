//! Experiments on simulated campaigns.

use crds::v1alpha1::Verdict;
use fabricbench_campaign::stats::{
    BetterDirection, Family, Interval, Margin, compare_paired, decide_verdict, rank_sum, signed_rank,
    two_samples,
};

use super::campaign::{ARMS, Order, Setting, pair_effects, round_effects};
use super::generator;
use super::noise::Noise;

/// Number of campaigns for each coverage value that must be precise.
const CAMPAIGNS: usize = 10_000;

/// Number of campaigns for each value that may be less precise.
const FEW_CAMPAIGNS: usize = 2_000;

/// Number of campaigns for each value that deviates so far from the nominal value that a few campaigns show the
/// difference.
const FEWEST_CAMPAIGNS: usize = 500;

/// Number of sizes in the family: with four variants, there are 28 comparisons.
const SIZES: usize = 7;

/// Margin of the verdicts, in percent.
const MARGIN_PERCENT: f64 = 2.0;

/// Fraction of simulated campaigns with a property.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// Fraction of the campaigns, 0 to 1.
    pub share: f64,
    /// Number of simulated campaigns.
    pub campaigns: usize,
}

impl Share {
    pub(super) fn count(campaigns: usize, happened: impl FnMut(usize) -> bool) -> Share {
        let count = (0..campaigns).map(happened).filter(|happened| *happened).count();
        Share::new(count, campaigns)
    }

    pub(super) fn new(count: usize, campaigns: usize) -> Share {
        Share {
            share: count as f64 / campaigns as f64,
            campaigns,
        }
    }

    /// Standard error of the fraction if its true value is `expected`.
    pub fn standard_error(&self, expected: f64) -> f64 {
        (expected * (1.0 - expected) / self.campaigns as f64).sqrt()
    }
}

/// Statistical unit that contributes one value to an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// One value per round: the median of its pairs.
    Round,
    /// One value per pair and round, as if they were independent repetitions.
    Pair,
}

/// Coverage of the nominal 95 percent interval of one comparison.
#[derive(Debug, Clone, Copy)]
pub struct Coverage {
    /// Parameters of the simulation.
    pub setting: Setting,
    /// Fraction of intervals that contained the true effect.
    pub covered: Share,
}

/// Family of one comparison at a confidence of 95 percent.
pub fn family_of_1() -> Family {
    Family::new(1, 95.0).expect("a valid family")
}

/// Family of four variants at seven sizes, at a simultaneous confidence of 95 percent.
pub fn family_of_28() -> Family {
    Family::new((SIZES * (ARMS - 1)) as u32, 95.0).expect("a valid family")
}

/// Coverage of the method as implemented: random order, one value per round.
pub fn random_order(pairs: usize) -> Vec<Coverage> {
    let settings = settings(&Noise::ALL, Order::Random, pairs, &[6, 10, 30]);
    coverage(&settings, Unit::Round, CAMPAIGNS, 1_000 * pairs as u64)
}

/// Coverage with a fixed order of arms, in which the baseline is first in every block.
pub fn fixed_order() -> Vec<Coverage> {
    let noises = [
        Noise::Normal,
        Noise::Autoregressive,
        Noise::Drifting,
        Noise::Warming,
    ];
    coverage(
        &settings(&noises, Order::Fixed, 1, &[6, 10, 30]),
        Unit::Round,
        FEW_CAMPAIGNS,
        100_000,
    )
}

/// Coverage with 16 pairs that are treated as independent repetitions.
pub fn pairs_as_repetitions() -> Vec<Coverage> {
    let settings = settings(&[Noise::Normal], Order::Random, 16, &[6, 10]);
    coverage(&settings, Unit::Pair, FEWEST_CAMPAIGNS, 200_000)
}

fn settings(noises: &[Noise], order: Order, pairs: usize, rounds: &[usize]) -> Vec<Setting> {
    let settings_with_noise = |&noise: &Noise| {
        rounds.iter().map(move |&rounds| Setting {
            noise,
            order,
            pairs,
            rounds,
        })
    };
    noises.iter().flat_map(settings_with_noise).collect()
}

/// Coverage in each setting. Each setting has its own stream of random numbers, starting with `stream`.
fn coverage(settings: &[Setting], unit: Unit, campaigns: usize, stream: u64) -> Vec<Coverage> {
    (stream..)
        .zip(settings)
        .map(|(stream, &setting)| Coverage {
            setting,
            covered: covered_share(&setting, unit, campaigns, stream),
        })
        .collect()
}

/// Fraction of intervals that contain the true effect, a decrease of 6 percent.
fn covered_share(setting: &Setting, unit: Unit, campaigns: usize, stream: u64) -> Share {
    let effect = 0.94_f64.ln();
    let mut rng = generator(stream);
    Share::count(campaigns, |_| {
        let arms = setting.measure(1, effect, &mut rng);
        let values = match unit {
            Unit::Round => round_effects(&arms[0]),
            Unit::Pair => pair_effects(&arms[0]),
        };
        let interval = signed_rank::interval(&values, family_of_1().level()).expect("enough rounds");
        (interval.lower..=interval.upper).contains(&effect)
    })
}

/// Fraction of scenarios with a false verdict.
#[derive(Debug, Clone, Copy)]
pub struct FalseVerdicts {
    /// Noise of the cases.
    pub noise: Noise,
    /// Margin in percent. All true effects are at its upper edge; 0 means no effect and no margin.
    pub margin_percent: f64,
    /// Fraction of scenarios in which any of the 28 comparisons was `Improved` or `Regressed`.
    pub any: Share,
}

/// False verdicts among 28 comparisons of 15 rounds in the worst case: every true effect is at the edge of the margin.
pub fn false_verdicts() -> Vec<FalseVerdicts> {
    let settings = [Noise::Normal, Noise::Skewed, Noise::Drifting]
        .into_iter()
        .flat_map(|noise| [0.0, MARGIN_PERCENT].map(|margin_percent| (noise, margin_percent)));
    (300_000..)
        .zip(settings)
        .map(|(stream, (noise, margin_percent))| FalseVerdicts {
            noise,
            margin_percent,
            any: any_false_verdict(noise, margin_percent, stream),
        })
        .collect()
}

/// Campaigns with one pair and the recommended number of rounds for `family`.
fn recommended_setting(noise: Noise, family: &Family) -> Setting {
    Setting {
        noise,
        order: Order::Random,
        pairs: 1,
        rounds: family.recommended_rounds() as usize,
    }
}

fn any_false_verdict(noise: Noise, margin_percent: f64, stream: u64) -> Share {
    let family = family_of_28();
    let margin = Margin::from_percent(margin_percent).expect("a valid margin");
    let setting = recommended_setting(noise, &family);
    let mut rng = generator(stream);
    Share::count(FEW_CAMPAIGNS, |_| {
        // Each size has its own block and noise.
        let sizes: Vec<_> = (0..SIZES)
            .map(|_| setting.measure(ARMS - 1, margin.log_ratio(), &mut rng))
            .collect();
        sizes.iter().flatten().any(|rounds| {
            let interval = signed_rank::interval(&round_effects(rounds), family.level());
            let verdict = decide_verdict(
                &interval.expect("enough rounds"),
                margin,
                BetterDirection::LowerIsBetter,
            );
            matches!(verdict, Verdict::Improved | Verdict::Regressed)
        })
    })
}

/// Coverage of the interval that compares two runs.
#[derive(Debug, Clone, Copy)]
pub struct RunComparisonCoverage {
    /// Noise of the rounds.
    pub noise: Noise,
    /// Number of rounds of each run.
    pub rounds: (usize, usize),
    /// Spread of the second run's rounds relative to the first run's.
    pub spread: f64,
    /// Nominal two-sided level.
    pub level: f64,
    /// Fraction of rank-sum intervals that miss the shift.
    pub rank_sum: Share,
    /// Fraction of intervals from `two_samples`, the method in use, that miss the shift.
    pub missed: Share,
}

/// Level of one of 12 comparisons with a simultaneous confidence of 95 percent.
const LEVEL_OF_12: f64 = 0.05 / 12.0;

/// Compares runs whose rounds have the same spread, or spreads that differ by a factor of 4, at the level of a single
/// comparison and at the level of one of 12 comparisons.
pub fn between_runs() -> Vec<RunComparisonCoverage> {
    let noises = [Noise::Normal, Noise::Skewed, Noise::Bimodal];
    let settings = noises.into_iter().flat_map(|noise| {
        [(13, 13), (20, 9)].into_iter().flat_map(move |rounds| {
            [1.0, 4.0]
                .into_iter()
                .flat_map(move |spread| [0.05, LEVEL_OF_12].map(|level| (noise, rounds, spread, level)))
        })
    });
    (500_000..)
        .zip(settings)
        .map(|(stream, setting)| between_runs_with(setting, stream))
        .collect()
}

fn between_runs_with(
    (noise, rounds, spread, level): (Noise, (usize, usize), f64, f64),
    stream: u64,
) -> RunComparisonCoverage {
    let mut rng = generator(stream);
    // A round effect is the difference between the arm noise and the baseline noise.
    let mut run = |rounds: usize, scale: f64| -> Vec<f64> {
        let mut effect = || scale * (noise.independent(&mut rng) - noise.independent(&mut rng));
        (0..rounds).map(|_| effect()).collect()
    };
    let mut missed_by_ranks = 0;
    let missed = Share::count(FEW_CAMPAIGNS, |_| {
        let (first, second) = (run(rounds.0, 1.0), run(rounds.1, spread));
        let misses = |interval: Option<Interval>| {
            let interval = interval.expect("enough rounds");
            interval.lower > 0.0 || interval.upper < 0.0
        };
        missed_by_ranks += usize::from(misses(rank_sum::interval(&first, &second, level)));
        misses(two_samples::interval(&first, &second, level))
    });
    RunComparisonCoverage {
        noise,
        rounds,
        spread,
        level,
        rank_sum: Share::new(missed_by_ranks, FEW_CAMPAIGNS),
        missed,
    }
}

/// Simulated power for the minimum detectable effect that campaigns report.
#[derive(Debug, Clone, Copy)]
pub struct Power {
    /// Noise of the cases.
    pub noise: Noise,
    /// Number of comparisons in the family.
    pub comparisons: u32,
    /// Number of rounds of the campaigns: four more than the minimum.
    pub rounds: usize,
    /// Median of the minimum detectable effect reported by campaigns in which no arm has an effect, as a log ratio.
    pub detectable: f64,
    /// Fraction of campaigns in which an effect of exactly that size yielded `Improved`.
    pub found: Share,
}

/// Computes the median of the minimum detectable effect in campaigns without an effect, then the fraction of campaigns
/// in which an effect of that size yields `Improved`.
pub fn power() -> Vec<Power> {
    let settings = [Noise::Normal, Noise::Skewed, Noise::Bimodal]
        .into_iter()
        .flat_map(|noise| [family_of_1(), family_of_28()].map(|family| (noise, family)));
    (400_000..)
        .zip(settings)
        .map(|(stream, (noise, family))| power_of(noise, &family, stream))
        .collect()
}

fn power_of(noise: Noise, family: &Family, stream: u64) -> Power {
    let margin = Margin::from_percent(MARGIN_PERCENT).expect("a valid margin");
    let setting = recommended_setting(noise, family);
    let mut rng = generator(stream);
    let mut compare = |effect: f64| {
        let arms = setting.measure(1, effect, &mut rng);
        compare_paired(
            &round_effects(&arms[0]),
            family,
            margin,
            BetterDirection::LowerIsBetter,
        )
    };
    let mut reported: Vec<f64> = (0..FEW_CAMPAIGNS / 4)
        .filter_map(|_| compare(0.0).minimum_detectable_effect)
        .collect();
    reported.sort_by(f64::total_cmp);
    let detectable = reported[reported.len() / 2];
    let found = Share::count(FEW_CAMPAIGNS, |_| {
        compare(-detectable).verdict == Verdict::Improved
    });
    Power {
        noise,
        comparisons: family.comparisons(),
        rounds: setting.rounds,
        detectable,
        found,
    }
}

//! Campaigns in which some arms are slower by a known percentage. They measure how often the effect is detected, and
//! how the number of rounds affects campaign duration and the share of decided comparisons.

use std::collections::BTreeMap;
use std::error::Error;

use crds::v1alpha1::{BenchmarkRun, Stop, Verdict};

use crate::campaign::{Binaries, FinishedRun, SHORT_WINDOW_MILLIS, Sampling, TRANSPORTS, manifest};
use crate::proportion::{format_proportion, wilson_interval};

const VARIANTS: &str = "  \
  - {name: slower-10, env: [{name: UNUSED, value: '10'}]}
  - {name: slower-25, env: [{name: UNUSED, value: '25'}]}
  - {name: slower-50, env: [{name: UNUSED, value: '50'}]}";
const SCENARIOS: &str = "  - {name: ping, integrity: false, memory: SharedMemory, pingPong: {sizes: [256Ki], iterations: 300, warmup: 30}}";
/// Rules for the number of rounds. Each campaign is run once with each rule.
const RULES: [(Stop, Option<u32>); 3] = [
    (Stop::Fixed, None),
    (Stop::Fixed, Some(60)),
    (Stop::Settled, None),
];
const PPM_PER_PERCENT: i64 = 10_000;
/// Smallest planted effect that must be detected, in parts per million.
const MUST_DETECT_PPM: i64 = 50 * PPM_PER_PERCENT;

/// Durations and decision counts for the campaigns over one transport with one rule.
#[derive(Default)]
struct Cost {
    seconds: Vec<f64>,
    comparisons: u32,
    decided: u32,
}

#[derive(Default)]
struct Count {
    planted: i64,
    evaluated: u32,
    found: u32,
    wrong_direction: u32,
    contained: u32,
    effects: Vec<i64>,
}

/// Runs the campaigns and prints the result of each planted effect.
///
/// # Errors
/// Returns an error if a campaign does not complete, an arm is reported as faster, or a planted effect of at least 50
/// percent is missed more often than expected by chance. An interval that does not contain the planted effect is not an
/// error: an arm that waits longer also has colder caches and is interrupted more often, so the planted effect is a
/// lower bound.
pub fn run_campaigns(binaries: &Binaries, campaigns: u32) -> Result<(), Box<dyn Error>> {
    let mut counts = BTreeMap::<String, Count>::new();
    let mut costs = BTreeMap::<String, Cost>::new();
    for campaign in 0..campaigns {
        let (name, transport) = TRANSPORTS[campaign as usize % TRANSPORTS.len()];
        for (stop, rounds) in RULES {
            let sampling = Sampling {
                stop,
                rounds,
                window_millis: SHORT_WINDOW_MILLIS,
            };
            let manifest = manifest(name, transport, (VARIANTS, SCENARIOS), (campaign, sampling));
            let finished = binaries.run(name, &manifest, true)?;
            let group = format!("{name}, {}", describe_rule(stop, rounds));
            add(&finished.run, &group, &mut counts)?;
            costs.entry(group).or_default().add(&finished);
        }
    }
    println!("{campaigns} campaigns with planted effects for each number of rounds");
    for (group, cost) in &mut costs {
        cost.seconds.sort_unstable_by(f64::total_cmp);
        println!(
            "{group:32} {:>6.1} s per campaign (median); decided {}",
            cost.seconds.get(cost.seconds.len() / 2).copied().unwrap_or(0.0),
            format_proportion(cost.decided, cost.comparisons),
        );
    }
    println!(
        "{:44} {:>9} {:>10}   {:30} interval contains the planted effect",
        "arm", "evaluated", "median", "Regressed"
    );
    for (what, count) in &mut counts {
        count.effects.sort_unstable();
        let median = count.effects.get(count.effects.len() / 2).copied().unwrap_or(0);
        println!(
            "{what:44} {:>9} {:>8.1} %   {:30} {}",
            count.evaluated,
            median as f64 / PPM_PER_PERCENT as f64,
            format_proportion(count.found, count.evaluated),
            format_proportion(count.contained, count.evaluated),
        );
    }
    for (what, count) in counts {
        let is_missed =
            count.planted >= MUST_DETECT_PPM && wilson_interval(count.found, count.evaluated).1 < 0.95;
        if count.wrong_direction > 0 || is_missed {
            return Err(
                format!("{what}: the planted effect was missed or reported in the wrong direction").into(),
            );
        }
    }
    Ok(())
}

fn describe_rule(stop: Stop, rounds: Option<u32>) -> String {
    match rounds {
        Some(rounds) => format!("{stop:?} {rounds}"),
        None => format!("{stop:?}"),
    }
}

impl Cost {
    fn add(&mut self, finished: &FinishedRun) {
        self.seconds.push(finished.seconds);
        let comparisons = finished.run.status.iter().flat_map(|status| &status.comparisons);
        for comparison in comparisons.filter(|one| one.arm.starts_with("slower-") && one.primary) {
            self.comparisons += 1;
            let verdict = comparison.verdict;
            self.decided += u32::from(verdict.is_some_and(|verdict| verdict != Verdict::Inconclusive));
        }
    }
}

/// Adds the comparisons of `run` to the counts of `group`.
fn add(run: &BenchmarkRun, group: &str, counts: &mut BTreeMap<String, Count>) -> Result<(), Box<dyn Error>> {
    let status = run.status.as_ref().ok_or("run.json has no status")?;
    for comparison in status.comparisons.iter().filter(|comparison| comparison.primary) {
        let Some(planted) = comparison.arm.strip_prefix("slower-") else {
            continue;
        };
        let planted = planted.parse::<i64>()? * PPM_PER_PERCENT;
        let count = counts.entry(format!("{group}, {}", comparison.arm)).or_default();
        count.planted = planted;
        count.evaluated += 1;
        count.found += u32::from(comparison.verdict == Some(Verdict::Regressed));
        count.wrong_direction += u32::from(comparison.verdict == Some(Verdict::Improved));
        count.effects.extend(comparison.effect_ppm);
        if let (Some(lower), Some(upper)) = (comparison.lower_ppm, comparison.upper_ppm) {
            count.contained += u32::from((lower..=upper).contains(&planted));
        }
    }
    Ok(())
}

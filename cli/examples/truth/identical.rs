//! A/A campaigns, which compare identical arms to measure the rate of false verdicts.

use std::collections::BTreeMap;
use std::error::Error;

use crds::v1alpha1::{BenchmarkRun, ComparisonResult, Outcome, Stop, Verdict};

use crate::campaign::{Binaries, SHORT_WINDOW_MILLIS, Sampling, TRANSPORTS, manifest};
use crate::proportion::{format_proportion, wilson_interval};

/// Variants to compare with the baseline. `same` behaves like the baseline but runs in another process. `batched` runs
/// in the baseline's process, so the run also has a control arm in that process. Batching changes how `bulk` posts
/// transfers, but does not affect `ping`.
const VARIANTS: &str = "  \
  - {name: same, env: [{name: UNUSED, value: '1'}]}
  - {name: batched, doorbell: {maxBatch: 4}}";
/// Arms that are compared with an identical baseline, each with its description in the output. `batched` is included
/// only where it is a negative control.
const ARMS: [(&str, &str); 4] = [
    ("same", "verdict, another process"),
    ("control-environment", "control, another process"),
    ("control", "control, same process"),
    ("batched", "negative control, same process"),
];
/// Scenarios that are short enough to run a hundred campaigns within minutes.
const SCENARIOS: &str = "  \
  - {name: ping, integrity: false, memory: SharedMemory, pingPong: {sizes: [64, 4Ki], iterations: 300, warmup: 50}}
  - {name: bulk, integrity: false, memory: SharedMemory, transfer: {sizes: [64Ki], window: 8, batch: 4, iterations: 200, warmup: 20}}";

#[derive(Default)]
struct Count {
    evaluated: u32,
    false_verdicts: u32,
    inconclusive: u32,
    no_change: u32,
    comparisons: u32,
    rounds: u32,
}

/// Run counts and savings for one transport.
#[derive(Default)]
struct Runs {
    all: u32,
    suspect: u32,
    saved_percent: u32,
}

/// Runs the campaigns and prints the result of each scenario and arm.
///
/// # Errors
/// Returns an error if a campaign does not complete, or if the rate of false verdicts or of suspect runs is
/// significantly above 5 percent.
pub fn run_campaigns(binaries: &Binaries, campaigns: u32, stop: Stop) -> Result<(), Box<dyn Error>> {
    let mut counts = BTreeMap::<String, Count>::new();
    let mut runs = BTreeMap::<&str, Runs>::new();
    for campaign in 0..campaigns {
        let (name, transport) = TRANSPORTS[campaign as usize % TRANSPORTS.len()];
        let sampling = Sampling {
            stop,
            rounds: None,
            window_millis: SHORT_WINDOW_MILLIS,
        };
        let manifest = manifest(name, transport, (VARIANTS, SCENARIOS), (campaign, sampling));
        let run = binaries.run(name, &manifest, false)?.run;
        count_verdicts(&run, name, &mut counts)?;
        let of_transport = runs.entry(name).or_default();
        let status = run.status.as_ref().ok_or("run.json has no status")?;
        let progress = status.progress.as_ref().ok_or("the status has no progress")?;
        of_transport.all += 1;
        of_transport.suspect += u32::from(status.outcome == Some(Outcome::Suspect));
        of_transport.saved_percent += progress.saved_percent.unwrap_or(0);
    }
    println!(
        "{campaigns} A/A campaigns with stop: {stop:?}; Improved and Regressed are false verdicts, counted once per scenario \
         and arm"
    );
    println!(
        "{:48} {:>9} {:>9} {:>13} {:>7}   false verdicts, 95 % interval",
        "scenario, arm", "evaluated", "no change", "inconclusive", "rounds"
    );
    for (what, count) in &counts {
        println!(
            "{what:48} {:>9} {:>9} {:>13} {:>7.1}   {:>3}: {}",
            count.evaluated,
            count.no_change,
            count.inconclusive,
            f64::from(count.rounds) / f64::from(count.comparisons),
            count.false_verdicts,
            format_proportion(count.false_verdicts, count.evaluated),
        );
    }
    for (name, runs) in &runs {
        println!(
            "{name}: a control showed a change in {} of {} runs: {}; {:.0} % of the planned cases were not needed",
            runs.suspect,
            runs.all,
            format_proportion(runs.suspect, runs.all),
            f64::from(runs.saved_percent) / f64::from(runs.all)
        );
    }
    let rows = counts
        .values()
        .map(|count| (count.false_verdicts, count.evaluated));
    let beyond = rows
        .chain(runs.values().map(|runs| (runs.suspect, runs.all)))
        .filter(|(count, all)| wilson_interval(*count, *all).0 > 0.05)
        .count();
    if beyond > 0 {
        return Err(format!("{beyond} rates are significantly above 5 percent").into());
    }
    Ok(())
}

/// Counts the verdicts of a campaign. Each scenario counts once for each arm, as a false verdict if the verdict at any
/// size is false.
fn count_verdicts(
    run: &BenchmarkRun,
    transport: &str,
    counts: &mut BTreeMap<String, Count>,
) -> Result<(), Box<dyn Error>> {
    let status = run.status.as_ref().ok_or("run.json has no status")?;
    let mut groups = BTreeMap::<(&str, &str), Vec<&ComparisonResult>>::new();
    let is_identical = |one: &&ComparisonResult| one.negative_control || one.arm == "same";
    let primary = status.comparisons.iter().filter(|comparison| comparison.primary);
    for comparison in primary.filter(is_identical) {
        groups
            .entry((&comparison.scenario, &comparison.arm))
            .or_default()
            .push(comparison);
    }
    for ((scenario, arm), comparisons) in groups {
        let (_, kind) = ARMS
            .iter()
            .find(|(name, _)| *name == arm)
            .ok_or("an unknown arm")?;
        let count = counts
            .entry(format!("{transport} {scenario}, {kind}"))
            .or_default();
        count.evaluated += 1;
        count.comparisons += comparisons.len() as u32;
        count.rounds += comparisons
            .iter()
            .map(|comparison| comparison.rounds)
            .sum::<u32>();
        let margin = run.spec.sampling.margin_percent;
        let verdicts: Vec<_> = comparisons
            .iter()
            .map(|comparison| verdict(comparison, margin))
            .collect();
        let is = |verdict| verdicts.contains(&Some(verdict));
        count.false_verdicts += u32::from(is(Verdict::Improved) || is(Verdict::Regressed));
        count.no_change += u32::from(verdicts.iter().all(|verdict| *verdict == Some(Verdict::NoChange)));
        count.inconclusive += u32::from(is(Verdict::Inconclusive));
    }
    Ok(())
}

/// Returns the verdict of a comparison. For a control, the verdict is derived from its interval. The margin is symmetric
/// on the log scale.
fn verdict(comparison: &ComparisonResult, margin_percent: u32) -> Option<Verdict> {
    comparison.verdict.or_else(|| {
        let bounds = (comparison.lower_ppm?, comparison.upper_ppm?);
        let (lower, upper) = (bounds.0 as f64 / 1e6, bounds.1 as f64 / 1e6);
        let increase = f64::from(margin_percent) / 100.0;
        let decrease = 1.0 / (1.0 + increase) - 1.0;
        Some(if lower > increase || upper < decrease {
            Verdict::Regressed
        } else if lower >= decrease && upper <= increase {
            Verdict::NoChange
        } else {
            Verdict::Inconclusive
        })
    })
}

//! A/A campaigns, which compare identical arms to measure the rate of false verdicts.

use std::collections::BTreeMap;
use std::error::Error;

use crds::v1alpha1::{BenchmarkRun, ComparisonResult, Outcome, Verdict};

use crate::campaign::{Binaries, TRANSPORTS, manifest};
use crate::proportion::{percent, wilson};

const VARIANTS: &str = "  - {name: same, env: [{name: UNUSED, value: '1'}]}";
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
}

/// Runs the campaigns and prints the result of each scenario and arm.
///
/// # Errors
/// If a campaign does not complete, or if the rate of false verdicts or of suspect runs is significantly above 5
/// percent.
pub fn count(binaries: &Binaries, campaigns: u32) -> Result<(), Box<dyn Error>> {
    let mut counts = BTreeMap::<String, Count>::new();
    let mut suspect = BTreeMap::<&str, (u32, u32)>::new();
    for campaign in 0..campaigns {
        let (name, transport) = TRANSPORTS[campaign as usize % TRANSPORTS.len()];
        let manifest = manifest(name, transport, (VARIANTS, SCENARIOS), campaign);
        let run = binaries.run(name, &manifest, false)?;
        add(&run, name, &mut counts)?;
        let (fired, all) = suspect.entry(name).or_default();
        let outcome = run.status.as_ref().and_then(|status| status.outcome);
        *fired += u32::from(outcome == Some(Outcome::Suspect));
        *all += 1;
    }
    println!(
        "{campaigns} A/A campaigns; Improved and Regressed are false verdicts, counted once per scenario and arm"
    );
    println!(
        "{:36} {:>9} {:>9} {:>13}   false verdicts, 95 % interval",
        "scenario, arm", "evaluated", "no change", "inconclusive"
    );
    for (what, count) in &counts {
        println!(
            "{what:36} {:>9} {:>9} {:>13}   {:>3}: {}",
            count.evaluated,
            count.no_change,
            count.inconclusive,
            count.false_verdicts,
            percent(count.false_verdicts, count.evaluated),
        );
    }
    for (name, (fired, all)) in &suspect {
        println!(
            "{name}: a control showed a change in {fired} of {all} runs: {}",
            percent(*fired, *all)
        );
    }
    let rows = counts
        .values()
        .map(|count| (count.false_verdicts, count.evaluated));
    let beyond = rows
        .chain(suspect.into_values())
        .filter(|(count, all)| wilson(*count, *all).0 > 0.05)
        .count();
    if beyond > 0 {
        return Err(format!("{beyond} rates are significantly above 5 percent").into());
    }
    Ok(())
}

/// Counts the verdicts of a campaign. Each scenario is counted once for each arm, with a false verdict if the verdict
/// at any size is false.
fn add(
    run: &BenchmarkRun,
    transport: &str,
    counts: &mut BTreeMap<String, Count>,
) -> Result<(), Box<dyn Error>> {
    let margin = i64::from(run.spec.sampling.margin_percent) * 10_000;
    let status = run.status.as_ref().ok_or("run.json has no status")?;
    let mut groups = BTreeMap::<(&str, &str), Vec<&ComparisonResult>>::new();
    for comparison in status.comparisons.iter().filter(|comparison| comparison.primary) {
        groups
            .entry((&comparison.scenario, &comparison.arm))
            .or_default()
            .push(comparison);
    }
    for ((scenario, arm), comparisons) in groups {
        let count = counts
            .entry(format!("{transport} {scenario}, {arm}"))
            .or_default();
        count.evaluated += 1;
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

/// Returns the verdict of a comparison. For a control arm, the verdict is derived from its interval.
fn verdict(comparison: &ComparisonResult, margin: i64) -> Option<Verdict> {
    comparison.verdict.or_else(|| {
        let (lower, upper) = (comparison.lower_ppm?, comparison.upper_ppm?);
        Some(if lower > margin || upper < -margin {
            Verdict::Regressed
        } else if lower >= -margin && upper <= margin {
            Verdict::NoChange
        } else {
            Verdict::Inconclusive
        })
    })
}

//! A/A campaigns: how often is a verdict false?

use std::collections::BTreeMap;
use std::error::Error;

use crds::v1alpha1::{BenchmarkRun, ComparisonResult, Verdict};

use crate::campaign::{Programs, TRANSPORTS, manifest};
use crate::proportion::{percent, wilson};

const VARIANTS: &str = "  - {name: same, env: [{name: NOBODY_READS_THIS, value: '1'}]}";
/// Small, so that a hundred campaigns end in minutes.
const SCENARIOS: &str = "  \
  - {name: ping, integrity: false, memory: SharedMemory, pingPong: {sizes: [64, 4Ki], iterations: 300, warmup: 50}}
  - {name: bulk, integrity: false, memory: SharedMemory, transfer: {sizes: [64Ki], window: 8, batch: 4, iterations: 200, warmup: 20}}";

#[derive(Default)]
struct Count {
    judged: u32,
    falsely: u32,
    inconclusive: u32,
    no_change: u32,
}

/// Runs them and prints the result of each scenario and arm.
///
/// # Errors
/// When a campaign does not complete, or more verdicts are false than chance explains.
pub fn count(programs: &Programs, campaigns: u32) -> Result<(), Box<dyn Error>> {
    let mut counts = BTreeMap::<String, Count>::new();
    for campaign in 0..campaigns {
        let (name, transport) = TRANSPORTS[campaign as usize % TRANSPORTS.len()];
        let manifest = manifest(name, transport, (VARIANTS, SCENARIOS), campaign);
        let run = programs.carry_out(name, &manifest, false)?;
        add(&run, name, &mut counts)?;
    }
    println!("{campaigns} A/A campaigns; a scenario counts as false when any of its comparisons is");
    println!(
        "{:36} {:>6} {:>9} {:>13}   false, 95 % interval",
        "scenario, arm", "judged", "no change", "inconclusive"
    );
    for (what, count) in &counts {
        println!(
            "{what:36} {:>6} {:>9} {:>13}   {:>3}: {}",
            count.judged,
            count.no_change,
            count.inconclusive,
            count.falsely,
            percent(count.falsely, count.judged),
        );
    }
    let beyond = counts
        .values()
        .filter(|count| wilson(count.falsely, count.judged).0 > 0.05)
        .count();
    if beyond > 0 {
        return Err(format!("{beyond} rows are above 5 percent beyond chance").into());
    }
    Ok(())
}

/// Adds the comparisons of a campaign: a scenario counts once for each arm, and is false when any size is.
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
        count.judged += 1;
        let verdicts: Vec<_> = comparisons
            .iter()
            .map(|comparison| verdict(comparison, margin))
            .collect();
        let is = |verdict| verdicts.contains(&Some(verdict));
        count.falsely += u32::from(is(Verdict::Improved) || is(Verdict::Regressed));
        count.no_change += u32::from(verdicts.iter().all(|verdict| *verdict == Some(Verdict::NoChange)));
        count.inconclusive += u32::from(is(Verdict::Inconclusive));
    }
    Ok(())
}

/// The verdict of a comparison; for a control arm, the one its interval would give.
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

//! Arms that are slower by a known percentage: are they found, and by how much?

use std::collections::BTreeMap;
use std::error::Error;

use crds::v1alpha1::{BenchmarkRun, Verdict};

use crate::campaign::{Programs, TRANSPORTS, manifest};
use crate::proportion::{percent, wilson};

const VARIANTS: &str = "  \
  - {name: slower-10, env: [{name: NOBODY_READS_THIS, value: '10'}]}
  - {name: slower-25, env: [{name: NOBODY_READS_THIS, value: '25'}]}
  - {name: slower-50, env: [{name: NOBODY_READS_THIS, value: '50'}]}";
const SCENARIOS: &str = "  - {name: ping, integrity: false, memory: SharedMemory, pingPong: {sizes: [256Ki], iterations: 300, warmup: 30}}";
const PPM_OF_A_PERCENT: i64 = 10_000;
/// A plant of so many parts per million must be found.
const CERTAIN: i64 = 50 * PPM_OF_A_PERCENT;

#[derive(Default)]
struct Count {
    planted: i64,
    judged: u32,
    found: u32,
    wrong_way: u32,
    contained: u32,
    effects: Vec<i64>,
}

/// Runs the campaigns and prints the result of each planted effect.
///
/// # Errors
/// When a campaign does not complete, an arm is said to be faster, or a plant of at least 50 percent is missed more
/// often than chance explains. An interval that misses the plant is no error: an arm that waits longer also finds its
/// caches colder and is interrupted more often, so that the plant is the least of its effect.
pub fn count(programs: &Programs, campaigns: u32) -> Result<(), Box<dyn Error>> {
    let mut counts = BTreeMap::<String, Count>::new();
    for campaign in 0..campaigns {
        let (name, transport) = TRANSPORTS[campaign as usize % TRANSPORTS.len()];
        let manifest = manifest(name, transport, (VARIANTS, SCENARIOS), campaign);
        add(&programs.carry_out(name, &manifest, true)?, name, &mut counts)?;
    }
    println!("{campaigns} campaigns with planted effects");
    println!(
        "{:22} {:>6} {:>10}   {:30} interval contains the plant",
        "arm", "judged", "median", "Regressed"
    );
    for (what, count) in &mut counts {
        count.effects.sort_unstable();
        let median = count.effects.get(count.effects.len() / 2).copied().unwrap_or(0);
        println!(
            "{what:22} {:>6} {:>8.1} %   {:30} {}",
            count.judged,
            median as f64 / PPM_OF_A_PERCENT as f64,
            percent(count.found, count.judged),
            percent(count.contained, count.judged),
        );
    }
    for (what, count) in counts {
        let is_missed = count.planted >= CERTAIN && wilson(count.found, count.judged).1 < 0.95;
        if count.wrong_way > 0 || is_missed {
            return Err(format!("{what}: the plant was not found").into());
        }
    }
    Ok(())
}

fn add(
    run: &BenchmarkRun,
    transport: &str,
    counts: &mut BTreeMap<String, Count>,
) -> Result<(), Box<dyn Error>> {
    let status = run.status.as_ref().ok_or("run.json has no status")?;
    for comparison in status.comparisons.iter().filter(|comparison| comparison.primary) {
        let Some(planted) = comparison.arm.strip_prefix("slower-") else {
            continue;
        };
        let planted = planted.parse::<i64>()? * PPM_OF_A_PERCENT;
        let count = counts
            .entry(format!("{transport}, {}", comparison.arm))
            .or_default();
        count.planted = planted;
        count.judged += 1;
        count.found += u32::from(comparison.verdict == Some(Verdict::Regressed));
        count.wrong_way += u32::from(comparison.verdict == Some(Verdict::Improved));
        count.effects.extend(comparison.effect_ppm);
        if let (Some(lower), Some(upper)) = (comparison.lower_ppm, comparison.upper_ppm) {
            count.contained += u32::from((lower..=upper).contains(&planted));
        }
    }
    Ok(())
}

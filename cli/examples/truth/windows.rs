//! Campaigns with windows of different lengths, which show how the precision depends on the length.

use std::collections::BTreeMap;
use std::error::Error;

use crds::v1alpha1::{BenchmarkRun, Stop};

use crate::campaign::{Binaries, Sampling, manifest};

/// Transports to measure, each with its name and specification.
const TRANSPORTS: [(&str, &str); 2] = [
    ("shm", "{libfabric: {provider: shm}}"),
    ("tcp", "{libfabric: {provider: tcp}}"),
];
/// Minimum window lengths in milliseconds.
const WINDOWS: [u32; 4] = [5, 20, 100, 500];
const ROUNDS: u32 = 13;
/// A variant in the baseline's process, so that the run has a control arm in this process.
const VARIANTS: &str = "  - {name: batched, doorbell: {maxBatch: 4}}";
const CONTROL: &str = "control";
const SCENARIOS: &str = "  \
  - {name: ping-pong, integrity: false, pingPong: {sizes: [64]}}
  - {name: writes, integrity: false, transfer: {operation: Write, sizes: [32Ki], batch: 4}}";
/// Key of the results: transport, scenario and window length.
type Setting = (&'static str, String, u32);

/// Results of one setting, one element per series.
#[derive(Default)]
struct Series {
    seconds: Vec<f64>,
    /// Half width of the control's interval, in percent.
    half_widths: Vec<f64>,
    /// Half width that the runs of one minute would have.
    half_widths_per_minute: Vec<f64>,
}

/// Runs `series` campaigns for each transport and window length, alternating between the lengths, and prints the half
/// width of the control's interval, which is the noise floor of a run.
///
/// # Errors
/// Returns an error if a campaign does not complete, or its control has no interval.
pub fn run_series(binaries: &Binaries, series: u32) -> Result<(), Box<dyn Error>> {
    let mut results = BTreeMap::<Setting, Series>::new();
    for seed in 0..series {
        for (name, transport) in TRANSPORTS {
            for window_millis in WINDOWS {
                let sampling = Sampling {
                    stop: Stop::Fixed,
                    rounds: Some(ROUNDS),
                    window_millis,
                };
                let manifest = manifest(name, transport, (VARIANTS, SCENARIOS), (seed, sampling));
                let finished = binaries.run(name, &manifest, false)?;
                for (scenario, half_width) in half_widths(&finished.run)? {
                    let entry = results.entry((name, scenario, window_millis)).or_default();
                    entry.seconds.push(finished.seconds);
                    entry.half_widths.push(half_width);
                    // The half width decreases with the square root of the number of rounds.
                    let per_minute = half_width * (finished.seconds / 60.0).sqrt();
                    entry.half_widths_per_minute.push(per_minute);
                }
            }
        }
    }
    println!("| provider | scenario | window | run | half width | half width after one minute |");
    println!("|---|---|---|---|---|---|");
    for ((name, scenario, window), mut entry) in results {
        let (seconds, _, _) = median_and_range(&mut entry.seconds);
        println!(
            "| {name} | {scenario} | {window} ms | {seconds:.0} s | {} % | {} % |",
            format_range(&mut entry.half_widths),
            format_range(&mut entry.half_widths_per_minute)
        );
    }
    Ok(())
}

/// Returns the half width of the control's interval for the primary metric of each scenario, in percent.
///
/// # Errors
/// Returns an error if a scenario has no control, or the control has no interval.
fn half_widths(run: &BenchmarkRun) -> Result<Vec<(String, f64)>, Box<dyn Error>> {
    let status = run.status.as_ref().ok_or("run.json has no status")?;
    let controls = status
        .comparisons
        .iter()
        .filter(|comparison| comparison.primary && comparison.arm == CONTROL);
    let widths: Vec<_> = controls
        .map(|control| match (control.lower_ppm, control.upper_ppm) {
            (Some(lower), Some(upper)) => Ok((control.scenario.clone(), (upper - lower) as f64 / 2e4)),
            _ => Err(format!("the control of {} has no interval", control.scenario)),
        })
        .collect::<Result<_, _>>()?;
    match widths.len() == run.spec.scenarios.len() {
        true => Ok(widths),
        false => Err(format!(
            "{} of {} scenarios have a control",
            widths.len(),
            run.spec.scenarios.len()
        )
        .into()),
    }
}

fn format_range(values: &mut [f64]) -> String {
    let (median, smallest, largest) = median_and_range(values);
    format!("{median:.1} [{smallest:.1}, {largest:.1}]")
}

/// Median (the greater one of an even number of values), minimum and maximum; NaN if there are no values.
fn median_and_range(values: &mut [f64]) -> (f64, f64, f64) {
    values.sort_unstable_by(f64::total_cmp);
    let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
    (at(values.len() / 2), at(0), at(values.len().saturating_sub(1)))
}

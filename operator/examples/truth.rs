//! How often is a verdict false? Carries out real A/A campaigns: every arm is the baseline, so every `Improved` and
//! every `Regressed` is false. Prints the counts for each scenario with their binomial interval.
//!
//! `cargo run --release -p fabricbench-operator --example truth -- [CAMPAIGNS]`, with both programs built in the same
//! profile. The design promises at most 5 percent for each scenario of a campaign.
//!
//! Two kinds of A/A are in each campaign: the control arm (a second baseline in the same process), judged here by the
//! interval it gets, and an arm with a variable that nothing reads (a process of its own), judged by its verdict.
#![allow(clippy::print_stdout, reason = "a program that prints its findings")]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crds::v1alpha1::{BenchmarkRun, ComparisonResult, Verdict};

const CAMPAIGNS: u32 = 100;

/// What is asked for, by transport. Small, so that a hundred campaigns end in minutes.
const TRANSPORTS: [(&str, &str); 2] = [
    ("loopback", "{loopback: {rails: 2}}"),
    ("shm", "{libfabric: {provider: shm, rails: 1}}"),
];

#[derive(Default)]
struct Count {
    judged: u32,
    falsely: u32,
    inconclusive: u32,
    no_change: u32,
}

fn main() -> Result<(), Box<dyn Error>> {
    let campaigns = env::args().nth(1).map_or(Ok(CAMPAIGNS), |text| text.parse())?;
    let program = program("fabricbench")?;
    let scratch = tempfile::tempdir()?;
    let mut counts = BTreeMap::<String, Count>::new();
    for campaign in 0..campaigns {
        let (name, transport) = TRANSPORTS[campaign as usize % TRANSPORTS.len()];
        let run = carry_out(&program, scratch.path(), name, transport, campaign)?;
        count(&run, name, &mut counts)?;
    }
    println!("{campaigns} campaigns; a scenario counts as false when any of its comparisons is");
    println!(
        "{:34} {:>6} {:>6} {:>9} {:>13}   95 % interval",
        "scenario, arm", "judged", "false", "no change", "inconclusive"
    );
    for (what, count) in &counts {
        let (low, high) = wilson(count.falsely, count.judged);
        println!(
            "{what:34} {:>6} {:>6} {:>9} {:>13}   {:.1} % [{:.1}, {:.1}]",
            count.judged,
            count.falsely,
            count.no_change,
            count.inconclusive,
            100.0 * f64::from(count.falsely) / f64::from(count.judged.max(1)),
            100.0 * low,
            100.0 * high,
        );
    }
    let beyond = counts
        .values()
        .filter(|count| wilson(count.falsely, count.judged).0 > 0.05)
        .count();
    if beyond > 0 {
        Err(format!("{beyond} rows are above 5 percent beyond chance").into())
    } else {
        Ok(())
    }
}

/// A program of the same profile as this example.
fn program(name: &str) -> Result<PathBuf, Box<dyn Error>> {
    let here = env::current_exe()?;
    let folder = here
        .parent()
        .and_then(Path::parent)
        .ok_or("this example has no build folder")?;
    let path = folder.join(name);
    if path.is_file() {
        Ok(path)
    } else {
        Err(format!("{} is missing: make binaries", path.display()).into())
    }
}

fn carry_out(
    program: &Path,
    scratch: &Path,
    name: &str,
    transport: &str,
    seed: u32,
) -> Result<BenchmarkRun, Box<dyn Error>> {
    let manifest = scratch.join("truth.yaml");
    let output = scratch.join(format!("output-{seed}"));
    fs::write(&manifest, manifest_text(name, transport, seed))?;
    let ended = Command::new(program)
        .arg("run")
        .arg(&manifest)
        .arg("--output")
        .arg(&output)
        .output()?;
    // 1 is an answer too: a false regression is what is counted here.
    if !matches!(ended.status.code(), Some(0 | 1)) {
        let said = String::from_utf8_lossy(&ended.stderr);
        return Err(format!(
            "campaign {seed} over {name} did not complete: {}\n{said}",
            ended.status
        )
        .into());
    }
    let run = serde_json::from_slice(&fs::read(output.join(name).join("run.json"))?)?;
    fs::remove_dir_all(&output)?;
    Ok(run)
}

fn manifest_text(name: &str, transport: &str, seed: u32) -> String {
    format!(
        r"apiVersion: fabricbench.dev/v1alpha1
kind: BenchmarkRun
metadata: {{name: {name}}}
spec:
  baseline: baseline
  transport: {transport}
  variants:
  - {{name: baseline}}
  - {{name: same, env: [{{name: FABRICBENCH_NOBODY_READS_THIS, value: '1'}}]}}
  scenarios:
  - {{name: ping, integrity: false, memory: SharedMemory, pingPong: {{sizes: [64, 4Ki], iterations: 300, warmup: 50}}}}
  - {{name: bulk, integrity: false, memory: SharedMemory, transfer: {{sizes: [64Ki], window: 8, batch: 4, iterations: 200, warmup: 20}}}}
  sampling: {{seed: {seed}}}
"
    )
}

/// Adds the comparisons of a campaign: a scenario counts once for each arm, and is false when any size is.
fn count(
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

/// Wilson's score interval of a proportion at 95 percent (E. B. Wilson, 1927).
fn wilson(successes: u32, trials: u32) -> (f64, f64) {
    if trials == 0 {
        return (0.0, 1.0);
    }
    let (n, p, z) = (f64::from(trials), f64::from(successes) / f64::from(trials), 1.96);
    let centre = p + z * z / (2.0 * n);
    let spread = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z * z / n;
    (
        ((centre - spread) / scale).max(0.0),
        ((centre + spread) / scale).min(1.0),
    )
}

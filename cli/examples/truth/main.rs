//! Runs real campaigns with known effects and counts wrong verdicts.
//!
//! Usage: `cargo run --release -p fabricbench-cli --example truth -- [CAMPAIGNS] [PLANTED] [Fixed|Settled]`. First
//! build `fabricbench`, `fabricbench-runner` and the runner's `planted` example with the same profile. Results are
//! stored in `target/truth`, and a later invocation with the same binaries runs only the missing campaigns, so a large
//! number of campaigns can be run in several batches. The status of every executed campaign is checked with
//! `operator/tests/rederive`.
//!
//! - A/A: every counted arm behaves like the baseline, so any `Improved` or `Regressed` verdict is a false positive.
//!   The method guarantees that the probability of any false positive in a scenario is at most 5 percent. Two kinds of
//!   arms are counted: variants with verdicts, and controls, which are evaluated by their intervals. A variant has a
//!   verdict only if the plan does not treat it as identical to the baseline. The only such A/A arm is a variant with
//!   an unused environment variable, which runs in another process. Controls run both in the baseline's process and in
//!   another process. Controls in the baseline's process require a variant in that process: a variant with doorbell
//!   batching, which is counted only where batching does not change the posts. A run in which a control shows a change
//!   is `Suspect`; the method limits the probability of this outcome to 5 percent. With `Settled`, the A/A campaigns
//!   end comparisons as soon as they are decided, and the measured rounds are counted.
//! - Windows: with `windows [SERIES]` as the arguments, identical campaigns have windows of different lengths, and the
//!   noise floor of each length is printed.
//! - Planted: some arms are slowed down by a known percentage. The slowdown must be detected, and the interval should
//!   contain it.
#![allow(clippy::print_stdout, reason = "this program prints its results")]

mod campaign;
mod identical;
mod planted;
mod proportion;
mod windows;

use std::env;
use std::error::Error;

use campaign::Binaries;
use crds::v1alpha1::Stop;

const CAMPAIGNS: u32 = 200;
const PLANTED: u32 = 20;
const SERIES: u32 = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let number = |index, default| env::args().nth(index).map_or(Ok(default), |text| text.parse());
    if env::args().nth(1).as_deref() == Some("windows") {
        let binaries = Binaries::find()?;
        windows::run_series(&binaries, number(2, SERIES)?)?;
        print_reused(&binaries);
        return Ok(());
    }
    let (campaigns, with_plants) = (number(1, CAMPAIGNS)?, number(2, PLANTED)?);
    let stop = match env::args().nth(3).as_deref() {
        None | Some("Fixed") => Stop::Fixed,
        Some("Settled") => Stop::Settled,
        Some(other) => return Err(format!("{other} is neither Fixed nor Settled").into()),
    };
    let binaries = Binaries::find()?;
    identical::run_campaigns(&binaries, campaigns, stop)?;
    planted::run_campaigns(&binaries, with_plants)?;
    print_reused(&binaries);
    Ok(())
}

fn print_reused(binaries: &Binaries) {
    println!(
        "{} results were reused from earlier runs of these binaries",
        binaries.reused_count()
    );
}

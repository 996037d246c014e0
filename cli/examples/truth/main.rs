//! Runs real campaigns with known effects and counts wrong verdicts.
//!
//! `cargo run --release -p fabricbench-cli --example truth -- [CAMPAIGNS] [PLANTED] [Fixed|Settled]`, after both
//! binaries and the runner's example `planted` have been built with the same profile. The results are stored in
//! `target/truth`. A later execution of the same binaries runs only the missing campaigns, so a large number of campaigns
//! can be run in several batches. The statuses of all executed campaigns are checked with `operator/tests/rederive`.
//!
//! - A/A: every arm is the baseline, so any `Improved` or `Regressed` verdict is a false positive. The method guarantees
//!   that the probability of any false positive in a scenario is at most 5 percent. Arms of two kinds are counted, each in
//!   the process of the baseline and in another process. A variant gets verdicts only if it is not identical to the
//!   baseline according to the plan, so the only one is an arm with an unused environment variable, in another process.
//!   Controls are evaluated by their intervals. A variant with doorbell batching is not counted where it changes the
//!   posts; it causes the runs to have controls in the process of the baseline. A run in which a control shows a change
//!   is `Suspect`, which the method allows with a probability of at most 5 percent. With `Settled`, the A/A campaigns end
//!   comparisons as soon as they are decided, and the number of rounds is counted.
//! - Planted: arms slowed by a known percentage. The slowdown must be detected, and the interval should contain it.
#![allow(clippy::print_stdout, reason = "this program prints its results")]

mod campaign;
mod identical;
mod planted;
mod proportion;

use std::env;
use std::error::Error;

use campaign::Binaries;
use crds::v1alpha1::Stop;

const CAMPAIGNS: u32 = 200;
const PLANTED: u32 = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let number = |index, default| env::args().nth(index).map_or(Ok(default), |text| text.parse());
    let (campaigns, with_plants) = (number(1, CAMPAIGNS)?, number(2, PLANTED)?);
    let stop = match env::args().nth(3).as_deref() {
        None | Some("Fixed") => Stop::Fixed,
        Some("Settled") => Stop::Settled,
        Some(other) => return Err(format!("{other} is neither Fixed nor Settled").into()),
    };
    let binaries = Binaries::find()?;
    identical::count(&binaries, campaigns, stop)?;
    planted::count(&binaries, with_plants)?;
    println!(
        "{} results were reused from earlier executions of these binaries",
        binaries.reused()
    );
    Ok(())
}

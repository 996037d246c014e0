//! Runs real campaigns with known effects and counts wrong verdicts.
//!
//! `cargo run --release -p fabricbench-cli --example truth -- [CAMPAIGNS] [PLANTED]`, after both binaries and the
//! runner's example `planted` have been built with the same profile. The results are stored in `target/truth`. A later
//! execution of the same binaries runs only the missing campaigns, so a large number of campaigns can be run in several
//! batches.
//!
//! - A/A: every arm is identical to the baseline, so every `Improved` and every `Regressed` is a false verdict. The
//!   statistical method guarantees that a scenario of a campaign has a false verdict with a probability of at most 5
//!   percent. Each campaign has two A/A arms: the control arm (a second baseline in the same process), evaluated by its
//!   interval, and an arm with an unused environment variable (in a separate process), evaluated by its verdict. A run
//!   in which a control shows a change is `Suspect`, which the method allows with a probability of at most 5 percent.
//! - Planted: arms that are slower by a known percentage. The effect must be detected, and the interval should contain
//!   it.
#![allow(clippy::print_stdout, reason = "this program prints its results")]

mod campaign;
mod identical;
mod planted;
mod proportion;

use std::env;
use std::error::Error;

use campaign::Binaries;

const CAMPAIGNS: u32 = 200;
const PLANTED: u32 = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let number = |index, default| env::args().nth(index).map_or(Ok(default), |text| text.parse());
    let (campaigns, with_plants) = (number(1, CAMPAIGNS)?, number(2, PLANTED)?);
    let binaries = Binaries::find()?;
    identical::count(&binaries, campaigns)?;
    planted::count(&binaries, with_plants)?;
    println!(
        "{} results were reused from earlier executions of these binaries",
        binaries.reused()
    );
    Ok(())
}

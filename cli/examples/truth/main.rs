//! Runs real campaigns with known effects and counts wrong verdicts.
//!
//! `cargo run --release -p fabricbench-cli --example truth -- [CAMPAIGNS] [PLANTED]`, with both binaries and the
//! runner's example `planted` built with the same profile. The results are stored in `target/truth`. A later execution
//! of the same binaries runs only the missing campaigns, so a large number of campaigns can be run in several batches.
//!
//! - A/A: every arm is the baseline, so every `Improved` and every `Regressed` is false. The statistical method
//!   guarantees at most 5 percent for each scenario of a campaign. Each campaign has two A/A arms: the control arm (a
//!   second baseline in the same process), evaluated by its interval, and an arm with an unused environment variable
//!   (in a separate process), evaluated by its verdict. A run whose controls show an effect is `Suspect`, which the
//!   method allows in at most 5 percent of the runs.
//! - Planted: arms that are slower by a known percentage, which must be detected and should be in the interval.
#![allow(clippy::print_stdout, reason = "a program that prints its findings")]

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
        "{} results were stored by an earlier execution of these binaries",
        binaries.reused()
    );
    Ok(())
}

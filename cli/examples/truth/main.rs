//! Runs real campaigns whose answer is known, and counts wrong verdicts.
//!
//! `cargo run --release -p fabricbench-operator --example truth -- [CAMPAIGNS] [PLANTED]`, with both programs and the
//! runner's example `planted` built in the same profile.
//!
//! - A/A: every arm is the baseline, so every `Improved` and every `Regressed` is false. The statistics promise at most
//!   5 percent for each scenario of a campaign. Two kinds of A/A are in each campaign: the control arm (a second
//!   baseline in the same process), judged here by the interval it gets, and an arm with a variable that nothing reads
//!   (a process of its own), judged by its verdict.
//! - Planted: arms that are slower by a known percentage, which should be found and be in the interval.
#![allow(clippy::print_stdout, reason = "a program that prints its findings")]

mod campaign;
mod identical;
mod planted;
mod proportion;

use std::env;
use std::error::Error;

use campaign::Programs;

const CAMPAIGNS: u32 = 100;
const PLANTED: u32 = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let number = |place, default| env::args().nth(place).map_or(Ok(default), |text| text.parse());
    let (campaigns, with_plants) = (number(1, CAMPAIGNS)?, number(2, PLANTED)?);
    let programs = Programs::find()?;
    identical::count(&programs, campaigns)?;
    planted::count(&programs, with_plants)
}

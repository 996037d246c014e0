//! Compares the runner with established tools: alternates repeated measurements of the one-way ping-pong latency with
//! fabricbench-runner and with fi_pingpong (and fabtests), over the same library and provider on this machine.
//!
//! Run it with `cargo run --release -p fabricbench-runner --example bench -- --help`, after building the runner with
//! the same profile. The tools print means, so the mean of the runner is compared: half the window divided by the
//! number of round trips. Like fi_pingpong, the runner polls without pauses and injects small messages. Each side is
//! pinned to a separate CPU.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "an interactive tool that exits on errors"
)]
#![allow(missing_docs, reason = "an example binary")]

mod runner;
mod table;
mod tools;

#[path = "../../tests/common/leg.rs"]
mod leg;

use std::path::PathBuf;

use clap::Parser;
use crds::v1alpha1::LibfabricProvider;

use table::Row;

/// Compare the ping-pong latency of the runner with that of fi_pingpong, and of fabtests if available.
#[derive(Debug, Parser)]
struct Arguments {
    /// Directory with another libfabric.so.1, measured after the system's library. Can be given several times.
    #[arg(long = "library", value_name = "DIRECTORY")]
    libraries: Vec<PathBuf>,
    /// Directory with fi_rdm_tagged_pingpong from fabtests.
    #[arg(long, value_name = "DIRECTORY")]
    fabtests: Option<PathBuf>,
    /// Number of measurements of each size with each tool.
    #[arg(long, default_value_t = 5)]
    repeats: usize,
    /// Message sizes in bytes.
    #[arg(long, value_delimiter = ',', default_values_t = (0..10).map(|step| 64 << (2 * step)))]
    sizes: Vec<u64>,
}

/// Parameters of one measurement.
pub struct Setting<'a> {
    pub library: Option<&'a PathBuf>,
    pub provider: LibfabricProvider,
    pub size: u64,
}

impl Setting<'_> {
    /// Number of round trips, chosen so that a measurement takes a few tenths of a second.
    pub fn iterations(&self) -> u32 {
        u32::try_from((400_000_000 / self.size).clamp(20, 20_000)).unwrap()
    }
}

fn main() {
    let arguments = Arguments::parse();
    let libraries = std::iter::once(None).chain(arguments.libraries.iter().map(Some));
    println!("{}", table::HEADER);
    for library in libraries {
        for provider in [LibfabricProvider::Tcp, LibfabricProvider::Shm] {
            for size in arguments.sizes.iter().copied() {
                let setting = Setting {
                    library,
                    provider,
                    size,
                };
                let mut row = Row::default();
                for repetition in 0..arguments.repeats {
                    // The order alternates, so that no tool always runs in the same position.
                    if repetition % 2 == 0 {
                        row.add_runner(runner::measure(&setting));
                    }
                    row.fi_pingpong.push(tools::fi_pingpong(&setting, &row.provider));
                    if let Some(directory) = &arguments.fabtests {
                        row.fabtests
                            .push(tools::fabtests(&setting, &row.provider, directory));
                    }
                    if repetition % 2 == 1 {
                        row.add_runner(runner::measure(&setting));
                    }
                }
                println!("{}", row.line(size));
            }
        }
    }
}

//! The same number as the field's own tools? One-way latency of a ping-pong over the same library and provider on this
//! machine, measured by fabricbench-runner and by fi_pingpong (and fabtests), in turn, several times.
//!
//! `cargo run --release -p fabricbench-runner --example bench -- --help`, with the runner built in the same profile.
//! These tools print means, so the runner's mean is compared: the window by its round trips, halved. As fi_pingpong
//! does, the runner polls without a pause and injects what is small; both sides of both have a processor of their own.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for people, which ends when it cannot go on"
)]
#![allow(missing_docs, reason = "a program")]

mod ours;
mod table;
mod theirs;

#[path = "../../tests/common/leg.rs"]
mod leg;

use std::path::PathBuf;

use clap::Parser;
use crds::v1alpha1::LibfabricProvider;

use table::Row;

/// Compare the runner's ping-pong latency with fi_pingpong's, and fabtests' where they are.
#[derive(Debug, Parser)]
struct Arguments {
    /// Folder with another libfabric.so.1, measured after the system's; may be given several times.
    #[arg(long = "library", value_name = "FOLDER")]
    libraries: Vec<PathBuf>,
    /// Folder with fabtests' fi_rdm_tagged_pingpong.
    #[arg(long, value_name = "FOLDER")]
    fabtests: Option<PathBuf>,
    /// Times that each size is measured with each tool.
    #[arg(long, default_value_t = 5)]
    repeats: usize,
    /// Sizes in bytes.
    #[arg(long, value_delimiter = ',', default_values_t = (0..10).map(|step| 64 << (2 * step)))]
    sizes: Vec<u64>,
}

/// What is measured at one moment.
pub struct Setting<'a> {
    pub library: Option<&'a PathBuf>,
    pub provider: LibfabricProvider,
    pub size: u64,
}

impl Setting<'_> {
    /// Round trips that take some tenths of a second.
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
                for repeat in 0..arguments.repeats {
                    // By turns: who comes first may find the machine otherwise.
                    if repeat % 2 == 0 {
                        row.add_ours(ours::measure(&setting));
                    }
                    row.fi_pingpong.push(theirs::fi_pingpong(&setting, &row.provider));
                    if let Some(folder) = &arguments.fabtests {
                        row.fabtests
                            .push(theirs::fabtests(&setting, &row.provider, folder));
                    }
                    if repeat % 2 == 1 {
                        row.add_ours(ours::measure(&setting));
                    }
                }
                println!("{}", row.line(size));
            }
        }
    }
}

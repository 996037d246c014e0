//! What the operator costs: its memory, its speed, its requests, against a real API server without nodes.
//!
//! `make bench-operator`, which brings that API server up, or `--example bench-operator -- --help`. Every figure comes
//! from the program as a process of its own: times are from the sending of a request until a watch shows what came of
//! it, memory and processor time are what the kernel says of the process, requests what its own metrics count.
#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a program for people, which ends when it cannot go on"
)]
#![allow(missing_docs, reason = "a program")]

mod arrivals;
mod at_once;
mod counters;
mod idle;
mod killed;
mod one;
mod sheet;
mod site;
mod start;

#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/cluster_api/cluster.rs"]
mod cluster;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/cluster_api/operator.rs"]
mod operator;

use std::path::PathBuf;

use clap::Parser;

use sheet::Sheet;
use site::Site;

/// Measure the operator's memory, speed and requests.
#[derive(Debug, Parser)]
struct Arguments {
    /// The program, as it is in its image.
    #[arg(long, value_name = "FILE")]
    program: PathBuf,
    /// Runs that are created at once.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    runs: usize,
    /// Times that everything is measured.
    #[arg(long, value_name = "N", default_value_t = 5)]
    repeats: usize,
    /// Length of the idle time.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    idle: u64,
    /// What else the operator is told.
    #[arg(last = true)]
    operator: Vec<String>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments = Arguments::parse();
    let site = Site::prepare(&arguments.program, &arguments.operator).await;
    let mut sheet = Sheet::default();
    for repeat in 1..=arguments.repeats {
        eprintln!("repeat {repeat} of {}", arguments.repeats);
        start::measure(&site, &mut sheet).await;
        // By turns: with and without an operator, the same number of objects.
        at_once::bare_jobs(&site, arguments.runs, &mut sheet).await;
        at_once::few(&site, arguments.runs / 10, &mut sheet).await;
        let operator = at_once::runs(&site, arguments.runs, &mut sheet).await;
        one::measure(&site, &mut sheet).await;
        idle::nothing_new(&site, &operator, arguments.runs, &mut sheet).await;
        drop(operator);
        if repeat == 1 {
            idle::minute(&site, arguments.idle, &mut sheet).await;
        }
        site.clear().await;
        killed::measure(&site, arguments.runs, &mut sheet).await;
        site.clear().await;
        at_once::bare_runs(&site, arguments.runs, &mut sheet).await;
    }
    println!("{sheet}");
}

//! Benchmarks the operator's memory, latency, CPU time and requests with a real API server and no kubelets.
//!
//! Run `make bench-operator`, which starts the API server, or `cargo run --example bench-operator -- --help`. The
//! operator runs as a separate process. Times are measured from sending a request until a watch delivers the resulting
//! object. Memory and CPU time come from the kernel, and the number of requests comes from the operator's metrics.
#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "an interactive benchmark, which panics on errors"
)]
#![allow(missing_docs, reason = "an executable without a public API")]

mod concurrent_runs;
mod counters;
mod first_jobs;
mod idle;
mod killed;
mod results;
mod single_run;
mod startup;
mod test_cluster;

use std::path::PathBuf;

use clap::Parser;

use results::Results;
use test_cluster::TestCluster;

/// Measure the operator's memory, latency, CPU time and requests.
#[derive(Debug, Parser)]
struct Arguments {
    /// Operator binary to measure.
    #[arg(long, value_name = "FILE")]
    binary: PathBuf,
    /// Number of runs that are created concurrently.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    runs: usize,
    /// Number of times that all measurements are repeated.
    #[arg(long, value_name = "N", default_value_t = 5)]
    repeats: usize,
    /// Duration of the idle measurement in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    idle: u64,
    /// Additional arguments for the operator.
    #[arg(last = true)]
    operator: Vec<String>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments = Arguments::parse();
    let cluster = TestCluster::prepare(&arguments.binary, &arguments.operator).await;
    let mut results = Results::default();
    for repeat in 1..=arguments.repeats {
        eprintln!("repetition {repeat} of {}", arguments.repeats);
        startup::measure(&cluster, &mut results).await;
        // Measurements with and without the operator alternate, each with the same number of objects.
        concurrent_runs::bare_jobs(&cluster, arguments.runs, &mut results).await;
        concurrent_runs::memory(&cluster, arguments.runs / 10, &mut results).await;
        let operator = concurrent_runs::runs(&cluster, arguments.runs, &mut results).await;
        single_run::measure(&cluster, &mut results).await;
        idle::unchanged_runs(&cluster, &operator, arguments.runs, &mut results).await;
        drop(operator);
        if repeat == 1 {
            idle::measure_idle(&cluster, arguments.idle, &mut results).await;
        }
        cluster.clear().await;
        killed::measure(&cluster, arguments.runs, &mut results).await;
        cluster.clear().await;
        concurrent_runs::bare_runs(&cluster, arguments.runs, &mut results).await;
    }
    println!("{results}");
}

//! Options of the operator. Plain data.

use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;

use super::leader::LeaseName;
use crate::metrics::SeriesLimits;
use crate::run_controller::build::OperatorConfig;

/// Options of the operator, set on the command line.
#[derive(Clone, Debug)]
pub struct Options {
    /// Namespaces whose runs are reconciled.
    pub namespaces: Namespaces,
    /// Configuration shared by all runs.
    pub config: OperatorConfig,
    /// Maximum number of concurrent reconciliations.
    pub concurrency: u16,
    /// Maximum number of concurrent evaluations; each uses one CPU.
    pub evaluation_threads: usize,
    /// Rate limit of requests to the API server.
    pub limits: RequestLimits,
    /// Address of `/healthz`, `/readyz` and `/metrics`.
    pub listen: SocketAddr,
    /// Limits of result series at `/metrics`.
    pub series: SeriesLimits,
    /// Lease of the leader election, or `None` without leader election.
    pub lease: Option<LeaseName>,
    /// Format of log lines.
    pub log_format: LogFormat,
}

/// Rate limit of requests to the API server. Watches, logs and the Lease are exempt.
#[derive(Clone, Copy, Debug)]
pub struct RequestLimits {
    /// Sustained requests per second.
    pub per_second: u32,
    /// Maximum burst of requests.
    pub burst: u32,
}

/// Namespaces whose runs are reconciled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Namespaces {
    /// All namespaces. The operator reads Node objects, and checks them before it creates the pods of a run.
    All,
    /// Only these namespaces. Roles are sufficient, because the operator does not read Node objects.
    Only(BTreeSet<String>),
}

impl fmt::Display for Namespaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Only(names) => {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                f.write_str(&names.join(","))
            }
        }
    }
}

/// Format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// Human-readable text.
    Text,
    /// One JSON object per line.
    Json,
}

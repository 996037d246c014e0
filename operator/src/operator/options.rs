//! What an installation decides. Plain data.

use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;

use super::leader::LeaseName;
use crate::metrics::SeriesLimits;
use crate::run_controller::build::OperatorConfig;

/// Everything the command line says.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where runs are looked for.
    pub namespaces: Namespaces,
    /// What is the same for all runs.
    pub installation: OperatorConfig,
    /// Most runs reconciled at a time.
    pub concurrency: u16,
    /// Most statistics computed at a time; each keeps one processor busy.
    pub evaluation_threads: usize,
    /// Requests to the API server.
    pub limits: RequestLimits,
    /// Where `/healthz`, `/readyz` and `/metrics` are served.
    pub listen: SocketAddr,
    /// Series of results at `/metrics`.
    pub series: SeriesLimits,
    /// The Lease that replicas compete for; nothing where there is only ever one.
    pub lease: Option<LeaseName>,
    /// How log lines look.
    pub log_format: LogFormat,
}

/// Most requests to the API server; watches and the Lease are not held up by them.
#[derive(Clone, Copy, Debug)]
pub struct RequestLimits {
    /// Requests a second, over a longer time.
    pub per_second: u32,
    /// Requests at once.
    pub burst: u32,
}

/// Where runs are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Namespaces {
    /// In the whole cluster. Nodes are read, so that a run that no node can take is told so.
    All,
    /// In these only: Roles suffice, and nodes are not read.
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

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

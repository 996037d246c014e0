//! Operator options. Plain data.

use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;

use crds::units::Size;

use crate::metrics::SeriesLimits;

/// Operator options, set on the command line.
#[derive(Clone, Debug)]
pub struct Options {
    /// Namespaces whose runs are reconciled.
    pub namespaces: Namespaces,
    /// Configuration shared by all runs.
    pub config: OperatorConfig,
    /// Maximum number of concurrent reconciliations.
    pub concurrency: u16,
    /// Maximum number of concurrent evaluations and analyses; each uses one CPU.
    pub evaluation_threads: usize,
    /// Rate limit for requests to the API server.
    pub limits: RequestLimits,
    /// Listen address for `/healthz`, `/readyz` and `/metrics`.
    pub listen: SocketAddr,
    /// Who may read `/metrics`.
    pub metrics_readers: Readers,
    /// Limits on the number of result series at `/metrics`.
    pub series: SeriesLimits,
    /// Lease for leader election, or `None` if leader election is disabled.
    pub lease: Option<LeaseName>,
    /// Format of log lines.
    pub log_format: LogFormat,
}

/// Configuration of the operator that applies to all runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorConfig {
    /// Runner image: the default image for workers, and the source of the runner binary for all other images.
    pub runner_image: String,
    /// `Always`, `IfNotPresent` or `Never`; `None` means the Kubernetes default.
    pub image_pull_policy: Option<String>,
    /// Names of image pull secrets in the namespace of the run.
    pub image_pull_secrets: Vec<String>,
    /// Allowed prefixes of image references in a run; an empty list allows any image.
    pub allowed_images: Vec<String>,
    /// Allowed names of environment variables in a variant. A trailing `*` matches any suffix; an empty list allows any
    /// name.
    pub allowed_env: Vec<String>,
    /// Whether runs may contain scenarios with `command`.
    pub commands: CommandPolicy,
    /// Whether workers run as root with `IPC_LOCK` and no other capability, for nodes whose container runtime limits
    /// locked memory. The capability has no effect for non-root users.
    pub ipc_lock: bool,
    /// Default number of CPUs per worker.
    pub default_cpus: u32,
    /// Default memory per worker.
    pub default_memory: Size,
}

impl OperatorConfig {
    /// Returns the default configuration with `runner_image`. The defaults are sufficient to run every example.
    pub fn new(runner_image: impl Into<String>) -> Self {
        Self {
            runner_image: runner_image.into(),
            image_pull_policy: None,
            image_pull_secrets: Vec::new(),
            allowed_images: Vec::new(),
            allowed_env: Vec::new(),
            commands: CommandPolicy::Auto,
            ipc_lock: false,
            default_cpus: 2,
            default_memory: Size(2 << 30),
        }
    }
}

/// Whether runs may contain scenarios with `command`, which execute programs in the image with user-supplied arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum CommandPolicy {
    /// Allowed if any image is allowed, and forbidden if the images are restricted.
    Auto,
    /// Allowed.
    Allow,
    /// Forbidden.
    Forbid,
}

/// Rate limit for requests to the API server. Watches, logs and the Lease are exempt.
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

impl Namespaces {
    /// One scope for each namespace, or only `None`, which stands for all namespaces.
    pub fn scopes(&self) -> Vec<Option<String>> {
        match self {
            Self::All => vec![None],
            Self::Only(names) => names.iter().cloned().map(Some).collect(),
        }
    }
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

/// Namespace and name of the Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseName {
    /// Namespace of the Lease.
    pub namespace: String,
    /// Name of the Lease.
    pub name: String,
}

impl fmt::Display for LeaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Who may read the metrics, which contain the results of all runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Readers {
    /// Everyone who can connect.
    Anyone,
    /// Users with a token that the API server knows and with the right to get the nonResourceURL `/metrics`.
    Authorized,
}

/// Format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// Human-readable text.
    Text,
    /// One JSON object per line.
    Json,
}

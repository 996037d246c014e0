//! `fabricbench operator`: the controller in a cluster.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use clap::Args;
use crds::units::Size;

use super::{Exit, Failure};
use crate::campaign::validate::is_label;
use crate::metrics::SeriesLimits;
use crate::operator::{self, LeaseName, LogFormat, Namespaces, Options, RequestLimits};
use crate::run_controller::build::OperatorConfig;

/// Run the controller: carry out the BenchmarkRuns of a cluster.
///
/// The cluster is the one of KUBECONFIG, or the one whose pod this is. SIGTERM ends it; runs go on where they were
/// when it starts again.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: fabricbench operator --runner-image registry.example/fabricbench-runner:0.1.0 --no-leader-election"
)]
pub(super) struct Operator {
    /// Namespace whose runs are carried out; may be given several times. Without one: all of the cluster.
    ///
    /// With namespaces, Roles suffice: nodes are not read, so that a run that no node can take waits instead of being
    /// told so at once.
    #[arg(
        long = "namespace",
        env = "FABRICBENCH_NAMESPACES",
        value_name = "NAME",
        value_delimiter = ','
    )]
    namespaces: Vec<String>,
    /// Image of the runner: of runs that name none, and brought into the pods of those that do.
    #[arg(long, env = "FABRICBENCH_RUNNER_IMAGE", value_name = "IMAGE")]
    runner_image: String,
    /// When nodes pull the images of workers: Always, IfNotPresent or Never; the cluster's default where left out.
    #[arg(long, env = "FABRICBENCH_IMAGE_PULL_POLICY", value_name = "POLICY",
        value_parser = ["Always", "IfNotPresent", "Never"])]
    image_pull_policy: Option<String>,
    /// Secret with credentials for registries, in the namespaces of the runs; may be given several times.
    #[arg(
        long = "image-pull-secret",
        env = "FABRICBENCH_IMAGE_PULL_SECRETS",
        value_name = "NAME",
        value_delimiter = ','
    )]
    image_pull_secrets: Vec<String>,
    /// How images that runs name must begin, as `registry.example/team/`; may be given several times. Any where left out.
    #[arg(
        long = "allow-image",
        env = "FABRICBENCH_ALLOWED_IMAGES",
        value_name = "PREFIX",
        value_delimiter = ','
    )]
    allowed_images: Vec<String>,
    /// Environment variables that variants may set, a `*` at the end for any that begin so, as `FI_*`; may be given several
    /// times. Any where left out.
    #[arg(
        long = "allow-env",
        env = "FABRICBENCH_ALLOWED_ENV",
        value_name = "NAME",
        value_delimiter = ','
    )]
    allowed_env: Vec<String>,
    /// Run workers as root with the one capability IPC_LOCK, for nodes that limit locked memory. Their namespaces must then
    /// admit privileged pods.
    #[arg(long, env = "FABRICBENCH_IPC_LOCK")]
    ipc_lock: bool,
    /// Processors of a worker whose run names no number.
    #[arg(long, env = "FABRICBENCH_DEFAULT_CPUS", value_name = "N", default_value_t = 2,
        value_parser = clap::value_parser!(u32).range(1..=1024))]
    default_cpus: u32,
    /// Memory of a worker whose run names none.
    #[arg(
        long,
        env = "FABRICBENCH_DEFAULT_MEMORY",
        value_name = "SIZE",
        default_value = "2Gi"
    )]
    default_memory: Size,
    /// Most runs looked at at a time.
    #[arg(long, env = "FABRICBENCH_CONCURRENCY", value_name = "N", default_value_t = 16,
        value_parser = clap::value_parser!(u16).range(1..=1024))]
    concurrency: u16,
    /// Most statistics computed at a time, a thread each.
    #[arg(long, env = "FABRICBENCH_EVALUATION_THREADS", value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u16).range(1..=64))]
    evaluation_threads: u16,
    /// Most requests to the API server a second; watches, logs and the Lease are not counted.
    #[arg(long, env = "FABRICBENCH_CLIENT_QPS", value_name = "N", default_value_t = 1000,
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    client_qps: u32,
    /// Most requests to the API server at once.
    #[arg(long, env = "FABRICBENCH_CLIENT_BURST", value_name = "N", default_value_t = 1000,
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    client_burst: u32,
    /// Where /healthz, /readyz and /metrics are served.
    #[arg(
        long,
        env = "FABRICBENCH_LISTEN",
        value_name = "ADDRESS",
        default_value = "127.0.0.1:8080"
    )]
    listen: SocketAddr,
    /// Most series of results of one run at /metrics; what it left out is counted in fabricbench_run_series_dropped.
    #[arg(long, env = "FABRICBENCH_MAX_SERIES_PER_RUN", value_name = "N", default_value_t = 2000,
        value_parser = clap::value_parser!(u32).range(200..=100_000))]
    max_series_per_run: u32,
    /// Most series of results of all runs together at /metrics, the newest runs first.
    #[arg(long, env = "FABRICBENCH_MAX_SERIES", value_name = "N", default_value_t = 100_000,
        value_parser = clap::value_parser!(u32).range(200..=10_000_000))]
    max_series: u32,
    /// Name of the Lease that replicas compete for.
    #[arg(
        long,
        env = "FABRICBENCH_LEASE_NAME",
        value_name = "NAME",
        default_value = "fabricbench-operator"
    )]
    lease_name: String,
    /// Namespace of the Lease.
    #[arg(
        long,
        env = "FABRICBENCH_LEASE_NAMESPACE",
        value_name = "NAME",
        default_value = "default"
    )]
    lease_namespace: String,
    /// Act without a Lease. Only where there is never a second replica.
    #[arg(long, env = "FABRICBENCH_NO_LEADER_ELECTION")]
    no_leader_election: bool,
    /// How log lines look; which are written, RUST_LOG says.
    #[arg(
        long,
        env = "FABRICBENCH_LOG_FORMAT",
        value_name = "FORMAT",
        default_value = "text",
        value_enum
    )]
    log_format: LogFormat,
}

impl Operator {
    pub(super) fn execute(self) -> Result<Exit, Failure> {
        let options = self.options()?;
        operator::run(options).map_err(Failure::incomplete)?;
        Ok(Exit::Complete)
    }

    fn options(self) -> Result<Options, Failure> {
        let names: BTreeSet<String> = self.namespaces.into_iter().collect();
        for name in &names {
            named("--namespace", name, ". Leave it out for all namespaces")?;
        }
        named("--lease-namespace", &self.lease_namespace, "")?;
        for part in self.lease_name.split('.') {
            named("--lease-name", part, "")?;
        }
        if self.runner_image.is_empty() || self.runner_image.contains(char::is_whitespace) {
            return Err(Failure::wrong_file(format!(
                "--runner-image: `{}` is no image, such as registry.example/fabricbench-runner:0.1.0",
                self.runner_image
            )));
        }
        Ok(Options {
            namespaces: match names.is_empty() {
                true => Namespaces::All,
                false => Namespaces::Only(names),
            },
            installation: OperatorConfig {
                image_pull_policy: self.image_pull_policy,
                image_pull_secrets: self.image_pull_secrets,
                allowed_images: self.allowed_images,
                allowed_env: self.allowed_env,
                ipc_lock: self.ipc_lock,
                default_cpus: self.default_cpus,
                default_memory: self.default_memory,
                ..OperatorConfig::new(self.runner_image)
            },
            concurrency: self.concurrency,
            evaluation_threads: self.evaluation_threads.into(),
            limits: RequestLimits {
                per_second: self.client_qps,
                burst: self.client_burst,
            },
            listen: self.listen,
            series: SeriesLimits {
                per_run: self.max_series_per_run as usize,
                all: self.max_series as usize,
            },
            lease: (!self.no_leader_election).then_some(LeaseName {
                namespace: self.lease_namespace,
                name: self.lease_name,
            }),
            log_format: self.log_format,
        })
    }
}

/// Refuses what no API server takes for a name, at once instead of at each request.
fn named(flag: &str, name: &str, hint: &str) -> Result<(), Failure> {
    match is_label(name, 63) {
        true => Ok(()),
        false => Err(Failure::wrong_file(format!(
            "{flag}: `{name}` is no name in a cluster: small letters, digits and hyphens, at most 63{hint}"
        ))),
    }
}

//! `fabricbench operator`: runs the operator.

use std::net::SocketAddr;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use crds::number::whole_number;
use crds::units::Size;

use super::namespaces::{NamespaceFlag, check_name};
use super::{Exit, Failure};
use crate::manager;
use crate::metrics::SeriesLimits;
use crate::options::{CommandPolicy, LeaseName, LogFormat, OperatorConfig, Options, Readers, RequestLimits};

/// Run the operator, which reconciles the BenchmarkRuns in a cluster.
///
/// Connects to the cluster in the current kubeconfig context, or to the cluster that its pod runs in. SIGTERM stops the
/// operator. After a restart, runs continue from their last persisted state.
///
/// If namespaces are specified, Roles are sufficient, because the operator does not read Node objects. In this mode, it
/// cannot check whether enough nodes meet a run's requirements before it creates the pods.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: fabricbench operator --runner-image registry.example/fabricbench-runner:0.1.0 --no-leader-election"
)]
pub struct Operator {
    #[command(flatten)]
    namespaces: NamespaceFlag,
    /// Runner image. It is the default image for runs and the source of the runner binary for runs that use another
    /// image.
    #[arg(long, env = "FABRICBENCH_RUNNER_IMAGE", value_name = "IMAGE")]
    runner_image: String,
    /// Image pull policy for worker pods. Defaults to the Kubernetes default.
    #[arg(long, env = "FABRICBENCH_IMAGE_PULL_POLICY", value_name = "POLICY",
        value_parser = ["Always", "IfNotPresent", "Never"])]
    image_pull_policy: Option<String>,
    /// Image pull secret for worker pods, in the namespace of the run. Can be repeated.
    #[arg(
        long = "image-pull-secret",
        env = "FABRICBENCH_IMAGE_PULL_SECRETS",
        value_name = "NAME",
        value_delimiter = ','
    )]
    image_pull_secrets: Vec<String>,
    /// Prefix of images that runs are permitted to use, such as `registry.example/team/`. Can be repeated. Defaults to
    /// all images.
    #[arg(
        long = "allow-image",
        env = "FABRICBENCH_ALLOWED_IMAGES",
        value_name = "PREFIX",
        value_delimiter = ',',
        value_parser = NonEmptyStringValueParser::new()
    )]
    allowed_images: Vec<String>,
    /// Environment variable that variants are permitted to set. A trailing `*`, as in `FI_*`, matches any suffix.
    /// Can be repeated. Defaults to all variables.
    #[arg(
        long = "allow-env",
        env = "FABRICBENCH_ALLOWED_ENV",
        value_name = "NAME",
        value_delimiter = ',',
        value_parser = variable_pattern
    )]
    allowed_env: Vec<String>,
    /// Whether runs may have `command` scenarios, which execute any program in the image of the run with any arguments.
    /// `auto` allows them only if --allow-image does not restrict images.
    #[arg(
        long,
        env = "FABRICBENCH_COMMANDS",
        value_name = "POLICY",
        default_value = "auto",
        value_enum
    )]
    commands: CommandPolicy,
    /// Run workers as root with only the IPC_LOCK capability, for nodes that limit locked memory. Namespaces that
    /// contain runs must admit pods at the "privileged" Pod Security level.
    #[arg(long, env = "FABRICBENCH_IPC_LOCK")]
    ipc_lock: bool,
    /// Number of CPUs per worker if the run does not specify it.
    #[arg(long, env = "FABRICBENCH_DEFAULT_CPUS", value_name = "N", default_value_t = 2,
        allow_negative_numbers = true, value_parser = whole_number(1..=1024_u32))]
    default_cpus: u32,
    /// Memory per worker if the run does not specify it.
    #[arg(
        long,
        env = "FABRICBENCH_DEFAULT_MEMORY",
        value_name = "SIZE",
        default_value = "2Gi",
        value_parser = memory_size
    )]
    default_memory: Size,
    /// Maximum number of concurrent reconciliations.
    #[arg(long, env = "FABRICBENCH_CONCURRENCY", value_name = "N", default_value_t = 16,
        allow_negative_numbers = true, value_parser = whole_number(1..=1024_u16))]
    concurrency: u16,
    /// Maximum number of concurrent evaluations and analyses of runs, each on a separate thread.
    #[arg(long, env = "FABRICBENCH_EVALUATION_THREADS", value_name = "N", default_value_t = 1,
        allow_negative_numbers = true, value_parser = whole_number(1..=64_u16))]
    evaluation_threads: u16,
    /// Maximum number of API server requests per second. Watches, logs and the Lease are exempt.
    #[arg(long, env = "FABRICBENCH_CLIENT_QPS", value_name = "N", default_value_t = 1000,
        allow_negative_numbers = true, value_parser = whole_number(1..=100_000_u32))]
    client_qps: u32,
    /// Maximum burst of API server requests.
    #[arg(long, env = "FABRICBENCH_CLIENT_BURST", value_name = "N", default_value_t = 1000,
        allow_negative_numbers = true, value_parser = whole_number(1..=100_000_u32))]
    client_burst: u32,
    /// Listen address for /healthz, /readyz and /metrics.
    #[arg(
        long,
        env = "FABRICBENCH_LISTEN",
        value_name = "ADDRESS",
        default_value = "127.0.0.1:8080",
        value_parser = socket_address
    )]
    listen: SocketAddr,
    /// Who may read /metrics, which contains the results of all runs: anyone who can connect, or authorized users. These
    /// send a bearer token (TokenReview), and have the right to get the nonResourceURL /metrics (SubjectAccessReview). The
    /// operator needs the ClusterRole system:auth-delegator for this. Everyone may read /healthz and /readyz.
    #[arg(
        long,
        env = "FABRICBENCH_METRICS_READERS",
        value_name = "READERS",
        default_value = "anyone",
        value_enum
    )]
    metrics_readers: Readers,
    /// Maximum number of result series per run at /metrics. Omitted series are counted in
    /// fabricbench_run_series_dropped.
    #[arg(long, env = "FABRICBENCH_MAX_SERIES_PER_RUN", value_name = "N", default_value_t = 2000,
        allow_negative_numbers = true, value_parser = whole_number(200..=100_000_u32))]
    max_series_per_run: u32,
    /// Maximum number of result series across all runs at /metrics. Newer runs take precedence.
    #[arg(long, env = "FABRICBENCH_MAX_SERIES", value_name = "N", default_value_t = 100_000,
        allow_negative_numbers = true, value_parser = whole_number(200..=10_000_000_u32))]
    max_series: u32,
    /// Name of the Lease for leader election.
    #[arg(
        long,
        env = "FABRICBENCH_LEASE_NAME",
        value_name = "NAME",
        default_value = "fabricbench-operator"
    )]
    lease_name: String,
    /// Namespace of the Lease for leader election.
    #[arg(
        long,
        env = "FABRICBENCH_LEASE_NAMESPACE",
        value_name = "NAME",
        default_value = "default"
    )]
    lease_namespace: String,
    /// Disable leader election. Safe only with a single replica.
    #[arg(long, env = "FABRICBENCH_NO_LEADER_ELECTION")]
    no_leader_election: bool,
    /// Log format. Set RUST_LOG to filter log lines.
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
        manager::run(options).map_err(Failure::incomplete)?;
        Ok(Exit::Complete)
    }

    fn options(self) -> Result<Options, Failure> {
        let namespaces = self.namespaces.namespaces()?;
        check_name("--lease-namespace", &self.lease_namespace, "")?;
        for part in self.lease_name.split('.') {
            check_name("--lease-name", part, "")?;
        }
        if self.runner_image.is_empty() || self.runner_image.contains(char::is_whitespace) {
            return Err(Failure::invalid_input(format!(
                "--runner-image: `{}` is not a valid image. Use an image such as registry.example/fabricbench-runner:0.1.0",
                self.runner_image
            )));
        }
        Ok(Options {
            namespaces,
            config: OperatorConfig {
                image_pull_policy: self.image_pull_policy,
                image_pull_secrets: self.image_pull_secrets,
                allowed_images: self.allowed_images,
                allowed_env: self.allowed_env,
                commands: self.commands,
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
            metrics_readers: self.metrics_readers,
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

/// Parses an environment variable name with an optional trailing `*`. The JSON schema of the chart's values accepts the
/// same names.
fn variable_pattern(text: &str) -> Result<String, &'static str> {
    let name = text.strip_suffix('*').unwrap_or(text);
    let valid = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|one| one.is_ascii_alphanumeric() || one == '_');
    match valid {
        true => Ok(text.to_owned()),
        false => Err("use a name such as FI_LOG_LEVEL, or a prefix and a trailing `*`, such as FI_*"),
    }
}

fn socket_address(text: &str) -> Result<SocketAddr, &'static str> {
    let address = text.parse();
    address.map_err(|_| "use an IP address and a port, such as 127.0.0.1:8080 or [::1]:8080")
}

fn memory_size(text: &str) -> Result<Size, String> {
    match text.parse::<Size>() {
        Ok(Size(0)) => Err("use at least 1 byte".to_owned()),
        Ok(size) => Ok(size),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::*;

    fn message(argument: &str) -> Option<String> {
        let command = Operator::augment_args(Command::new("operator"));
        let arguments = ["operator", "--runner-image", "example.test/runner:1", argument];
        command
            .try_get_matches_from(arguments)
            .err()
            .map(|error| error.to_string())
    }

    #[test]
    fn accepts_only_valid_prefixes_patterns_and_sizes() {
        for argument in [
            "--allow-image=",
            "--allow-image=a,,b",
            "--allow-env=",
            "--allow-env=*",
            "--allow-env=*_LEVEL",
            "--allow-env=FI-LOG",
            "--default-memory=0",
            "--default-memory=x",
        ] {
            let message = message(argument).unwrap();
            let flag = argument.split('=').next().unwrap();
            assert!(message.contains(flag), "{argument}: {message}");
        }
        for argument in ["--allow-image=a,b", "--allow-env=FI_*,_x", "--default-memory=1Gi"] {
            assert_eq!(message(argument), None, "{argument}");
        }
    }
}

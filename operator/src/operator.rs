//! The controller's process: client, leader election, HTTP endpoints, shutdown. I/O; what a run needs next is decided in
//! [`crate::run_controller`].
//!
//! One thread runs everything but statistics, so that an idle operator costs one small stack.

mod api_latency;
mod category;
mod client;
mod leader;
mod metrics;
mod options;
mod results;
mod server;
mod shutdown;
mod telemetry;

use std::net::SocketAddr;
use std::time::Duration;

use snafu::{ResultExt, Snafu};
use tracing::{info, warn};

pub use category::Category;
pub use client::ClientError;
pub(crate) use client::Clients;
pub use leader::{LeaderError, LeaseName};
pub use metrics::{Metrics, MetricsError};
pub use options::{LogFormat, Namespaces, Options, RequestLimits};
pub(crate) use results::Results;
pub(crate) use server::Readiness;
pub use shutdown::Shutdown;

use crate::run_controller::{self, ControllerError};
use leader::Election;

/// How long reconciles that have begun may take to end when the process was told to stop. A kubelet waits 30 s.
const DRAIN: Duration = Duration::from_secs(20);

/// Why the operator could not start, or had to stop.
#[derive(Debug, Snafu)]
pub enum OperatorError {
    /// The runtime was refused.
    #[snafu(display("starting the runtime: {source}"))]
    Runtime {
        /// What the system says.
        source: std::io::Error,
    },
    /// Signals cannot be listened to.
    #[snafu(display("listening for SIGTERM: {source}"))]
    Signals {
        /// What the system says.
        source: std::io::Error,
    },
    /// There is no way to an API server.
    #[snafu(display("{source}"))]
    Client {
        /// Why not.
        source: ClientError,
    },
    /// A metric was refused.
    #[snafu(display("{source}"))]
    Metrics {
        /// Why.
        source: MetricsError,
    },
    /// The listen address cannot be used.
    #[snafu(display("listening on {address}: {source}. Choose another with --listen"))]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// The lease is lost: another replica may act now, so this one must not.
    #[snafu(display("{source}"))]
    Leader {
        /// Why.
        source: LeaderError,
    },
    /// The controller ended.
    #[snafu(display("{source}"))]
    Controller {
        /// Why.
        source: ControllerError,
    },
}

/// Threads beside those of statistics, which must not hold up the way to the API server: names are looked up on them.
const NAME_LOOKUPS: usize = 2;

/// Runs the operator until SIGTERM or SIGINT.
///
/// # Errors
/// When it cannot start, or leadership is lost: the process must then end, and its supervisor starts another.
pub fn run(options: Options) -> Result<(), OperatorError> {
    telemetry::start(options.log_format);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(options.evaluation_threads + NAME_LOOKUPS)
        .build()
        .context(RuntimeSnafu)?;
    let ended = runtime.block_on(operate(options));
    // A statistic that is still computed would hold up an exit that is already decided.
    runtime.shutdown_background();
    ended
}

async fn operate(options: Options) -> Result<(), OperatorError> {
    let mut shutdown = Shutdown::listen().context(SignalsSnafu)?;
    let metrics = Metrics::new().context(MetricsSnafu)?;
    let clients = client::connect(&options.limits, &metrics)
        .await
        .context(ClientSnafu)?;
    let readiness = Readiness::default();
    let address = options.listen;
    let listener = tokio::net::TcpListener::bind(address)
        .await
        .context(ListenSnafu { address })?;
    let results = Results::new(options.series.all);
    let server = server::serve(listener, metrics.clone(), readiness.clone(), results.clone());
    info!(%address, version = env!("CARGO_PKG_VERSION"), namespaces = %options.namespaces, "started");

    let work = async {
        let mut election = match &options.lease {
            Some(lease) => {
                let mut election = Election::new(clients.unlimited.clone(), lease);
                readiness.standing_by();
                tokio::select! {
                    elected = election.acquire() => elected.context(LeaderSnafu)?,
                    () = shutdown.told() => return Ok(()),
                }
                info!(lease = %lease, identity = election.identity(), "leading");
                Some(election)
            }
            None => None,
        };
        metrics.leading(true);
        let controller = run_controller::run(
            &options,
            clients,
            &metrics,
            &readiness,
            &results,
            shutdown.clone(),
        );
        let ended = {
            let lost = async {
                match &mut election {
                    Some(election) => election.hold().await,
                    None => std::future::pending().await,
                }
            };
            let overdue = async {
                shutdown.told().await;
                tokio::time::sleep(DRAIN).await;
            };
            tokio::select! {
                ended = controller => ended.context(ControllerSnafu),
                lost = lost => Err(OperatorError::Leader { source: lost }),
                () = overdue => {
                    warn!("reconciles did not end within {DRAIN:?}; what they wrote is safe, and they are repeated");
                    Ok(())
                }
            }
        };
        if let (Some(election), Ok(())) = (&mut election, &ended) {
            election.release().await;
        }
        ended
    };
    tokio::select! {
        ended = work => {
            info!("stopped");
            ended
        }
        served = server => served.context(ListenSnafu { address }),
    }
}

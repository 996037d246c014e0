//! The operator process: client, leader election, HTTP endpoints and shutdown. Performs I/O. The run controller is in
//! [`crate::run_controller`].
//!
//! One thread runs everything except evaluations, analyses and DNS lookups, so that an idle operator needs little
//! memory.

mod leader;
mod metrics_access;
mod server;
mod telemetry;

use std::net::SocketAddr;
use std::time::Duration;

use snafu::{ResultExt, Snafu};
use tracing::{info, warn};

pub(crate) use leader::LeaderError;

use crate::client::{self, ClientError};
use crate::metrics::operator::{Metrics, MetricsError};
use crate::options::{Options, Readers};
use crate::readiness::Readiness;
use crate::results::Results;
use crate::run_controller::{self, ControllerError};
use crate::shutdown::Shutdown;
use leader::Election;
use metrics_access::MetricsAccess;

/// Time allowed for reconciliations in progress to finish after a termination signal. The kubelet kills the process 30
/// s after the signal.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(20);

/// Error that prevents the operator from starting or makes it stop.
#[derive(Debug, Snafu)]
pub(crate) enum OperatorError {
    /// The async runtime could not be started.
    #[snafu(display("failed to start the async runtime: {source}"))]
    Runtime {
        /// Cause.
        source: std::io::Error,
    },
    /// Signal handlers could not be installed.
    #[snafu(display("failed to install signal handlers: {source}"))]
    Signals {
        /// Cause.
        source: std::io::Error,
    },
    /// The client could not be created.
    #[snafu(display("{source}"))]
    Client {
        /// Cause.
        source: ClientError,
    },
    /// A metric could not be registered.
    #[snafu(display("{source}"))]
    Metrics {
        /// Cause.
        source: MetricsError,
    },
    /// The listen address could not be bound.
    #[snafu(display("failed to listen on {address}: {source}. Choose another address with --listen"))]
    Listen {
        /// Listen address.
        address: SocketAddr,
        /// Cause.
        source: std::io::Error,
    },
    /// The Lease was lost. This replica must stop, because another replica may become the leader at any time.
    #[snafu(display("{source}"))]
    Leader {
        /// Cause.
        source: LeaderError,
    },
    /// The controller failed.
    #[snafu(display("{source}"))]
    Controller {
        /// Cause.
        source: ControllerError,
    },
}

/// Number of blocking threads in addition to the evaluation threads. DNS lookups also run on blocking threads, and must
/// not wait for an evaluation.
const DNS_THREADS: usize = 2;

/// Runs the operator until SIGTERM or SIGINT.
///
/// # Errors
/// Returns an error if the operator cannot start, loses leadership, or fails. The process must then exit and be
/// restarted.
pub(crate) fn run(options: Options) -> Result<(), OperatorError> {
    telemetry::start(options.log_format);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(options.evaluation_threads + DNS_THREADS)
        .build()
        .context(RuntimeSnafu)?;
    let result = runtime.block_on(operate(options));
    // The runtime does not wait for an evaluation in progress, because waiting would delay the exit.
    runtime.shutdown_background();
    result
}

async fn operate(options: Options) -> Result<(), OperatorError> {
    let mut shutdown = Shutdown::listen().context(SignalsSnafu)?;
    let metrics = Metrics::new().context(MetricsSnafu)?;
    let clients = client::build_clients(&options.limits, &metrics)
        .await
        .context(ClientSnafu)?;
    let readiness = Readiness::default();
    let address = options.listen;
    let listener = tokio::net::TcpListener::bind(address)
        .await
        .context(ListenSnafu { address })?;
    let results = Results::new(options.series.all);
    let access = match options.metrics_readers {
        Readers::Anyone => MetricsAccess::Open,
        Readers::Authorized => MetricsAccess::authorized(clients.unlimited.clone()),
    };
    let server = server::serve(
        listener,
        metrics.clone(),
        access,
        readiness.clone(),
        results.clone(),
    );
    info!(%address, version = env!("CARGO_PKG_VERSION"), namespaces = %options.namespaces, "started");
    if options.metrics_readers == Readers::Anyone && !address.ip().is_loopback() {
        warn!("everyone who can connect may read the results of all runs; set --metrics-readers=authorized");
    }

    let work = async {
        let mut election = match &options.lease {
            Some(lease) => {
                let mut election = Election::new(clients.unlimited.clone(), lease);
                readiness.set_standby();
                tokio::select! {
                    elected = election.acquire() => elected.context(LeaderSnafu)?,
                    () = shutdown.requested() => return Ok(()),
                }
                info!(lease = %lease, identity = election.identity(), "became leader");
                Some(election)
            }
            None => None,
        };
        metrics.set_leading(true);
        let controller = run_controller::run(
            &options,
            clients,
            &metrics,
            &readiness,
            &results,
            shutdown.clone(),
        );
        let result = {
            let lost = async {
                match &mut election {
                    Some(election) => election.hold().await,
                    None => std::future::pending().await,
                }
            };
            let overdue = async {
                shutdown.requested().await;
                tokio::time::sleep(DRAIN_TIMEOUT).await;
            };
            tokio::select! {
                result = controller => result.context(ControllerSnafu),
                lost = lost => Err(OperatorError::Leader { source: lost }),
                () = overdue => {
                    warn!("reconciliations did not finish within {DRAIN_TIMEOUT:?}; they will be repeated after the restart");
                    Ok(())
                }
            }
        };
        if let (Some(election), Ok(())) = (&mut election, &result) {
            election.release().await;
        }
        result
    };
    tokio::select! {
        result = work => {
            info!("stopped");
            result
        }
        served = server => served.context(ListenSnafu { address }),
    }
}

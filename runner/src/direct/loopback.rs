//! Runs both sides on this machine: this process is the client, and the server is a worker process that it starts.
//! Starts a process.

use std::cell::RefCell;
use std::env;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use crds::assignment::{Assignment, Rendezvous};
use crds::record::{CaseFailure, FailureReason};
use crds::v1alpha1::TransportSpec;

use super::assignment::{CLIENT, SERVER, assignment};
use super::measurement::{Measurement, MeasurementFlags, print_progress};
use super::records::RecordSink;
use super::request::Limits;
use super::{DirectError, variable_names_devices};
use crate::process;
use crate::rendezvous::coordinator;
use crate::worker::coordinate::Attempt;
use crate::worker::{WorkerError, facts};

/// Timeout for the rendezvous.
const RENDEZVOUS_SECONDS: u32 = 30;
/// Maximum time for the server to exit after the measurement.
const EXIT_TIMEOUT: Duration = Duration::from_secs(15);

/// Flags for a measurement on one machine.
#[derive(Clone, Debug, Args)]
pub struct LoopbackFlags {
    /// Measurement and results.
    #[command(flatten)]
    pub measurement: MeasurementFlags,
}

/// Measures the scenarios between this process and a worker process, and prints and writes the results.
///
/// # Errors
/// Returns an error if the flags are invalid, the worker cannot be started, or a scenario is not measured.
pub fn loopback(flags: &LoopbackFlags) -> Result<(), DirectError> {
    let Measurement {
        request,
        results,
        variables,
    } = flags.measurement.prepare(&Limits::default())?;
    let mut rendezvous = Rendezvous {
        host: Ipv4Addr::LOCALHOST.to_string(),
        bind: Ipv4Addr::LOCALHOST.to_string(),
        port: 0,
        timeout_seconds: RENDEZVOUS_SECONDS,
    };
    let listener = coordinator::listen(&rendezvous).map_err(rendezvous_failure)?;
    rendezvous.port = listener
        .local_addr()
        .map_err(|source| system_error("reading the socket address", source))?
        .port();
    let spec = request.transport.spec();
    let rails = match variable_names_devices(&spec) {
        true => Vec::new(),
        false => loopback_rails(&spec),
    };
    let assignment = assignment(
        &request,
        rendezvous,
        &flags.measurement.local.choices(rails, variables),
    );
    let mut sink = RecordSink::new(print_progress);
    let attempt = Attempt::new(&assignment, facts::hello(&assignment, CLIENT), &mut sink)?;
    let server = RefCell::new(Server::start(&assignment)?);
    let admitted = coordinator::wait_for_peers(
        &listener,
        &assignment.identity,
        assignment.workers,
        &assignment.rendezvous,
        || attempt.is_stopped() || server.borrow_mut().has_exited(),
    );
    let mut server = server.into_inner();
    let admitted = admitted.map_err(|error| match server.has_exited() {
        true => WorkerError::Incomplete {
            failure: CaseFailure {
                reason: FailureReason::PeerLost,
                message: "the server's worker process exited before it joined; its message is above".into(),
            },
        },
        false => rendezvous_failure(error),
    })?;
    attempt.run(admitted)?;
    server.wait();
    results.publish(&request, &sink.into_records())
}

/// Loopback addresses for the rails of an IP transport: rail `i` has the address 127.0.0.`i+1`.
fn loopback_rails(spec: &TransportSpec) -> Vec<String> {
    if spec.uses_ip() {
        (1..=spec.rails()).map(|rail| format!("127.0.0.{rail}")).collect()
    } else {
        Vec::new()
    }
}

/// Worker process of the server. It is killed if this value is dropped before the process has exited.
struct Server(Option<Child>);

impl Server {
    /// Starts this binary as the server's worker, which reads the assignment from its standard input.
    fn start(assignment: &Assignment) -> Result<Self, DirectError> {
        let start = || {
            let text = serde_json::to_vec(assignment)?;
            let mut child = Command::new(env::current_exe()?)
                .args(["worker", "--assignment", "/dev/stdin"])
                .args(["--rank", &SERVER.to_string()])
                .args(["--parent", &std::process::id().to_string()])
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .spawn()?;
            let stdin = child.stdin.take();
            let server = Self(Some(child));
            if let Some(mut stdin) = stdin {
                stdin.write_all(&text)?;
            }
            Ok(server)
        };
        start().map_err(|source| system_error("starting the server's worker process", source))
    }

    fn has_exited(&mut self) -> bool {
        let status = self.0.as_mut().map(Child::try_wait);
        matches!(status, Some(Ok(Some(_))) | None)
    }

    /// Waits for the process to exit, and kills it if it does not.
    fn wait(mut self) {
        if let Some(child) = &mut self.0
            && let Ok(Some(_)) = process::wait_until(child, Instant::now() + EXIT_TIMEOUT)
        {
            self.0 = None;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(child) = self.0.take() {
            process::kill(child);
        }
    }
}

fn rendezvous_failure(error: coordinator::RendezvousError) -> WorkerError {
    WorkerError::Incomplete {
        failure: error.failure(),
    }
}

fn system_error(action: &'static str, source: io::Error) -> DirectError {
    DirectError::System { action, source }
}

#[cfg(test)]
mod tests {
    use crds::v1alpha1::{Libfabric, LibfabricProvider, Ucx, UcxTransport};

    use super::*;

    #[test]
    fn only_ip_transports_have_addresses() {
        let tcp = TransportSpec::Ucx(Ucx::new(vec![UcxTransport::Tcp], 2));
        assert_eq!(loopback_rails(&tcp), ["127.0.0.1", "127.0.0.2"]);
        let shm = TransportSpec::Libfabric(Libfabric {
            provider: LibfabricProvider::Shm,
            rails: 1,
        });
        assert!(loopback_rails(&shm).is_empty());
    }
}

//! Target: registers a segment, waits for initiators, and serves one after another until a signal arrives. Uses TCP,
//! processes and standard output.

use std::collections::BTreeMap;
use std::env;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::time::Duration;

use clap::Args;
use crds::number::whole_number;
use crds::record::{CaseFailure, hex};
use crds::units::Size;
use crds::v1alpha1::TransportSpec;
use rustix::system::uname;

use super::assignment::assignment;
use super::bounds::{SegmentLimits, check_segment_transfer, check_time_limit, memory_names, offered_bytes};
use super::flags::SegmentFlags;
use super::initiator::host_and_port;
use super::memory;
use super::metadata::{MetadataClient, MetadataFlags, Publication, check_name};
use super::registered::RegisteredSegment;
use crate::direct::DirectError;
use crate::direct::bounds::FlagError;
use crate::direct::busy::BusyServer;
use crate::direct::current_session::CurrentSession;
use crate::direct::limits::{AcceptedScenarios, Limits};
use crate::direct::session::{Client, LocalChoices, listen, wait_for_client};
use crate::direct::transport::{segment_default, with_emulation};
use crate::rendezvous::connection_rails::variable_names_devices;
use crate::worker::signals::StopFlag;

/// Flag that names the segment.
const FLAG: &str = "--local-segment";

/// Target flags.
#[derive(Clone, Debug, Args)]
pub struct TargetFlags {
    /// Address to listen on. By default, only initiators on this machine can connect.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub addr: String,
    /// TCP port to listen on. If 0, the system chooses a free port, which is part of the segment name.
    #[arg(long, default_value_t = 0,
        allow_negative_numbers = true, value_parser = whole_number(0..=u16::MAX))]
    pub port: u16,
    /// Segment name. For p2p, it must be ADDRESS:PORT, and it sets --addr and --port. Defaults to the target's address.
    #[arg(long, value_name = "NAME")]
    pub local_segment: Option<String>,
    /// Segment of another target. As in the Transfer Engine Benchmark, an empty name means that this process is the target.
    #[arg(long, value_name = "NAME", hide = true)]
    pub remote_segment: Option<String>,
    /// Metadata service.
    #[command(flatten)]
    pub metadata: MetadataFlags,
    /// Time after which the entry in the metadata service expires if the target does not renew it, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 30,
        allow_negative_numbers = true, value_parser = whole_number(3..=3600_u64))]
    pub metadata_ttl: u64,
    /// Maximum duration of an initiator's session, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 3600,
        allow_negative_numbers = true, value_parser = whole_number(0..=u64::MAX))]
    pub time_limit: u64,
    /// Segment and workload.
    #[command(flatten)]
    pub segment: SegmentFlags,
}

/// Segment that is offered to initiators.
struct Offer<'a> {
    flags: &'a TargetFlags,
    limits: SegmentLimits,
    /// Library and transports.
    transport: TransportSpec,
    /// Address on which the target listens.
    address: SocketAddr,
    /// Address at which initiators reach the target.
    reachable_at: String,
    /// Client of the metadata service; `None` for p2p.
    metadata: Option<MetadataClient>,
    variables: BTreeMap<String, String>,
}

/// Offers a segment until a signal arrives. Connections without a valid request are rejected. Neither rejected
/// connections nor failed sessions end the target.
///
/// # Errors
/// Returns an error if the flags are invalid, the address cannot be used, or the segment cannot be registered. A signal
/// is not an error.
pub fn target(flags: &TargetFlags) -> Result<(), DirectError> {
    let variable = |name: &str| env::var(name).ok();
    let mut flags = flags.clone();
    if let Some(name) = flags.remote_segment.as_deref().filter(|name| !name.is_empty()) {
        let reason =
            format!("is `{name:.100}`, but a target offers its own segment: use the initiator subcommand");
        return Err(FlagError::new("--remote-segment", reason).into());
    }
    flags.segment.local.check_devices(flags.segment.rails)?;
    let transport = flags
        .segment
        .transport
        .transport_or(segment_default(flags.segment.rails), variable)?;
    let transport = with_emulation(transport, flags.segment.allow_emulation);
    // Contradictions between flags are reported before the network and the GPUs are used.
    flags.segment.memory()?;
    check_segment_transfer(&flags.segment.scenario())?;
    check_time_limit(flags.segment.duration, flags.time_limit)?;
    let metadata = flags.metadata.client()?;
    let session = CurrentSession::default();
    let stop = session.watch_signals()?;
    let (host, port) = listen_address(&flags, metadata.is_none())?;
    let listener = listen(&host, port)?;
    let address = listener
        .local_addr()
        .map_err(|source| system_error("reading the socket address", source))?;
    let reachable_at = reachable_address(&host, address);
    let name = match (&flags.local_segment, &metadata) {
        (Some(name), Some(_)) => name.clone(),
        _ => reachable_at.clone(),
    };
    let variables = flags.segment.transport.replaced_variables(variable);
    memory::choose(&mut flags.segment, &stop, |segment| {
        let choices = segment
            .local
            .choices(own_rails(&transport, address), variables.clone());
        assignment(segment, &transport, address, choices)
    })?;
    let offer = Offer {
        limits: SegmentLimits {
            name,
            run: run_id()?,
            bytes: offered_bytes(&flags.segment.scenario()),
            memory: flags.segment.memory()?,
            use_vram: flags.segment.scenario().use_vram,
            time_limit_seconds: flags.time_limit,
        },
        variables,
        flags: &flags,
        transport,
        address,
        reachable_at,
        metadata,
    };
    offer.run(&listener, &stop, &session)
}

impl Offer<'_> {
    fn run(
        &self,
        listener: &TcpListener,
        stop: &StopFlag,
        session: &CurrentSession,
    ) -> Result<(), DirectError> {
        let limits = Limits {
            accepted: AcceptedScenarios::Segment(self.limits.clone()),
            transport: Some(self.transport.clone()),
        };
        let mut publication = None;
        let mut is_first = true;
        while !stop.is_set() {
            let registered = match self.register(stop) {
                Err(_) if stop.is_set() => break,
                registered => registered?,
            };
            if is_first {
                publication = self.publish()?;
                self.announce(&registered)?;
                is_first = false;
            }
            print("ready; Ctrl-C to stop")?;
            let mut lost = None;
            let client = wait_for_client(listener, &limits, || {
                lost = registered.loss_reason();
                !stop.is_set() && lost.is_none()
            });
            if let Some(failure) = lost {
                return Err(DirectError::Segment { failure });
            }
            registered.deregister().map_err(segment_error)?;
            print(&format!("deregistered segment {}", self.limits.name))?;
            if let Some(client) = client {
                self.serve(client, listener, stop, session)?;
            }
        }
        if let Some(Err(error)) = publication.map(Publication::end) {
            // If standard error is closed, the failure cannot be reported.
            let _ = writeln!(
                io::stderr(),
                "the entry of segment {} cannot be removed, and expires within {} s: {error}",
                self.limits.name,
                self.flags.metadata_ttl
            );
        }
        print("stopped by a signal")
    }

    /// Publishes the segment in the metadata service; `None` for p2p.
    fn publish(&self) -> Result<Option<Publication>, DirectError> {
        let Some(metadata) = self.metadata.clone() else {
            return Ok(None);
        };
        let service = metadata.display_name();
        let SegmentLimits { name, run, .. } = &self.limits;
        let publication = Publication::new(metadata, name, run, &self.reachable_at, self.flags.metadata_ttl)?;
        print(&format!("published segment {name} of run {run} in {service}"))?;
        Ok(Some(publication))
    }

    /// Registers the segment with the target's settings.
    fn register(&self, stop: &StopFlag) -> Result<RegisteredSegment, DirectError> {
        let choices = self.choices(own_rails(&self.transport, self.address));
        let assignment = assignment(&self.flags.segment, &self.transport, self.address, choices)?;
        RegisteredSegment::new(&assignment, stop).map_err(segment_error)
    }

    fn choices(&self, rails: Vec<String>) -> LocalChoices {
        self.flags.segment.local.choices(rails, self.variables.clone())
    }

    /// Prints the segment and the initiator command.
    fn announce(&self, registered: &RegisteredSegment) -> Result<(), DirectError> {
        let library = registered.facts.library.as_ref();
        let library = library.map_or_else(String::new, |library| {
            format!("{} {}, ", library.name, library.version)
        });
        print(&format!(
            "segment {}: {} threads with {} requests of {}, {} memory, {} bytes registered in {:.3} ms with {library}\
             provider {}; an initiator may use up to {}",
            self.limits.name,
            self.flags.segment.threads,
            self.flags.segment.batch,
            self.flags.segment.size,
            memory_names(self.limits.memory, self.limits.use_vram),
            registered.cold.registered_bytes,
            registered.cold.registration_nanos as f64 / 1e6,
            registered.facts.provider,
            Size(self.limits.bytes)
        ))?;
        print(&format!("listening on {}", self.address))?;
        let nodes = &registered.facts.thread_numa_nodes;
        if !nodes.is_empty() {
            print(&format!("NUMA node of each thread: {nodes:?}"))?;
        }
        let gpus: Vec<&str> = registered.facts.gpus().into_iter().collect();
        if !gpus.is_empty() {
            print(&format!("GPUs: {}", gpus.join(", ")))?;
        }
        print("start the initiator with:")?;
        let command = self.flags.segment.initiator_command(
            &self.limits.name,
            &self.transport,
            &self.flags.metadata.arguments(),
        );
        print(&format!("  {command}"))
    }

    /// Serves one initiator. A session failure is reported, and the target continues.
    fn serve(
        &self,
        mut client: Client,
        listener: &TcpListener,
        stop: &StopFlag,
        session: &CurrentSession,
    ) -> Result<(), DirectError> {
        print(&format!("initiator {}", client.address))?;
        client.complete(self.address, |rails| self.choices(rails));
        let _busy = BusyServer::start(listener, &client.address)
            .map_err(|source| system_error("starting a thread", source))?;
        let limit = Duration::from_secs(self.flags.time_limit);
        match session.run(stop, |events| client.serve(limit, events, stop)) {
            Ok(()) => print("the initiator has finished"),
            Err(_) if stop.is_set() => Ok(()),
            Err(error) => {
                // If standard error is closed, the failure cannot be reported.
                let _ = writeln!(io::stderr(), "the session failed: {error}");
                Ok(())
            }
        }
    }
}

/// Rails of the target's own segment; empty if the library chooses them.
fn own_rails(transport: &TransportSpec, address: SocketAddr) -> Vec<String> {
    // An IP transport uses the interface that has the target's listening address, if the target listens on a specific
    // address.
    match address.ip() {
        _ if variable_names_devices(transport) => Vec::new(),
        IpAddr::V4(address) if transport.uses_ip() && transport.rails() == 1 && !address.is_unspecified() => {
            vec![address.to_string()]
        }
        _ => Vec::new(),
    }
}

/// Creates a random identifier of the target's run.
///
/// # Errors
/// Returns an error if the system provides no random bytes.
fn run_id() -> Result<String, DirectError> {
    let mut bytes = [0; 16];
    let read = rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty());
    match read {
        Ok(16) => Ok(hex(&bytes)),
        Ok(_) => Err(system_error(
            "reading random bytes",
            io::ErrorKind::UnexpectedEof.into(),
        )),
        Err(error) => Err(system_error("reading random bytes", error.into())),
    }
}

/// Host and port on which the target listens.
///
/// # Errors
/// Returns an error if the segment name is invalid.
fn listen_address(flags: &TargetFlags, is_p2p: bool) -> Result<(String, u16), FlagError> {
    match &flags.local_segment {
        Some(name) if is_p2p => return host_and_port(FLAG, name),
        Some(name) => check_name(name).map_err(|reason| FlagError::new(FLAG, reason))?,
        None => {}
    }
    Ok((flags.addr.clone(), flags.port))
}

/// Address at which initiators reach the target, which is also the default segment name.
fn reachable_address(host: &str, address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        return format!("{}:{}", uname().nodename().to_string_lossy(), address.port());
    }
    match address.ip() {
        IpAddr::V6(_) => address.to_string(),
        IpAddr::V4(_) => format!("{host}:{}", address.port()),
    }
}

fn segment_error(failure: CaseFailure) -> DirectError {
    DirectError::Segment { failure }
}

fn print(line: &str) -> Result<(), DirectError> {
    crate::direct::print(line).map_err(|source| system_error("writing to standard output", source))
}

fn system_error(action: &'static str, source: io::Error) -> DirectError {
    DirectError::System { action, source }
}

//! Initiator: measures batches of requests to a target's segment, and prints and writes the results. Starts a program, and
//! uses metadata services.

use std::env;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use clap::Args;
use crds::number::whole_number;

use super::assignment::assignment;
use super::bounds::check_segment_transfer;
use super::flags::SegmentFlags;
use super::memory;
use super::metadata::{MetadataFlags, check_name};
use crate::direct::DirectError;
use crate::direct::bounds::FlagError;
use crate::direct::campaign::Measurement;
use crate::direct::flags::OutputFlags;
use crate::direct::transport::{segment_default, with_emulation};
use crate::rendezvous::proposal::ExpectedSegment;
use crate::rendezvous::server::Server;
use crate::worker::signals::StopFlag;

/// Flag that names the segment.
const FLAG: &str = "--remote-segment";
/// Address of a process that connects to no other.
const THIS_MACHINE: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0));

/// Initiator flags.
#[derive(Clone, Debug, Args)]
pub struct InitiatorFlags {
    /// Segment name, as printed by the target. For p2p, it is ADDRESS:PORT.
    #[arg(long, value_name = "NAME")]
    pub remote_segment: String,
    /// Name of the initiator's own segment in the Transfer Engine Benchmark. It has no effect.
    #[arg(long, value_name = "NAME", hide = true)]
    pub local_segment: Option<String>,
    /// Metadata service.
    #[command(flatten)]
    pub metadata: MetadataFlags,
    /// Time to wait for the target to listen and to finish with other initiators, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10,
        allow_negative_numbers = true, value_parser = whole_number(0..=86_400_u64))]
    pub connect_timeout: u64,
    /// Segment and workload.
    #[command(flatten)]
    pub segment: SegmentFlags,
    /// Destinations of the results.
    #[command(flatten)]
    pub output: OutputFlags,
}

/// Measures the workload together with a target, and prints and writes the results. Returns only on errors.
///
/// # Errors
/// Returns an error if the flags are invalid, the metadata service has no valid entry, or the measurement cannot be
/// started.
pub fn initiator(flags: &InitiatorFlags) -> Result<(), DirectError> {
    let variable = |name: &str| env::var(name).ok();
    let mut segment = flags.segment.clone();
    segment.local.check_devices(segment.rails)?;
    if flags
        .local_segment
        .as_deref()
        .is_some_and(|name| !name.is_empty())
    {
        // The note is lost if standard error is closed.
        let _ = writeln!(
            io::stderr(),
            "--local-segment has no effect on an initiator: only a target publishes a segment"
        );
    }
    let transport = segment
        .transport
        .transport_or(segment_default(segment.rails), variable)?;
    // Contradictions between flags are reported before the network and the GPUs are used.
    segment.memory()?;
    check_segment_transfer(&segment.scenario())?;
    let variables = segment.transport.replaced_variables(variable);
    memory::choose(&mut segment, &StopFlag::default(), |segment| {
        let choices = segment.local.choices(Vec::new(), variables.clone());
        let transport = with_emulation(transport.clone(), segment.allow_emulation);
        assignment(segment, &transport, THIS_MACHINE, choices)
    })?;
    let name = &flags.remote_segment;
    let (address, expected) = match flags.metadata.client()? {
        None => (host_and_port(FLAG, name)?, None),
        Some(metadata) => {
            check_name(name).map_err(|reason| FlagError::new(FLAG, reason))?;
            let entry = metadata.find(name)?;
            let address = host_and_port("the address in the metadata service", &entry.address)?;
            let expected = ExpectedSegment {
                name: entry.segment,
                run: entry.run,
            };
            (address, Some(expected))
        }
    };
    Measurement {
        name: super::NAME,
        transport: &with_emulation(transport, segment.allow_emulation),
        transport_flags: &segment.transport,
        scenarios: vec![segment.run_scenario()?],
        case_timeout_seconds: segment.case_timeout_seconds(),
        local: &segment.local,
        output: &flags.output,
        server: Some(Server {
            addresses: vec![address],
            timeout_seconds: flags.connect_timeout,
            role: "target".to_owned(),
            segment: expected,
        }),
    }
    .execute()
}

/// Splits `text`, the value of `flag`, into host and port.
///
/// # Errors
/// Returns an error if it is not of the form ADDRESS:PORT.
pub(super) fn host_and_port(flag: &'static str, text: &str) -> Result<(String, u16), FlagError> {
    let parsed = text.rsplit_once(':').and_then(|(host, port)| {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        Some((host.to_owned(), port.parse().ok()?)).filter(|_| !host.is_empty())
    });
    parsed.ok_or_else(|| {
        let reason = format!(
            "is `{text:.100}`: use ADDRESS:PORT, such as 192.168.1.10:17777, or, for a free name, the same --metadata-type and \
             --metadata-servers on both sides"
        );
        FlagError::new(flag, reason)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_an_address_with_a_port() {
        let parse = |text| host_and_port("--remote-segment", text).map_err(|error| error.to_string());
        assert_eq!(parse("node-1:80"), Ok(("node-1".to_owned(), 80)));
        assert_eq!(parse("[::1]:80"), Ok(("::1".to_owned(), 80)));
        for wrong in ["", "node", "node:", ":80", "node:66000"] {
            let error = parse(wrong).unwrap_err();
            assert!(
                error.contains("use ADDRESS:PORT") && error.contains("--metadata-type"),
                "{error}"
            );
        }
    }
}

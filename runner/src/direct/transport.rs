//! Library and transports that flags select. Performs no I/O.

use crds::v1alpha1::{Libfabric, LibfabricProvider, TransportSpec, Ucx, UcxEmulation, UcxTransport};

/// Transport of the Starway benchmark suite if neither `--tls` nor `UCX_TLS` is set: UCX chooses.
pub fn suite_default(rails: u32) -> TransportSpec {
    TransportSpec::Ucx(Ucx::new(vec![UcxTransport::All], rails))
}

/// Transport of a segment if no flag selects one. It is the same on every machine, so that the two roles always agree, and
/// it needs no device.
pub fn segment_default(rails: u32) -> TransportSpec {
    TransportSpec::Libfabric(Libfabric {
        provider: LibfabricProvider::Tcp,
        rails,
    })
}

/// `transport`, in which UCX may emulate reads and writes with messages if `allowed` is true.
pub fn with_emulation(transport: TransportSpec, allowed: bool) -> TransportSpec {
    match transport {
        TransportSpec::Ucx(spec) if allowed => TransportSpec::Ucx(Ucx {
            emulation: UcxEmulation::Allow,
            ..spec
        }),
        transport => transport,
    }
}

/// The flag that selects the transport and its value, such as `--tls rc,sm` or `--provider tcp`.
pub fn flag(transport: &TransportSpec) -> String {
    match transport {
        TransportSpec::Ucx(ucx) => format!("--tls {}", transport_names(&ucx.transports)),
        TransportSpec::Libfabric(libfabric) => format!("--provider {}", libfabric.provider.name()),
        other => format!("--library {}", other.library()),
    }
}

/// Whether flags can select `transport`: it has no settings of its own.
pub fn is_selected_by_flags(transport: &TransportSpec) -> bool {
    match transport {
        TransportSpec::Ucx(ucx) => {
            let plain = TransportSpec::Ucx(Ucx::new(ucx.transports.clone(), ucx.rails));
            let allows_emulation = ucx.emulation == UcxEmulation::Allow;
            (1..=8).contains(&ucx.transports.len()) && *transport == with_emulation(plain, allows_emulation)
        }
        TransportSpec::Libfabric(_) => true,
        _ => false,
    }
}

/// Whether both select the same library and transports, in any order.
pub fn is_same(one: &TransportSpec, other: &TransportSpec) -> bool {
    match (one, other) {
        (TransportSpec::Ucx(one), TransportSpec::Ucx(other)) => {
            one.transports
                .iter()
                .all(|found| other.transports.contains(found))
                && other
                    .transports
                    .iter()
                    .all(|found| one.transports.contains(found))
        }
        (TransportSpec::Libfabric(one), TransportSpec::Libfabric(other)) => one.provider == other.provider,
        _ => false,
    }
}

/// Names of `transports`, in the format of `UCX_TLS`.
pub fn transport_names(transports: &[UcxTransport]) -> String {
    let names: Vec<_> = transports.iter().map(|transport| transport.name()).collect();
    names.join(",")
}

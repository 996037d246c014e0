//! Determines which RMA operations UCX emulates with messages, which the target's CPU executes. Performs no I/O.
//!
//! UCX has two generations of protocols. The first (the default up to 1.15) uses one lane for RMA, which must support
//! short and buffered writes and buffered reads; without such a lane, every RMA operation is emulated. The second
//! selects the protocol with the best estimated speed for each operation and size. At some sizes, it may select an
//! emulated protocol even when a lane supports the operation. Since 1.21, `UCX_PROTO_EMULATION_ENABLE=n` excludes the
//! emulated protocols.

use super::lanes::Lane;
use crds::v1alpha1::Answer;

/// Protocols that the library uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport::ucx) enum Protocols {
    /// First generation.
    First,
    /// Second generation.
    Second {
        /// Whether the emulated protocols are excluded.
        emulation_excluded: bool,
    },
}

impl Protocols {
    /// Determines the protocols from the effective configuration, as printed by `ucp_config_print`.
    pub(in crate::transport::ucx) fn from_configuration(configuration: &str) -> Self {
        let is = |setting: &str, value| {
            configuration
                .lines()
                .any(|line| line.trim().strip_prefix(setting) == Some(value))
        };
        if is("UCX_PROTO_ENABLE=", "y") {
            Self::Second {
                emulation_excluded: is("UCX_PROTO_EMULATION_ENABLE=", "n"),
            }
        } else {
            Self::First
        }
    }
}

/// Direction of an RMA operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rma {
    /// `ucp_put_nbx`.
    Write,
    /// `ucp_get_nbx`.
    Read,
}

/// Properties of endpoints and memory that determine whether UCX emulates an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport::ucx) struct Conditions {
    /// Protocols that the library uses.
    pub protocols: Protocols,
    /// Whether the endpoints use the `peer` error handling mode.
    pub reports_peer_loss: bool,
    /// Whether UCX allocates the memory.
    pub library_memory: bool,
}

/// Whether UCX emulates the RMA operations between host buffers with one peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport::ucx) struct EndpointEmulation {
    /// Whether reads are emulated on any rail.
    pub reads: Answer,
    /// Whether writes are emulated on any rail.
    pub writes: Answer,
}

impl EndpointEmulation {
    /// Determines the emulation from the lanes of each rail's endpoint. A lane is considered only for its own endpoint.
    pub(in crate::transport::ucx) fn new(conditions: Conditions, rails: &[Vec<Lane>]) -> Self {
        let any = |operation| {
            let answers = rails.iter().map(|lanes| emulation(conditions, lanes, operation));
            answers.reduce(Answer::or).unwrap_or(Answer::Unknown)
        };
        Self {
            reads: any(Rma::Read),
            writes: any(Rma::Write),
        }
    }
}

/// Whether UCX emulates the operation between host buffers over these lanes; `Unknown` if the lanes are unknown.
fn emulation(conditions: Conditions, lanes: &[Lane], operation: Rma) -> Answer {
    if lanes.is_empty() {
        return Answer::Unknown;
    }
    let supported = lanes
        .iter()
        .any(|lane| supports(conditions, &lane.transport, operation));
    // UCX allocates memory that posix or sysv can access, unless the system has too little of it.
    let may_be_supported = conditions.library_memory
        && lanes
            .iter()
            .any(|lane| matches!(lane.transport.as_str(), "posix" | "sysv"));
    match conditions.protocols {
        _ if !supported && !may_be_supported => Answer::True,
        Protocols::Second {
            emulation_excluded: true,
        } => Answer::False,
        Protocols::First if supported => Answer::False,
        Protocols::First | Protocols::Second { .. } => Answer::Unknown,
    }
}

/// Whether the transport executes the operation on memory that the application allocated. The posix and sysv transports
/// access only memory that UCX allocated.
fn supports(conditions: Conditions, transport: &str, operation: Rma) -> bool {
    if transport.starts_with("rc_") || transport.starts_with("dc_") || transport == "xpmem" {
        return true;
    }
    match (conditions.protocols, transport) {
        (Protocols::Second { .. }, "cma" | "knem" | "cuda_ipc") => true,
        // Sockets support a write that needs no buffer at the target, but no read. UCX 1.22 does not use this write in
        // the `peer` error handling mode (`UCX_PROTO_INFO=y ucx_perftest -e -t ucp_put_bw` shows "software emulation").
        (Protocols::Second { .. }, "tcp") => operation == Rma::Write && !conditions.reports_peer_loss,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXCLUDED: Protocols = Protocols::Second {
        emulation_excluded: true,
    };
    const DEFAULT: Protocols = Protocols::Second {
        emulation_excluded: false,
    };

    fn lanes(transports: &[&str]) -> Vec<Lane> {
        let lane = |transport: &&str| Lane {
            transport: (*transport).to_owned(),
            device: "d".to_owned(),
        };
        transports.iter().map(lane).collect()
    }

    #[test]
    fn reads_the_protocol_generation_from_the_configuration() {
        let protocols = |text| Protocols::from_configuration(text);
        assert_eq!(protocols("UCX_TLS=tcp\nUCX_PROTO_ENABLE=n\n"), Protocols::First);
        assert_eq!(
            protocols("UCX_PROTO_ENABLE=y\nUCX_PROTO_EMULATION_ENABLE=y\n"),
            DEFAULT
        );
        assert_eq!(
            protocols("UCX_PROTO_ENABLE=y\nUCX_PROTO_EMULATION_ENABLE=n\n"),
            EXCLUDED
        );
    }

    fn conditions(protocols: Protocols) -> Conditions {
        Conditions {
            protocols,
            reports_peer_loss: false,
            library_memory: false,
        }
    }

    fn emulation_without_peer_loss(protocols: Protocols, lanes: &[Lane], operation: Rma) -> Answer {
        emulation(conditions(protocols), lanes, operation)
    }

    #[test]
    fn library_memory_may_be_accessed_directly() {
        let with_library_memory = |protocols, transports: &[&str]| {
            let conditions = Conditions {
                library_memory: true,
                ..conditions(protocols)
            };
            emulation(conditions, &lanes(transports), Rma::Write)
        };
        assert_eq!(with_library_memory(Protocols::First, &["posix"]), Answer::Unknown);
        assert_eq!(with_library_memory(Protocols::First, &["tcp"]), Answer::True);
        assert_eq!(
            with_library_memory(Protocols::First, &["rc_verbs"]),
            Answer::False
        );
        assert_eq!(with_library_memory(DEFAULT, &["sysv"]), Answer::Unknown);
        assert_eq!(with_library_memory(EXCLUDED, &["sysv"]), Answer::False);
        assert_eq!(
            emulation_without_peer_loss(EXCLUDED, &lanes(&["sysv"]), Rma::Write),
            Answer::True
        );
    }

    #[test]
    fn tcp_writes_are_emulated_if_peer_loss_is_reported() {
        let writes = |reports_peer_loss, transport| {
            let conditions = Conditions {
                reports_peer_loss,
                ..conditions(EXCLUDED)
            };
            emulation(conditions, &lanes(&[transport]), Rma::Write)
        };
        assert_eq!(writes(true, "tcp"), Answer::True);
        assert_eq!(writes(false, "tcp"), Answer::False);
        assert_eq!(writes(true, "rc_mlx5"), Answer::False);
    }

    #[test]
    fn tcp_reads_are_always_emulated() {
        for protocols in [Protocols::First, DEFAULT, EXCLUDED] {
            assert_eq!(
                emulation_without_peer_loss(protocols, &lanes(&["tcp"]), Rma::Read),
                Answer::True,
                "{protocols:?}"
            );
        }
        assert_eq!(
            emulation_without_peer_loss(Protocols::First, &lanes(&["tcp"]), Rma::Write),
            Answer::True
        );
        assert_eq!(
            emulation_without_peer_loss(EXCLUDED, &lanes(&["tcp"]), Rma::Write),
            Answer::False
        );
    }

    #[test]
    fn a_lane_is_considered_only_for_its_own_endpoint() {
        use Answer::{False, True, Unknown};
        let endpoint = |rails: &[&[&str]]| {
            let rails: Vec<_> = rails.iter().map(|transports| lanes(transports)).collect();
            let EndpointEmulation { reads, writes } = EndpointEmulation::new(conditions(EXCLUDED), &rails);
            (reads, writes)
        };
        assert_eq!(endpoint(&[&["tcp"]]), (True, False));
        assert_eq!(endpoint(&[&["cma", "posix"]]), (False, False));
        // The first rail cannot use the kernel copy of the second rail.
        assert_eq!(endpoint(&[&["tcp"], &["cma"]]), (True, False));
        assert_eq!(endpoint(&[&["posix"], &["cma"]]), (True, True));
        assert_eq!(endpoint(&[&["cma"], &[]]), (Unknown, Unknown));
    }

    #[test]
    fn operations_that_may_be_emulated_at_some_sizes_are_unknown() {
        assert_eq!(
            emulation_without_peer_loss(DEFAULT, &lanes(&["tcp"]), Rma::Write),
            Answer::Unknown
        );
        assert_eq!(
            emulation_without_peer_loss(EXCLUDED, &[], Rma::Write),
            Answer::Unknown
        );
    }

    #[test]
    fn application_memory_over_shared_memory_needs_a_kernel_copy() {
        let both = lanes(&["posix", "cma"]);
        assert_eq!(
            emulation_without_peer_loss(Protocols::First, &both, Rma::Read),
            Answer::True
        );
        assert_eq!(
            emulation_without_peer_loss(EXCLUDED, &both, Rma::Read),
            Answer::False
        );
        assert_eq!(
            emulation_without_peer_loss(EXCLUDED, &lanes(&["posix"]), Rma::Read),
            Answer::True
        );
        assert_eq!(
            emulation_without_peer_loss(Protocols::First, &lanes(&["rc_verbs"]), Rma::Read),
            Answer::False
        );
    }
}

//! Rules for the protocols that a library reported for the messages of one arm. Performs no I/O.

use crate::record::ProtocolUse;
use crate::v1alpha1::{
    Answer, MemoryKind, NixlBackend, TransferOperation, TransportSpec, Ucx, UcxEmulation, UcxMessages,
};

/// Start of UCX's description of a protocol that emulates RMA with messages.
const EMULATION: &str = "software emulation";

/// Protocols that the library used for an arm.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportedProtocols {
    /// The protocols. Empty if the library does not report them.
    pub uses: Vec<ProtocolUse>,
    /// Number of protocols that the records omit.
    pub omitted: u64,
}

/// Protocols that served an operation with chunks of certain lengths.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServingProtocols {
    /// The protocols. Empty if the library does not report them.
    pub protocols: Vec<ProtocolUse>,
    /// Whether every chunk has a protocol that shows how the library transfers it. A chunk may have none, because the
    /// library does not count all messages.
    pub covers_all_chunks: bool,
}

/// Returns the protocols in `reported` that served `operation` on this kind of memory with chunks of these lengths, in
/// bytes. The library selects protocols by the kind of memory. The counts include messages of other sizes for which the
/// library selects the same protocol.
pub fn serving(
    reported: &ReportedProtocols,
    transport: &TransportSpec,
    operation: TransferOperation,
    memory: MemoryKind,
    chunks: [u64; 2],
) -> ServingProtocols {
    let Some(function) = function_name(transport, operation) else {
        return ServingProtocols::default();
    };
    let serves = |protocol: &ProtocolUse, bytes: &u64| {
        protocol.function == function && applies_to_memory(protocol, memory) && protocol.covers(*bytes)
    };
    let used = reported
        .uses
        .iter()
        .filter(|protocol| chunks.iter().any(|bytes| serves(protocol, bytes)));
    ServingProtocols {
        protocols: used.cloned().collect(),
        // NIXL's backends do not report how they transfer the data of a request. An omitted protocol may be an
        // emulation.
        covers_all_chunks: matches!(transport, TransportSpec::Ucx(_))
            && reported.omitted == 0
            && chunks
                .iter()
                .all(|bytes| reported.uses.iter().any(|protocol| serves(protocol, bytes))),
    }
}

/// Whether the library may select `protocol` for this kind of memory. Always true if the library does not report the
/// kind.
fn applies_to_memory(protocol: &ProtocolUse, memory: MemoryKind) -> bool {
    let on_gpu = memory == MemoryKind::Cuda;
    protocol
        .memory
        .as_deref()
        .is_none_or(|kind| (kind != "host") == on_gpu)
}

/// Name of the function that transfers data, as reported by the library; `None` if the library does not report it.
fn function_name(transport: &TransportSpec, operation: TransferOperation) -> Option<&'static str> {
    use TransferOperation::{Read, Send, Write, WriteImmediate};
    match (transport, operation) {
        (TransportSpec::Ucx(ucx), Send) => Some(match ucx.messages {
            UcxMessages::Tag => "ucp_tag_send",
            UcxMessages::ActiveMessage => "ucp_am_send",
        }),
        (TransportSpec::Ucx(_), Write | WriteImmediate) => Some("ucp_put"),
        (TransportSpec::Ucx(_), Read) => Some("ucp_get"),
        (TransportSpec::Nixl(_), Write | WriteImmediate) => Some("nixl WRITE"),
        (TransportSpec::Nixl(_), Read) => Some("nixl READ"),
        (TransportSpec::Nixl(_), Send) => None,
        (TransportSpec::Loopback(_) | TransportSpec::Libfabric(_) | TransportSpec::Verbs(_), _) => None,
    }
}

/// Refines `answer`, which says whether the lanes emulate RMA operations, using the protocols that served the
/// operations. The result is true if any of these protocols is an emulation. An unknown answer becomes false only if
/// every chunk has a protocol.
pub fn refine_emulation(answer: Answer, found: &ServingProtocols) -> Answer {
    match answer {
        _ if found.protocols.iter().any(is_emulation) => Answer::True,
        Answer::Unknown if found.covers_all_chunks => Answer::False,
        known => known,
    }
}

fn is_emulation(protocol: &ProtocolUse) -> bool {
    protocol.description.starts_with(EMULATION)
}

/// Refines `answer`, which says whether GPU memory is copied through host memory, using the protocols that served the
/// operations. The result is true if any of these protocols copies through host memory. An unknown answer becomes false
/// only if every chunk has a protocol, and none of them does.
pub fn refine_staging(answer: Answer, found: &ServingProtocols) -> Answer {
    let of_protocols = found.protocols.iter().map(staging).reduce(Answer::or);
    match (answer, of_protocols) {
        (_, Some(Answer::True)) => Answer::True,
        (Answer::Unknown, Some(Answer::False)) if found.covers_all_chunks => Answer::False,
        (known, _) => known,
    }
}

/// Whether a UCX protocol copies GPU memory through host memory.
///
/// Protocols that copy the data at either end use buffers in host memory, as do fragments with the description
/// `frag host`. Sockets and shared memory transfer host memory only. The cuda_ipc transport and RDMA devices transfer
/// GPU memory directly.
fn staging(protocol: &ProtocolUse) -> Answer {
    let description = protocol.description.as_str();
    let copies = ["copy-in", "copy-out", "frag host"];
    if is_emulation(protocol) || copies.iter().any(|copy| description.contains(copy)) {
        return Answer::True;
    }
    let lanes: Vec<_> = transports(&protocol.lanes).collect();
    let is_direct = |lane: &&str| *lane == "cuda_ipc" || lane.starts_with("rc_") || lane.starts_with("dc_");
    let is_host_only = |lane: &&str| matches!(*lane, "tcp" | "posix" | "sysv" | "cma" | "knem" | "xpmem");
    if lanes.iter().any(is_host_only) {
        Answer::True
    } else if description.contains("zero-copy") && !lanes.is_empty() && lanes.iter().all(is_direct) {
        Answer::False
    } else {
        Answer::Unknown
    }
}

/// Describes a protocol in `reported` that the spec excludes: it uses a transport that was not requested, or emulates
/// RMA operations although emulation is denied.
pub fn excluded(reported: &[ProtocolUse], ucx: &Ucx) -> Option<String> {
    let other_transport = |lane: &str| !ucx.transports.iter().any(|requested| requested.serves(lane));
    reported.iter().find_map(|protocol| {
        let ProtocolUse {
            function,
            description,
            lanes,
            ..
        } = protocol;
        if transports(lanes).any(other_transport) {
            return Some(format!(
                "{function} used the protocol \"{description}\" over {lanes}"
            ));
        }
        (ucx.emulation == UcxEmulation::Deny && is_emulation(protocol))
            .then(|| format!("{function} used {description}, which spec.transport.ucx.emulation denies"))
    })
}

/// Describes requests in `reported` that a NIXL backend other than `backend` served. Requests whose backend NIXL did
/// not report are ignored.
pub fn other_backend(reported: &[ProtocolUse], backend: NixlBackend) -> Option<String> {
    let other = |protocol: &&ProtocolUse| protocol.lanes != backend.name() && protocol.lanes != "unknown";
    reported.iter().find(other).map(|protocol| {
        format!(
            "{} was served by {} instead of {}",
            protocol.function,
            protocol.lanes,
            backend.name()
        )
    })
}

/// Names of the transports in UCX's description of lanes, such as `50% on tcp/lo and 50% on rc_mlx5/mlx5_0:1`.
fn transports(lanes: &str) -> impl Iterator<Item = &str> {
    let words = lanes.split([' ', ',']);
    words
        .filter_map(|word| word.split_once('/'))
        .map(|(transport, _)| transport)
}

#[cfg(test)]
mod tests {
    use crate::v1alpha1::{Loopback, UcxTransport};

    use super::*;

    fn protocol(function: &str, to_bytes: Option<u64>, description: &str, lanes: &str) -> ProtocolUse {
        ProtocolUse {
            function: function.to_owned(),
            from_bytes: 1,
            to_bytes,
            memory: None,
            description: description.to_owned(),
            lanes: lanes.to_owned(),
            count: 9,
            steps: None,
        }
    }

    #[test]
    fn selects_the_protocols_of_the_operation_and_of_its_chunks() {
        let ucx = TransportSpec::Ucx(Ucx::new(vec![UcxTransport::Tcp], 2));
        let mut reported = ReportedProtocols {
            uses: vec![
                protocol("ucp_put", Some(100), "zero-copy", "tcp/lo"),
                protocol("ucp_put", Some(4096), "short", "tcp/lo"),
                protocol("ucp_get", None, EMULATION, "tcp/lo"),
            ],
            omitted: 0,
        };
        let found = |operation, chunk, last| {
            let found = serving(&reported, &ucx, operation, MemoryKind::Heap, [chunk, last]);
            let descriptions = found.protocols.into_iter().map(|one| one.description);
            (descriptions.collect::<Vec<_>>(), found.covers_all_chunks)
        };
        let expected = |descriptions: &[&str], covers_all| {
            let owned = descriptions.iter().map(|&one| one.to_owned());
            (owned.collect::<Vec<_>>(), covers_all)
        };
        assert_eq!(
            found(TransferOperation::Write, 4096, 64),
            expected(&["zero-copy", "short"], true)
        );
        assert_eq!(
            found(TransferOperation::WriteImmediate, 4096, 4096),
            expected(&["short"], true)
        );
        assert_eq!(
            found(TransferOperation::Write, 8192, 64),
            expected(&["zero-copy", "short"], false)
        );
        assert_eq!(found(TransferOperation::Write, 8192, 8192), expected(&[], false));
        assert_eq!(
            found(TransferOperation::Read, 8192, 8192),
            expected(&[EMULATION], true)
        );
        reported.uses.push(ProtocolUse {
            memory: Some("cuda".to_owned()),
            ..protocol("ucp_put", Some(4096), EMULATION, "tcp/lo")
        });
        let on = |memory| {
            let found = serving(&reported, &ucx, TransferOperation::Write, memory, [4096, 4096]);
            refine_emulation(Answer::Unknown, &found)
        };
        assert_eq!(
            (on(MemoryKind::Heap), on(MemoryKind::Cuda)),
            (Answer::False, Answer::True)
        );
        reported.omitted = 1;
        let write = serving(
            &reported,
            &ucx,
            TransferOperation::Write,
            MemoryKind::Heap,
            [4096, 64],
        );
        assert_eq!((write.protocols.len(), write.covers_all_chunks), (2, false));
        let loopback = TransportSpec::Loopback(Loopback { rails: 1 });
        let none = serving(
            &reported,
            &loopback,
            TransferOperation::Read,
            MemoryKind::Heap,
            [1, 1],
        );
        assert_eq!(none, ServingProtocols::default());
    }

    #[test]
    fn served_protocols_settle_an_unknown_answer() {
        let with = |description, covers_all_chunks| ServingProtocols {
            protocols: vec![protocol("ucp_put", None, description, "tcp/lo")],
            covers_all_chunks,
        };
        for answer in [Answer::True, Answer::Unknown, Answer::False] {
            assert_eq!(refine_emulation(answer, &ServingProtocols::default()), answer);
            assert_eq!(refine_emulation(answer, &with(EMULATION, false)), Answer::True);
        }
        let direct = with("zero-copy", true);
        assert_eq!(refine_emulation(Answer::Unknown, &direct), Answer::False);
        // The lanes can only emulate the operation, so a report of a direct protocol does not change the answer.
        assert_eq!(refine_emulation(Answer::True, &direct), Answer::True);
        assert_eq!(
            refine_emulation(Answer::Unknown, &with("short", false)),
            Answer::Unknown
        );
    }

    /// Protocols that UCX 1.22.0 reported for GPU memory on an H100, with and without the cuda_ipc transport.
    #[test]
    fn protocols_show_whether_gpu_memory_is_staged() {
        for (description, lanes, expected) in [
            (EMULATION, "sysv/memory", Answer::True),
            (EMULATION, "tcp/lo", Answer::True),
            (
                "rendezvous cuda_copy, copy to attached, frag host, cuda_copy, frag host",
                "",
                Answer::True,
            ),
            ("multi-frag eager copy-in copy-out", "tcp/lo", Answer::True),
            ("zero-copy", "cuda_ipc/cuda", Answer::False),
            (
                "rendezvous zero-copy flushed write to remote",
                "cuda_ipc/cuda",
                Answer::False,
            ),
            // These were not reported on the H100.
            (
                "zero-copy",
                "50% on rc_mlx5/mlx5_0:1 and 50% on rc_mlx5/mlx5_1:1",
                Answer::False,
            ),
            (
                "zero-copy",
                "50% on rc_mlx5/mlx5_0:1 and 50% on cma/memory",
                Answer::True,
            ),
            (
                "rendezvous zero-copy read from remote",
                "gdr/gpu",
                Answer::Unknown,
            ),
            ("short", "rc_mlx5/mlx5_0:1", Answer::Unknown),
        ] {
            let with = |covers_all_chunks| ServingProtocols {
                protocols: vec![protocol("ucp_put", None, description, lanes)],
                covers_all_chunks,
            };
            assert_eq!(
                staging(&with(true).protocols[0]),
                expected,
                "{description} {lanes}"
            );
            assert_eq!(refine_staging(Answer::Unknown, &with(true)), expected);
            let partly = match expected {
                Answer::False => Answer::Unknown,
                other => other,
            };
            assert_eq!(refine_staging(Answer::Unknown, &with(false)), partly);
            assert_eq!(refine_staging(Answer::True, &with(true)), Answer::True);
        }
        assert_eq!(
            refine_staging(Answer::Unknown, &ServingProtocols::default()),
            Answer::Unknown
        );
    }

    #[test]
    fn finds_requests_that_another_backend_served() {
        let served_by = |name| [protocol("nixl WRITE", None, "requests prepared", name)];
        assert_eq!(other_backend(&served_by("UCX"), NixlBackend::Ucx), None);
        assert_eq!(other_backend(&served_by("unknown"), NixlBackend::Ucx), None);
        let other = other_backend(&served_by("another backend"), NixlBackend::Ucx);
        assert!(
            other
                .unwrap()
                .contains("served by another backend instead of UCX")
        );
    }

    #[test]
    fn finds_protocols_that_the_spec_excludes() {
        let mut ucx = Ucx::new(vec![UcxTransport::Tcp], 1);
        let over = |lanes| [protocol("ucp_put", None, "zero-copy", lanes)];
        assert_eq!(excluded(&over("tcp/lo"), &ucx), None);
        assert_eq!(excluded(&over("50% on tcp/lo and 50% on tcp/eth0"), &ucx), None);
        let mut rc = Ucx::new(vec![UcxTransport::Rc], 1);
        assert_eq!(excluded(&over("rc_mlx5/mlx5_0:1"), &rc), None);
        assert!(
            excluded(&over("ud_mlx5/mlx5_0:1"), &rc).is_some(),
            "ud only sets up connections"
        );
        rc.transports.push(UcxTransport::Ud);
        assert_eq!(excluded(&over("ud_mlx5/mlx5_0:1"), &rc), None);
        let other = excluded(&over("50% on tcp/lo, 50% on rc_mlx5/mlx5_0:1"), &ucx);
        assert!(other.unwrap().contains("rc_mlx5/mlx5_0:1"));
        let emulation = [protocol("ucp_put", None, EMULATION, "tcp/lo")];
        assert!(excluded(&emulation, &ucx).unwrap().contains("denies"));
        ucx.emulation = UcxEmulation::Allow;
        assert_eq!(excluded(&emulation, &ucx), None);
    }
}

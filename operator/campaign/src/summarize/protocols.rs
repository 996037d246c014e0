//! Protocols that a library reported for the messages of one arm at one size. Performs no I/O.

use crds::record::ProtocolUse;
use crds::v1alpha1::{Answer, TransferOperation, TransportSpec, Ucx, UcxEmulation, UcxMessages};

use crate::plan::Cell;

/// Start of UCX's description of a protocol that emulates RMA with messages.
const EMULATION: &str = "software emulation";

/// The protocols in `reported`, those of the arm of `cell`, that served the operation of the cell. The counts include
/// messages of other sizes for which the library selects the same protocol.
pub(super) fn of_cell(
    reported: &[ProtocolUse],
    transport: &TransportSpec,
    operation: TransferOperation,
    cell: &Cell,
) -> Vec<ProtocolUse> {
    let TransportSpec::Ucx(ucx) = transport else {
        return Vec::new();
    };
    let function = match operation {
        TransferOperation::Send => match ucx.messages {
            UcxMessages::Tag => "ucp_tag_send",
            UcxMessages::ActiveMessage => "ucp_am_send",
        },
        TransferOperation::Write | TransferOperation::WriteImmediate => "ucp_put",
        TransferOperation::Read => "ucp_get",
    };
    let serves = |protocol: &&ProtocolUse| {
        let chunks = [cell.chunk_bytes, cell.last_chunk_bytes];
        protocol.function == function && chunks.iter().any(|bytes| protocol.covers(*bytes))
    };
    reported.iter().filter(serves).cloned().collect()
}

/// Replaces `answer`, whether RMA operations are emulated according to the lanes, by what the library reported about the
/// protocols that served them.
pub(super) fn emulated(answer: Answer, protocols: &[ProtocolUse]) -> Answer {
    match answer {
        _ if protocols.iter().any(is_emulation) => Answer::True,
        Answer::Unknown if !protocols.is_empty() => Answer::False,
        known => known,
    }
}

fn is_emulation(protocol: &ProtocolUse) -> bool {
    protocol.description.starts_with(EMULATION)
}

/// Describes a protocol in `reported` that the spec excludes: it uses a transport that was not requested, or emulates RMA
/// operations although emulation is denied.
pub(super) fn excluded(reported: &[ProtocolUse], ucx: &Ucx) -> Option<String> {
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

/// Names of the transports in UCX's description of lanes, such as `50% on tcp/lo and 50% on rc_mlx5/mlx5_0:1`.
fn transports(lanes: &str) -> impl Iterator<Item = &str> {
    let words = lanes.split([' ', ',']);
    words
        .filter_map(|word| word.split_once('/'))
        .map(|(transport, _)| transport)
}

#[cfg(test)]
mod tests {
    use crds::v1alpha1::{Loopback, UcxTransport};

    use super::*;

    fn protocol(function: &str, to_bytes: Option<u64>, description: &str, lanes: &str) -> ProtocolUse {
        ProtocolUse {
            function: function.to_owned(),
            from_bytes: 1,
            to_bytes,
            description: description.to_owned(),
            lanes: lanes.to_owned(),
            count: 9,
        }
    }

    fn cell(chunk_bytes: u64, last_chunk_bytes: u64) -> Cell {
        Cell {
            size_bytes: chunk_bytes + last_chunk_bytes,
            arm: 0,
            rails: 2,
            chunk_bytes,
            last_chunk_bytes,
            posts_per_burst: 2,
            more_per_burst: 0,
            optimizations: Vec::new(),
            role: None,
        }
    }

    #[test]
    fn selects_the_protocols_of_the_operation_and_of_its_chunks() {
        let ucx = TransportSpec::Ucx(Ucx::new(vec![UcxTransport::Tcp], 2));
        let reported = [
            protocol("ucp_put", Some(100), "zero-copy", "tcp/lo"),
            protocol("ucp_put", Some(4096), "short", "tcp/lo"),
            protocol("ucp_get", None, EMULATION, "tcp/lo"),
        ];
        let found = |operation, chunk, last| {
            let protocols = of_cell(&reported, &ucx, operation, &cell(chunk, last));
            protocols
                .into_iter()
                .map(|one| one.description)
                .collect::<Vec<_>>()
        };
        assert_eq!(found(TransferOperation::Write, 4096, 64), ["zero-copy", "short"]);
        assert_eq!(found(TransferOperation::WriteImmediate, 4096, 4096), ["short"]);
        assert_eq!(found(TransferOperation::Write, 8192, 8192), [""; 0]);
        assert_eq!(found(TransferOperation::Read, 8192, 8192), [EMULATION]);
        let loopback = TransportSpec::Loopback(Loopback { rails: 1 });
        assert_eq!(
            of_cell(&reported, &loopback, TransferOperation::Read, &cell(1, 1)),
            []
        );
    }

    #[test]
    fn a_report_settles_an_unknown_answer() {
        let emulation = [protocol("ucp_put", None, EMULATION, "tcp/lo")];
        let direct = [protocol("ucp_put", None, "zero-copy", "tcp/lo")];
        for answer in [Answer::True, Answer::Unknown, Answer::False] {
            assert_eq!(emulated(answer, &[]), answer);
            assert_eq!(emulated(answer, &emulation), Answer::True);
        }
        assert_eq!(emulated(Answer::Unknown, &direct), Answer::False);
        // The lanes have no such operation, so the report must be about something else.
        assert_eq!(emulated(Answer::True, &direct), Answer::True);
    }

    #[test]
    fn finds_what_the_spec_excludes() {
        let mut ucx = Ucx::new(vec![UcxTransport::Tcp], 1);
        let over = |lanes| [protocol("ucp_put", None, "zero-copy", lanes)];
        assert_eq!(excluded(&over("tcp/lo"), &ucx), None);
        assert_eq!(excluded(&over("50% on tcp/lo and 50% on tcp/eth0"), &ucx), None);
        let other = excluded(&over("50% on tcp/lo, 50% on rc_mlx5/mlx5_0:1"), &ucx);
        assert!(other.unwrap().contains("rc_mlx5/mlx5_0:1"));
        let emulation = [protocol("ucp_put", None, EMULATION, "tcp/lo")];
        assert!(excluded(&emulation, &ucx).unwrap().contains("denies"));
        ucx.emulation = UcxEmulation::Allow;
        assert_eq!(excluded(&emulation, &ucx), None);
    }
}

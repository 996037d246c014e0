//! Determines whether the library executed operations in software, and whether it used protocols that the request
//! excludes. Performs no I/O.

use std::collections::BTreeMap;

use crds::protocols::{self, ReportedProtocols, ServingProtocols};
use crds::record::{FabricFacts, Record};
use crds::v1alpha1::{Answer, MemoryKind, TransferOperation, TransportSpec};

use super::assignment::STRIPING;
use super::request::RequestedScenario;

/// Returns the protocols that the library reported on both sides.
pub(super) fn reported_protocols(records: &[Record]) -> ReportedProtocols {
    let mut found = ReportedProtocols::default();
    for record in records {
        if let Record::Protocols(record) = record {
            found.omitted += record.omitted;
            for protocol in &record.protocols {
                protocol.clone().add_to(&mut found.uses);
            }
        }
    }
    found
}

/// Describes a protocol that the request excludes.
pub(super) fn excluded_protocol(transport: &TransportSpec, reported: &ReportedProtocols) -> Option<String> {
    match transport {
        TransportSpec::Ucx(ucx) => protocols::excluded(&reported.uses, ucx),
        _ => None,
    }
}

/// Whether the library emulated the reads and writes of `scenario` on either side, by operation name.
pub(super) fn emulated_operations(
    scenario: &RequestedScenario,
    transport: &TransportSpec,
    memory: MemoryKind,
    fabrics: [Option<&FabricFacts>; 2],
    reported: &ReportedProtocols,
) -> BTreeMap<&'static str, Answer> {
    let workload = scenario.workload();
    if !workload.is_pipelined() {
        return BTreeMap::new();
    }
    let stripes = STRIPING.stripes(scenario.size_bytes(), transport.rails().into());
    let chunks = [stripes.chunk_bytes, stripes.last_chunk_bytes];
    let answer = |operation| {
        // With two kinds of memory, different protocols serve the same operation, so what they say remains unknown.
        let found = match workload.second_memory() {
            Some(_) => ServingProtocols::default(),
            None => protocols::serving(reported, transport, operation, memory, chunks),
        };
        let facts = fabrics
            .into_iter()
            .flatten()
            .filter_map(|fabric| match operation {
                TransferOperation::Read => fabric.offload.emulated_reads,
                _ => fabric.offload.emulated_writes,
            });
        let answers = facts.map(|answer| protocols::refine_emulation(answer, &found));
        answers.reduce(Answer::or)
    };
    let writes = matches!(
        workload.operation(),
        TransferOperation::Write | TransferOperation::WriteImmediate
    );
    let reads = workload.operation() == TransferOperation::Read || workload.reads_back();
    let operations = [
        (writes, "writes", TransferOperation::Write),
        (reads, "reads", TransferOperation::Read),
    ];
    let used = operations.into_iter().filter(|(is_used, _, _)| *is_used);
    used.filter_map(|(_, name, operation)| Some((name, answer(operation)?)))
        .collect()
}

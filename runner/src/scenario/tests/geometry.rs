//! Tests of the buffers that transfers in flight use.

use std::collections::BTreeSet;

use crds::assignment::{Pass, ScenarioAssignment, TransferWorkload, Workload};
use crds::striping::Stripes;
use crds::v1alpha1::TransferBuffers::{self, Separate, Shared};
use crds::v1alpha1::{MemoryKind, TransferOperation};

use super::fixture::{BASELINE, assignment, transfer};
use crate::arm_endpoints::layout::Layout;
use crate::scenario::geometry::Geometry;

/// Geometry of 4 KiB writes with 8 in flight.
fn geometry(buffers: TransferBuffers, pass: Pass) -> Geometry {
    let workload = TransferWorkload {
        buffers,
        ..transfer(TransferOperation::Write, 8, 1, 10)
    };
    let scenario = ScenarioAssignment {
        name: "test".to_owned(),
        memory: MemoryKind::Heap,
        target_memory: None,
        polling: None,
        workload: Workload::Transfer(workload),
        max_size_bytes: 1 << 20,
    };
    let assignment = assignment(&scenario, &BASELINE, 1);
    let layout = Layout::of_kind(&assignment, scenario.memory)[0];
    let stripes: Stripes = BASELINE.striping.stripes(4096, 1);
    Geometry::new(&scenario, pass, 4096, stripes, layout, 1)
}

fn distinct(offsets: &[u64]) -> usize {
    offsets.iter().collect::<BTreeSet<_>>().len()
}

#[test]
fn shared_buffers_are_a_single_source_and_a_single_target() {
    for (buffers, expected) in [(Separate, 8), (Shared, 1)] {
        let geometry = geometry(buffers, Pass::Measure);
        assert_eq!(geometry.window, 8);
        assert_eq!(
            (distinct(&geometry.source), distinct(&geometry.landing)),
            (expected, expected)
        );
        assert_ne!(geometry.source[0], geometry.landing[0]);
    }
}

#[test]
fn integrity_pass_never_shares_a_buffer_among_transfers_in_flight() {
    for (buffers, expected) in [(Separate, 8), (Shared, 1)] {
        let geometry = geometry(buffers, Pass::Integrity);
        assert_eq!(
            (geometry.window, distinct(&geometry.landing)),
            (expected, expected as usize)
        );
    }
}

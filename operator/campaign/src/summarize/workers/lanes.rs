//! Variables of UCX transports that the endpoints do not use. Performs no I/O.

use std::collections::BTreeSet;

use crds::record::FabricFacts;
use crds::v1alpha1::{TransportSpec, UcxTransport, readers_of_variable};

/// Lanes of an arm's endpoints on one worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::summarize) struct UcxLanes<'a> {
    /// The lanes, as `transport/device`.
    lanes: BTreeSet<&'a str>,
    /// Whether the spec lets UCX use RDMA devices. UCX then registers memory with them, also without a lane.
    may_open_rdma: bool,
}

impl<'a> UcxLanes<'a> {
    /// The lanes in `facts`. `None` if the arm does not use UCX, or if a rail does not report its lanes, or has a lane of
    /// an unknown transport.
    pub(in crate::summarize) fn new(
        transport: &TransportSpec,
        facts: impl Iterator<Item = &'a FabricFacts>,
    ) -> Option<Self> {
        let TransportSpec::Ucx(ucx) = transport else {
            return None;
        };
        let mut lanes = BTreeSet::new();
        for rail in facts.flat_map(|facts| &facts.rails) {
            if rail.lanes.is_empty() {
                return None;
            }
            lanes.extend(rail.lanes.iter().map(String::as_str));
        }
        let is_known = |lane: &&str| {
            let name = transport_of(lane);
            let mut known = UcxTransport::ALL.into_iter();
            name == "self" || known.any(|one| one != UcxTransport::All && one.serves(name))
        };
        let may_open = |one: &UcxTransport| *one == UcxTransport::All || one.is_rdma();
        (!lanes.is_empty() && lanes.iter().all(is_known)).then(|| Self {
            lanes,
            may_open_rdma: ucx.transports.iter().any(may_open),
        })
    }
}

/// Name of the transport of a lane.
fn transport_of(lane: &str) -> &str {
    lane.split('/').next().unwrap_or(lane)
}

/// Reason why the variable `name` has no effect on endpoints with the lanes of the arm and of the baseline: no lane
/// reads it. The lanes of both count, because the variable may be what removed a lane. `None` if a lane reads it, or if
/// this is not known.
pub(in crate::summarize) fn without_reader(name: &str, used: [Option<&UcxLanes<'_>>; 2]) -> Option<String> {
    let readers = readers_of_variable(name)?;
    let [Some(own), Some(baseline)] = used else {
        return None;
    };
    let may_act_without_lane =
        readers.contains(&UcxTransport::Ib) && (own.may_open_rdma || baseline.may_open_rdma);
    let lanes: BTreeSet<&str> = own.lanes.union(&baseline.lanes).copied().collect();
    let is_read = |lane: &&str| readers.iter().any(|reader| reader.serves(transport_of(lane)));
    if may_act_without_lane || lanes.iter().any(is_read) {
        return None;
    }
    let list = |names: Vec<&str>| names.join(", ");
    Some(format!(
        "only lanes of the UCX transports {} read {name}, but the lanes in use are {}",
        list(readers.iter().map(|reader| reader.name()).collect()),
        list(lanes.into_iter().collect())
    ))
}

//! Reports counts of the calls that the transport made.

use crate::ffi::{CallCounters, Rail};
use crds::record::{FabricFacts, ProtocolUse};

/// Returns one entry for each nonzero counter, summed over all rails.
pub(super) fn protocols(rails: &[Rail], facts: &FabricFacts) -> Vec<ProtocolUse> {
    let mut total = CallCounters::default();
    rails.iter().for_each(|rail| total.add(rail.calls()));
    let devices: Vec<&str> = facts.rails.iter().map(|rail| rail.domain.as_str()).collect();
    let lanes = format!("rc/{}", devices.join(" rc/"));
    let counters = [
        ("calls, each of which rings the doorbell once", total.calls),
        ("work requests", total.requests),
        ("work requests with IBV_SEND_INLINE", total.inline),
        ("work requests with IBV_SEND_SIGNALED", total.signaled),
    ];
    let used = counters.into_iter().filter(|(_, count)| *count > 0);
    used.map(|(description, count)| ProtocolUse {
        function: "ibv_post_send".to_owned(),
        from_bytes: 0,
        to_bytes: None,
        memory: None,
        description: description.to_owned(),
        lanes: lanes.clone(),
        count,
        steps: None,
    })
    .collect()
}

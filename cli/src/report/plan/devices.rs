//! Memory and NICs that the workers will use.

use campaign::plan::Plan;
use crds::v1alpha1::{Alignment, MemoryKind, TransportSpec};

/// Describes which memory and NICs the workers will use, such as `GPUs 0, 1, each with the nearest NICs; align
/// PciRoot`. `None` if the rails use no RDMA devices and the spec sets neither devices nor an alignment.
pub(super) fn devices(plan: &Plan) -> Option<String> {
    let devices = &plan.devices;
    if !plan.transports().any(TransportSpec::uses_rdma_devices)
        && devices.is_default()
        && plan.align.is_none()
    {
        return None;
    }
    let uses_gpu = plan
        .scenarios
        .iter()
        .any(|scenario| scenario.assignment.uses(MemoryKind::Cuda));
    let segments_use_all_gpus = devices.gpus.is_empty()
        && plan
            .scenarios
            .iter()
            .any(|scenario| scenario.assignment.has_segments_on_gpus());
    let memory = match (uses_gpu, devices.gpus.as_slice(), devices.numa_node) {
        _ if segments_use_all_gpus => "all GPUs of a worker".to_owned(),
        (true, [] | [_], _) => format!("GPU {}", devices.gpu(0)),
        (true, gpus, _) => format!("GPUs {}, each", join(gpus)),
        (false, _, Some(node)) => format!("host memory on NUMA node {node}"),
        (false, _, None) => "host memory".to_owned(),
    };
    let uses_ip = plan.transports().all(TransportSpec::uses_ip);
    let nics = match (devices.nics.as_slice(), uses_ip) {
        ([], true) => "addresses chosen by the executor".to_owned(),
        ([], false) => "the nearest NICs".to_owned(),
        (nics, _) => {
            let rails = nics.chunks(plan.transport.rails() as usize);
            let described = rails.enumerate().map(|(thread, nics)| match uses_gpu {
                true => format!("{} for GPU {}", join(nics), devices.gpu(thread)),
                false => join(nics),
            });
            described.collect::<Vec<_>>().join("; ")
        }
    };
    let align = match plan.align {
        Alignment::None => String::new(),
        align => format!("; align {align:?}"),
    };
    Some(format!("{memory} with {nics}{align}"))
}

fn join(values: &[impl ToString]) -> String {
    values
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

//! What the claims of an attempt's workers obtained, and nodes on which a device plugin and a driver of Dynamic Resource
//! Allocation offer the same devices. Performs no I/O.

use std::collections::BTreeSet;

use crds::assignment::AttemptIdentity;
use crds::record::{ClaimRecord, ClaimedDevice, RECORD_VERSION};
use crds::v1alpha1::{ATTRIBUTE_NUMA_NODE, ATTRIBUTE_PCI_ROOT};
use k8s_openapi::api::resource::v1::{
    Device, DeviceAttribute, DeviceRequestAllocationResult, ResourceClaim, ResourceSlice,
};

use super::build::claims::group_name;
use super::build::resources::{EFA, GPU};
use super::observed::PodState;
use super::preflight::NodeState;

/// Annotation of a claim that Kubernetes created from a template: the name of the claim within the pod.
const POD_CLAIM_NAME: &str = "resource.kubernetes.io/pod-claim-name";

/// Devices that drivers offer, or why they could not be read.
pub(super) type Slices<'a> = Result<&'a [ResourceSlice], &'a str>;

/// Returns a record for each of the `groups` claims of each of the `workers`, ordered by rank. What could not be read is
/// stated in the records, because the measurements are valid without it.
pub(super) fn records(
    identity: &AttemptIdentity,
    (workers, groups): (u32, u32),
    pods: &[PodState],
    claims: Result<&[ResourceClaim], &str>,
    slices: Slices<'_>,
) -> Vec<ClaimRecord> {
    let mut records = Vec::new();
    for rank in 0..workers {
        let pod = pods.iter().find(|pod| pod.rank == rank);
        for group in 0..groups {
            let (devices, unread) = match (claims, pod) {
                (Err(reason), _) => (Vec::new(), Some(reason.to_owned())),
                (Ok(_), None) => (Vec::new(), Some(format!("the pod of worker {rank} is gone"))),
                (Ok(claims), Some(pod)) => devices(pod, group, claims, slices),
            };
            records.push(ClaimRecord {
                version: RECORD_VERSION,
                identity: identity.clone(),
                rank,
                group,
                node: pod.and_then(|pod| pod.node.clone()),
                devices,
                unread,
            });
        }
    }
    records
}

/// Returns the devices of a pod's group, and what could not be read. Only the scheduler reserves a claim for a pod, so the
/// reservation proves that the claim belongs to the pod; a label does not.
fn devices(
    pod: &PodState,
    group: u32,
    claims: &[ResourceClaim],
    slices: Slices<'_>,
) -> (Vec<ClaimedDevice>, Option<String>) {
    let name = group_name(group);
    let is_of_pod = |claim: &&ResourceClaim| {
        let status = claim.status.iter();
        let mut consumers = status.flat_map(|status| status.reserved_for.iter().flatten());
        let annotations = claim.metadata.annotations.as_ref();
        consumers.any(|consumer| consumer.uid == pod.uid)
            && annotations.and_then(|all| all.get(POD_CLAIM_NAME)) == Some(&name)
    };
    let allocation = claims
        .iter()
        .find(is_of_pod)
        .and_then(|claim| claim.status.as_ref()?.allocation.as_ref()?.devices.as_ref());
    let Some(allocation) = allocation else {
        return (
            Vec::new(),
            Some(format!("pod {} has no allocated ResourceClaim {name}", pod.name)),
        );
    };
    let mut unread = slices.err().map(str::to_owned);
    let results = allocation.results.iter().flatten();
    let devices = results.map(|result| {
        let published = slices.ok().map(|slices| published(result, slices));
        if let Some(None) = published {
            unread.get_or_insert_with(|| {
                format!(
                    "no ResourceSlice contains device {}/{}/{}",
                    result.driver, result.pool, result.device
                )
            });
        }
        claimed(result, published.flatten())
    });
    (devices.collect(), unread)
}

/// Returns the device that a driver published, from the newest generation of its pool.
fn published<'a>(result: &DeviceRequestAllocationResult, slices: &'a [ResourceSlice]) -> Option<&'a Device> {
    let pool = slices
        .iter()
        .filter(|slice| slice.spec.driver == result.driver && slice.spec.pool.name == result.pool);
    let devices = pool.flat_map(|slice| {
        let devices = slice.spec.devices.iter().flatten();
        devices.map(|device| (slice.spec.pool.generation, device))
    });
    let newest = devices
        .filter(|(_, device)| device.name == result.device)
        .max_by_key(|(generation, _)| *generation)?;
    Some(newest.1)
}

fn claimed(result: &DeviceRequestAllocationResult, device: Option<&Device>) -> ClaimedDevice {
    // A driver may omit its own domain, and older drivers publish the standard attributes in their own domain.
    let attribute = |names: &[&str]| -> Option<&DeviceAttribute> {
        let attributes = device?.attributes.as_ref()?;
        names.iter().find_map(|name| {
            let own = format!("{}/{name}", result.driver);
            attributes.get(*name).or_else(|| attributes.get(&own))
        })
    };
    let text = |names: &[&str]| attribute(names)?.string.clone();
    ClaimedDevice {
        request: result.request.clone(),
        driver: result.driver.clone(),
        pool: result.pool.clone(),
        device: result.device.clone(),
        rdma_device: text(&["rdmaDevice"]).filter(|name| !name.is_empty()),
        pci_root: text(&[ATTRIBUTE_PCI_ROOT, "pcieRoot"]).filter(|root| !root.is_empty()),
        // The kernel reports -1 for a device whose NUMA node it does not know.
        numa_node: attribute(&[ATTRIBUTE_NUMA_NODE, "numaNode"])
            .and_then(|attribute| attribute.int)
            .filter(|node| *node >= 0),
    }
}

/// Names of drivers, and whether an extended resource of a device plugin offers the same devices.
type SameDevices = (&'static [&'static str], fn(&str) -> bool);

/// Extended resources of device plugins, by the drivers that offer the same devices.
const SAME_DEVICES: [SameDevices; 4] = [
    (&["gpu.nvidia.com"], |resource| {
        [GPU, "nvidia.com/gpu.shared"].contains(&resource) || resource.starts_with("nvidia.com/mig-")
    }),
    (&["dra.net", "dra.networking.k8s.aws"], |resource| {
        resource == EFA || resource.starts_with("rdma/")
    }),
    (&["gpu.amd.com"], |resource| resource == "amd.com/gpu"),
    (&["gpu.intel.com"], |resource| {
        resource.starts_with("gpu.intel.com/")
    }),
];

/// Describes the first of the `eligible` nodes on which a device plugin and a driver offer the same devices, with the
/// remedy. The plugin and the driver do not know of each other, so both would give a device to different pods.
pub(super) fn offered_twice(
    nodes: &[NodeState],
    eligible: &BTreeSet<String>,
    slices: &[ResourceSlice],
) -> Option<String> {
    nodes
        .iter()
        .filter(|node| eligible.contains(&node.name))
        .find_map(|node| {
            let of_node = slices.iter().filter(|slice| {
                let has_devices = slice.spec.devices.as_ref().is_some_and(|devices| !devices.is_empty());
                slice.spec.node_name.as_ref() == Some(&node.name) && has_devices
            });
            let drivers: BTreeSet<&str> = of_node.map(|slice| slice.spec.driver.as_str()).collect();
            let (driver, resource, count) = drivers.into_iter().find_map(|driver| {
                let (_, is_same) = SAME_DEVICES.iter().find(|(drivers, _)| drivers.contains(&driver))?;
                let mut offered = node.allocatable.devices();
                let (resource, count) = offered.find(|(resource, count)| is_same(resource) && *count > 0)?;
                Some((driver, resource, count))
            })?;
            Some(format!(
                "node {} offers the same devices twice: {count} {resource} of a device plugin, and those of the driver \
                 {driver}, so two pods could get the same device. Remove the device plugin or the driver from the node, or \
                 exclude the node with spec.placement.nodeSelector",
                node.name
            ))
        })
}

#[cfg(test)]
mod tests;

//! Tests the join of claims and slices, and the detection of devices that are offered twice.

use serde_json::json;

use super::*;
use crate::run_controller::attempt_id::AttemptId;
use crate::run_controller::preflight::Amounts;

fn identity() -> AttemptIdentity {
    AttemptIdentity {
        run: "run".to_owned(),
        uid: "uid".to_owned(),
        plan_hash: "hash".to_owned(),
        leg: 0,
        attempt: 1,
    }
}

fn pod(rank: u32) -> PodState {
    let attempt = AttemptId { leg: 0, attempt: 1 };
    PodState {
        node: Some(format!("node-{rank}")),
        ..PodState::new(
            attempt,
            "job",
            rank,
            &format!("worker-{rank}"),
            &format!("pod-{rank}"),
        )
    }
}

/// A claim with a GPU and a NIC that is reserved for the pod with `uid`.
fn claim(uid: &str, group: &str, gpu: &str, nic: &str) -> ResourceClaim {
    let result = |request: &str, driver: &str, device: &str| json!({"request": request, "driver": driver, "pool": "node-0", "device": device});
    serde_json::from_value(json!({
        "metadata": {"name": "c", "annotations": {"resource.kubernetes.io/pod-claim-name": group}},
        "spec": {},
        "status": {
            "reservedFor": [{"resource": "pods", "name": "any", "uid": uid}],
            "allocation": {"devices": {"results": [
                result("gpu", "gpu.nvidia.com", gpu), result("nic", "dra.net", nic),
            ]}},
        },
    }))
    .unwrap()
}

fn slice(driver: &str, generation: i64, devices: serde_json::Value) -> ResourceSlice {
    serde_json::from_value(json!({"metadata": {}, "spec": {
        "driver": driver, "nodeName": "node-0", "devices": devices,
        "pool": {"name": "node-0", "generation": generation, "resourceSliceCount": 1},
    }}))
    .unwrap()
}

fn slices() -> Vec<ResourceSlice> {
    let root = |root: &str| json!({"resource.kubernetes.io/pcieRoot": {"string": root}});
    vec![
        slice(
            "gpu.nvidia.com",
            2,
            json!([{"name": "gpu-0", "attributes": root("pci0000:10")}]),
        ),
        slice(
            "gpu.nvidia.com",
            1,
            json!([{"name": "gpu-0", "attributes": root("pci0000:ff")}]),
        ),
        slice(
            "dra.net",
            1,
            json!([
                {"name": "nic-0", "attributes": {
                    "dra.net/rdmaDevice": {"string": "rdmap16s27"}, "dra.net/numaNode": {"int": 1},
                    "pcieRoot": {"string": "pci0000:10"},
                }},
                {"name": "nic-1", "attributes": {"dra.net/numaNode": {"int": -1}}},
            ]),
        ),
    ]
}

#[test]
fn devices_have_the_attributes_of_the_newest_slice_under_any_of_their_names() {
    let claims = [
        claim("pod-0", "group-0", "gpu-0", "nic-0"),
        claim("pod-0", "group-1", "gpu-0", "nic-1"),
    ];
    let found = records(&identity(), (1, 2), &[pod(0)], Ok(&claims), Ok(&slices()));
    let [first, second] = found.as_slice() else {
        panic!("expected a record for each group: {found:?}");
    };
    let position = |device: &ClaimedDevice| {
        (
            device.name().to_owned(),
            device.pci_root.clone(),
            device.numa_node,
        )
    };
    let root = Some("pci0000:10".to_owned());
    assert_eq!(
        first.devices.iter().map(position).collect::<Vec<_>>(),
        [
            ("gpu-0".to_owned(), root.clone(), None),
            ("rdmap16s27".to_owned(), root, Some(1))
        ]
    );
    // A negative NUMA node is unknown.
    assert_eq!(position(&second.devices[1]), ("nic-1".to_owned(), None, None));
    assert_eq!((&first.unread, &second.unread), (&None, &None));
    assert_eq!(
        (first.rank, first.group, first.node.as_deref()),
        (0, 0, Some("node-0"))
    );
}

#[test]
fn what_cannot_be_read_is_stated_in_the_record() {
    let claims = [
        claim("pod-0", "group-0", "gpu-7", "nic-0"),
        claim("another-pod", "group-0", "gpu-0", "nic-0"),
    ];
    let found = records(&identity(), (3, 1), &[pod(1), pod(0)], Ok(&claims), Ok(&slices()));
    let reasons: Vec<_> = found
        .iter()
        .map(|record| (record.rank, record.unread.as_deref()))
        .collect();
    assert_eq!(
        reasons,
        [
            (
                0,
                Some("no ResourceSlice contains device gpu.nvidia.com/node-0/gpu-7")
            ),
            (1, Some("pod worker-1 has no allocated ResourceClaim group-0")),
            (2, Some("the pod of worker 2 is gone")),
        ]
    );
    assert_eq!(found[0].devices.len(), 2);
    let found = records(&identity(), (1, 1), &[pod(0)], Ok(&claims), Err("not permitted"));
    assert_eq!(
        (found[0].devices.len(), found[0].unread.as_deref()),
        (2, Some("not permitted"))
    );
    let found = records(&identity(), (1, 1), &[pod(0)], Err("not permitted"), Ok(&[]));
    assert_eq!(
        (found[0].devices.len(), found[0].unread.as_deref()),
        (0, Some("not permitted"))
    );
}

#[test]
fn a_node_with_a_plugin_and_a_driver_for_the_same_devices_is_refused() {
    let node = |name: &str, gpus, efas, extended: &[(&str, u64)]| NodeState {
        name: name.to_owned(),
        allocatable: Amounts {
            gpus,
            efas,
            extended: extended
                .iter()
                .map(|(name, count)| ((*name).to_owned(), *count))
                .collect(),
            ..Amounts::default()
        },
        ..NodeState::default()
    };
    let conflict = |nodes: &[NodeState], eligible: &[&str], slices: &[ResourceSlice]| {
        let eligible = eligible.iter().map(|name| (*name).to_owned()).collect();
        offered_twice(nodes, &eligible, slices)
    };
    let message = conflict(&[node("node-0", 8, 0, &[])], &["node-0"], &slices()).unwrap();
    assert!(
        message.starts_with(
            "node node-0 offers the same devices twice: 8 nvidia.com/gpu of a device plugin, and those of the driver \
             gpu.nvidia.com,"
        ),
        "{message}"
    );
    let nics = node("node-0", 0, 0, &[("rdma/hca_shared_devices_a", 1)]);
    let message = conflict(&[nics], &["node-0"], &slices()).unwrap();
    assert!(
        message.contains("1 rdma/hca_shared_devices_a of a device plugin"),
        "{message}"
    );
    // GPUs by plugin and NICs by driver are different devices.
    let mixed = [slices().pop().unwrap()];
    assert_eq!(conflict(&[node("node-0", 8, 0, &[])], &["node-0"], &mixed), None);
    let others = [node("node-0", 8, 32, &[]), node("node-1", 8, 32, &[])];
    assert_eq!(conflict(&others, &["node-1"], &slices()), None);
    let empty = [slice("gpu.nvidia.com", 1, json!([]))];
    assert_eq!(conflict(&[node("node-0", 8, 0, &[])], &["node-0"], &empty), None);
}

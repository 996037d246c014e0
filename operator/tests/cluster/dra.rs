//! Runs whose workers claim devices from drivers of Dynamic Resource Allocation, which `.ci/operator-test dra` starts on each
//! node. These tests are ignored otherwise: while the drivers run, the nodes offer no devices of device plugins.

use std::collections::{BTreeMap, BTreeSet};

use campaign::evaluate;
use crds::v1alpha1::{Alignment, BenchmarkRun, ClaimRequest, Claims, Variant, WithheldReason};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::resource::v1::{ResourceClaim, ResourceClaimTemplate};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

use super::nodes::reserve_nodes;
use super::permissions::permissions_of;
use super::rbac::LimitedOperator;
use super::test_namespace::{TIMEOUT, TestNamespace, condition, planned, reports, with_rounds};
use test_support::cluster::until_within;

/// A GPU and `nics` NICs. The selectors restrict the GPU and the NICs to PCI root complexes.
pub fn claims(nics: u32, roots: [Option<&str>; 2], align: Alignment) -> Claims {
    let request = |name: &str, class: &str, count, root: Option<&str>| {
        let expression =
            |root| format!("device.attributes[\"resource.kubernetes.io\"].pcieRoot == \"{root}\"");
        ClaimRequest {
            name: name.to_owned(),
            device_class_name: class.to_owned(),
            count,
            selectors: root.map(expression).into_iter().collect(),
        }
    };
    Claims {
        groups: 1,
        requests: vec![
            request("gpu", "gpu.nvidia.com", 1, roots[0]),
            request("nic", "efa.networking.k8s.aws", nics, roots[1]),
        ],
        align,
    }
}

fn variant(name: &str, claims: Option<Claims>) -> Variant {
    Variant {
        name: name.to_owned(),
        claims,
        ..Variant::default()
    }
}

fn with_variants(name: &str, of_run: Claims, others: &[(&str, Claims)]) -> BenchmarkRun {
    let mut run = with_rounds(name, 2);
    run.spec.resources.claims = Some(of_run);
    let others = others
        .iter()
        .map(|(name, claims)| variant(name, Some(claims.clone())));
    run.spec.variants = std::iter::once(variant("baseline", None)).chain(others).collect();
    run
}

/// One NIC on another NUMA node than the GPU, one aligned NIC, and two aligned NICs: each arm obtains what it asks for, with
/// exactly the permissions in the manifest.
#[tokio::test]
#[ignore = "needs drivers of devices: .ci/operator-test dra"]
async fn arms_obtain_the_devices_that_they_ask_for() {
    let nodes = reserve_nodes().await;
    let limited = LimitedOperator::new(&nodes, &permissions_of("cluster"), false).await;
    let namespace = &limited.namespace;
    let (near, far) = (Some("pci0000:10"), Some("pci0000:50"));
    let run = with_variants(
        "alignment",
        claims(1, [near, far], Alignment::None),
        &[
            ("aligned", claims(1, [near, None], Alignment::PciRoot)),
            ("two-aligned", claims(2, [None, None], Alignment::PciRoot)),
        ],
    );
    namespace.create(&run).await;
    let status = namespace.wait_for_completion("alignment").await;

    let run = namespace.runs.get("alignment").await.unwrap();
    let (plan, lines) = (planned(&run), namespace.lines(&run).await);
    let reports = reports(&run, &plan, &lines);
    let evaluation = evaluate(&plan, &reports).unwrap();
    let expected = [
        "baseline: gpu-0, rdmap80s27 (different NUMA nodes)",
        "aligned: gpu-0, rdmap16s27 (same PCI root complex)",
        "two-aligned: gpu-0, rdmap16s27, rdmap16s28 (same PCI root complex)",
        "control-claims: gpu-0, rdmap80s27 (different NUMA nodes)",
    ];
    assert_eq!(evaluation.summary.environment.claims, expected);
    // Each worker of each leg has a record, and its node is one of the reserved ones.
    assert_eq!(reports.claims.len(), plan.legs.len() * 2);
    let hosts: BTreeSet<_> = reports
        .claims
        .iter()
        .filter_map(|from| from.record.node.clone())
        .collect();
    assert_eq!(hosts, nodes.names.iter().cloned().collect());
    assert!(
        reports.claims.iter().all(|from| from.record.unread.is_none()),
        "{:#?}",
        reports.claims
    );
    let withheld: BTreeMap<_, _> = status
        .comparisons
        .iter()
        .map(|one| (one.arm.as_str(), one.withheld))
        .collect();
    println!("{withheld:?}");
    for arm in ["aligned", "two-aligned"] {
        let reason = withheld[arm];
        assert!(
            !matches!(
                reason,
                Some(WithheldReason::NotEngaged | WithheldReason::DifferentDevices)
            ),
            "{arm}: {reason:?}"
        );
    }
    let templates: Api<ResourceClaimTemplate> = Api::namespaced(namespace.client.clone(), &namespace.name);
    let claims: Api<ResourceClaim> = Api::namespaced(namespace.client.clone(), &namespace.name);
    // The objects of the last attempt remain until the run is deleted.
    namespace
        .runs
        .delete("alignment", &DeleteParams::default())
        .await
        .unwrap();
    namespace.wait_for_deletion("alignment").await;
    until_within(TIMEOUT, || async {
        let left = templates.list(&Default::default()).await.unwrap().items.len()
            + claims.list(&Default::default()).await.unwrap().items.len();
        (left == 0).then_some(())
    })
    .await;
    let log = limited.log();
    let forbidden: Vec<_> = log.lines().filter(|line| line.contains("forbidden")).collect();
    assert!(forbidden.is_empty(), "{forbidden:#?}");
    limited.stop().await;
}

/// Without a constraint, the scheduler chooses the first devices, which are aligned.
#[tokio::test]
#[ignore = "needs drivers of devices: .ci/operator-test dra"]
async fn an_alignment_that_changes_nothing_has_no_verdict() {
    let nodes = reserve_nodes().await;
    let namespace = TestNamespace::new(&nodes).await;
    let _operator = namespace.operator();
    let aligned = claims(1, [None, None], Alignment::PciRoot);
    let run = with_variants(
        "by-chance",
        claims(1, [None, None], Alignment::None),
        &[("aligned", aligned)],
    );
    namespace.create(&run).await;
    let status = namespace.wait_for_completion("by-chance").await;
    let comparison = status
        .comparisons
        .iter()
        .find(|one| one.arm == "aligned")
        .unwrap();
    assert_eq!(
        comparison.withheld,
        Some(WithheldReason::NotEngaged),
        "{comparison:#?}"
    );
    let reason = comparison.reason.as_deref().unwrap_or_default();
    assert!(
        reason.contains("the arm obtained the same devices as the baseline: gpu-0"),
        "{reason}"
    );
    namespace.delete().await;
}

/// A run with claims waits while a node offers GPUs through a device plugin as well.
#[tokio::test]
#[ignore = "needs drivers of devices: .ci/operator-test dra"]
async fn devices_that_are_offered_twice_are_refused() {
    let nodes = reserve_nodes().await;
    let namespace = TestNamespace::new(&nodes).await;
    let (_proxy, _operator) = namespace.cluster_operator().await;
    offer_gpus(&namespace, &nodes.names[1], 8).await;
    let mut run = with_variants("twice", claims(1, [None, None], Alignment::PciRoot), &[]);
    run.spec.sampling.rounds = Some(1);
    namespace.create(&run).await;
    let message = until_within(TIMEOUT, || async {
        let (_, reason, message) = condition(&namespace.status("twice").await, "Running")?;
        (reason == "DevicesOfferedTwice").then_some(message)
    })
    .await;
    let expected = format!(
        "node {} offers the same devices twice: 8 nvidia.com/gpu of a device plugin, and those of the driver gpu.nvidia.com",
        nodes.names[1]
    );
    assert!(message.contains(&expected), "{message}");
    assert!(namespace.worker(0).await.is_none(), "no pod is created");
    offer_gpus(&namespace, &nodes.names[1], 0).await;
    namespace.wait_for_completion("twice").await;
    namespace.delete().await;
}

/// Sets the number of GPUs that a device plugin offers on a node.
async fn offer_gpus(namespace: &TestNamespace, node: &str, count: u32) {
    let api: Api<Node> = Api::all(namespace.client.clone());
    let amounts = json!({"nvidia.com/gpu": count.to_string()});
    let status = json!({"status": {"capacity": amounts, "allocatable": amounts}});
    api.patch_status(node, &PatchParams::default(), &Patch::Merge(&status))
        .await
        .unwrap();
}

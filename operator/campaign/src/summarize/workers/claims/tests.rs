//! Tests the positions of devices, and which arms are comparable.

use crds::record::{
    ChainWriter, ClaimedDevice, EndRecord, HelloRecord, HostEnvironment, RECORD_VERSION, Record,
};
use crds::v1alpha1::{BenchmarkRun, Engagement};

use super::*;
use crate::collect::{FromStream, collect};
use crate::fixture::run_from_yaml;
use crate::plan::{HashedPlan, Separation, plan};
use crate::summarize::evidence::claims::difference;
use crate::summarize::evidence::difference_evidence::{DifferenceEvidence, DifferenceFinding};
use crate::validate::validate;

const YAML: &str = r#"
apiVersion: fabricbench.dev/v1alpha1
kind: BenchmarkRun
metadata: {name: a-run}
spec:
  baseline: unaligned
  variants:
  - {name: unaligned}
  - {name: aligned, claims: {requests: [{name: gpu, deviceClassName: gpu}, {name: nic, deviceClassName: nic}], align: PciRoot}}
  - name: two
    claims:
      requests: [{name: gpu, deviceClassName: gpu}, {name: nic, deviceClassName: nic, count: 2}]
      align: PciRoot
  - {name: other-image, image: registry.example/other}
  transport: {libfabric: {provider: tcp, rails: 1}}
  scenarios:
  - {name: small, pingPong: {sizes: [64], iterations: 10}}
  resources: {claims: {requests: [{name: gpu, deviceClassName: gpu}, {name: nic, deviceClassName: nic}]}}
"#;

fn planned() -> HashedPlan {
    let run: BenchmarkRun = run_from_yaml(YAML);
    plan(&validate(&run).unwrap()).unwrap()
}

fn arm(plan: &Plan, name: &str) -> usize {
    plan.arms.iter().position(|arm| arm.name == name).unwrap()
}

fn device(name: &str, root: Option<u32>, numa_node: Option<i64>) -> ClaimedDevice {
    ClaimedDevice {
        device: name.to_owned(),
        pci_root: root.map(|root| format!("pci0000:{root}")),
        numa_node,
        ..ClaimedDevice::default()
    }
}

/// GPU 0 with NICs, of which the first is NIC `first`. Four NICs share the root complex of a GPU, and NICs from 16 are on
/// the other NUMA node.
fn group(first: u32, count: u32) -> Vec<ClaimedDevice> {
    let nics = (first..first + count)
        .map(|nic| device(&format!("nic-{nic}"), Some(nic / 4), Some(i64::from(nic / 16))));
    std::iter::once(device("gpu-0", Some(0), Some(0)))
        .chain(nics)
        .collect()
}

/// Adds the devices that both workers obtained in each leg of the arm `name`.
fn obtain(reports: &mut Reports, plan: &HashedPlan, name: &str, devices: &[ClaimedDevice]) {
    let legs: Vec<u32> = plan
        .legs_of_arm(arm(plan, name), u32::MAX)
        .map(|leg| leg.leg)
        .collect();
    for leg in legs {
        for rank in 0..2 {
            let record = ClaimRecord {
                version: 1,
                identity: plan.identity("uid", leg, 1),
                rank,
                group: 0,
                node: Some(format!("node-{rank}")),
                devices: devices.to_vec(),
                unread: None,
            };
            reports.claims.push(FromStream {
                leg,
                attempt: 1,
                record,
            });
        }
    }
}

fn obtained<'a>(plan: &Plan, reports: &'a Reports, name: &str) -> ObtainedDevices<'a> {
    ObtainedDevices::new(plan, reports, arm(plan, name), u32::MAX)
}

fn assessed(plan: &Plan, reports: &Reports, name: &str) -> DifferenceEvidence {
    let claims = |name: &str| plan.arms[arm(plan, name)].claims.clone().unwrap();
    difference(
        (&claims(name), &obtained(plan, reports, name)),
        (&claims("unaligned"), &obtained(plan, reports, "unaligned")),
    )
}

#[test]
fn the_position_of_a_group_is_that_of_all_its_devices() {
    let position = |attributes: &[(Option<u32>, Option<i64>)]| {
        let devices = attributes.iter().map(|(root, node)| device("any", *root, *node));
        Position::of(&devices.collect::<Vec<_>>())
    };
    assert_eq!(position(&[(Some(1), None), (Some(1), None)]), Position::PciRoot);
    assert_eq!(
        position(&[(Some(1), Some(0)), (Some(2), Some(0))]),
        Position::NumaNode
    );
    assert_eq!(
        position(&[(Some(1), Some(0)), (Some(2), Some(1))]),
        Position::OtherNumaNodes
    );
    assert_eq!(
        position(&[(Some(1), None), (Some(2), Some(1))]),
        Position::OtherPciRoots
    );
    assert_eq!(
        position(&[(None, Some(0)), (Some(2), Some(0))]),
        Position::NumaNode
    );
    // A single unknown attribute leaves the position open: unknown is not different.
    assert_eq!(position(&[(None, Some(0)), (Some(2), None)]), Position::Unknown);
}

#[test]
fn arms_with_other_claims_run_in_other_legs_and_have_a_control() {
    let plan = planned();
    let separation = |name: &str| plan.arms[arm(&plan, name)].separation;
    assert_eq!(separation("aligned"), Separation::Claims);
    assert_eq!(separation("other-image"), Separation::Image);
    assert_eq!(
        plan.arms[arm(&plan, "control-claims")].claims,
        plan.arms[plan.baseline].claims
    );
    for leg in &plan.legs {
        let claims = leg.arms.iter().map(|(arm, _)| &plan.arms[*arm].claims);
        assert!(claims.into_iter().all(|claims| *claims == leg.claims), "{leg:?}");
    }
    let gangs: BTreeSet<Vec<usize>> = plan
        .legs
        .iter()
        .map(|leg| leg.arms.iter().map(|(arm, _)| *arm).collect())
        .collect();
    assert_eq!(
        gangs.len(),
        plan.arms.len(),
        "each arm has a gang of its own: {gangs:?}"
    );
}

#[test]
fn an_alignment_that_changes_no_device_or_position_is_not_engaged() {
    let plan = planned();
    let mut reports = Reports::default();
    obtain(&mut reports, &plan, "unaligned", &group(0, 1));
    obtain(&mut reports, &plan, "aligned", &group(0, 1));
    let same = assessed(&plan, &reports, "aligned");
    assert_eq!(
        (same.finding, same.engagement),
        (DifferenceFinding::Unchanged, Engagement::NotEngaged)
    );
    assert_eq!(
        same.reason,
        "the arm obtained the same devices as the baseline: gpu-0, nic-0 (same PCI root complex)"
    );
    let mut reports = Reports::default();
    obtain(&mut reports, &plan, "unaligned", &group(1, 1));
    obtain(&mut reports, &plan, "aligned", &group(0, 1));
    let same = assessed(&plan, &reports, "aligned");
    assert_eq!(
        (same.finding, same.engagement),
        (DifferenceFinding::Unchanged, Engagement::NotEngaged)
    );
    assert_eq!(
        same.reason,
        "the arm's devices have the same position as those of the baseline: same PCI root complex"
    );
    // More NICs are a difference, even in the same position.
    obtain(&mut reports, &plan, "two", &group(0, 2));
    assert_eq!(assessed(&plan, &reports, "two").engagement, Engagement::Confirmed);
}

#[test]
fn an_alignment_that_changes_the_position_is_confirmed() {
    let plan = planned();
    let mut reports = Reports::default();
    obtain(&mut reports, &plan, "unaligned", &group(16, 1));
    obtain(&mut reports, &plan, "aligned", &group(0, 1));
    let confirmed = assessed(&plan, &reports, "aligned");
    assert_eq!(confirmed.engagement, Engagement::Confirmed);
    assert_eq!(
        confirmed.reason,
        "the arm obtained gpu-0, nic-0 (same PCI root complex) instead of gpu-0, nic-16 (different NUMA nodes)"
    );
    assert_eq!(
        by_arm(&plan, &reports),
        [
            "unaligned: gpu-0, nic-16 (different NUMA nodes)",
            "aligned: gpu-0, nic-0 (same PCI root complex)",
        ]
    );
}

#[test]
fn devices_that_are_not_known_confirm_and_refute_nothing() {
    let plan = planned();
    let mut reports = Reports::default();
    obtain(&mut reports, &plan, "unaligned", &group(16, 1));
    let unknown = assessed(&plan, &reports, "aligned");
    assert_eq!(
        (unknown.finding, unknown.engagement),
        (DifferenceFinding::Unassessed, Engagement::RequestedOnly)
    );
    let worker_1 = reports.claims.len() + 1;
    obtain(&mut reports, &plan, "aligned", &group(0, 1));
    reports.claims[worker_1].record.devices.clear();
    reports.claims[worker_1].record.unread = Some("not permitted".to_owned());
    let unknown = assessed(&plan, &reports, "aligned");
    assert_eq!(unknown.reason, "the devices are not known: not permitted");
    assert_eq!(
        obtained(&plan, &reports, "aligned").differs_from(&obtained(&plan, &reports, "unaligned")),
        None
    );
    assert_eq!(
        warnings(&reports),
        ["the devices of the claims are not completely known: not permitted"]
    );
    assert_eq!(
        by_arm(&plan, &reports)[1..],
        [
            "aligned: rank 0: gpu-0, nic-0 (same PCI root complex)",
            "aligned: rank 1: not known: not permitted"
        ]
    );
    // Attributes that are not published leave the position open, so it cannot be the same.
    let unpublished: Vec<_> = ["gpu-0", "nic-0"].map(|name| device(name, None, None)).into();
    let other: Vec<_> = ["gpu-0", "nic-1"].map(|name| device(name, None, None)).into();
    let mut reports = Reports::default();
    obtain(&mut reports, &plan, "unaligned", &unpublished);
    obtain(&mut reports, &plan, "aligned", &other);
    assert_eq!(
        assessed(&plan, &reports, "aligned").engagement,
        Engagement::Confirmed
    );
}

#[test]
fn legs_with_other_devices_are_not_comparable() {
    let plan = planned();
    let mut reports = Reports::default();
    obtain(&mut reports, &plan, "unaligned", &group(0, 1));
    obtain(&mut reports, &plan, "other-image", &group(1, 1));
    let (baseline, other) = (
        obtained(&plan, &reports, "unaligned"),
        obtained(&plan, &reports, "other-image"),
    );
    assert_eq!(
        other.differs_from(&baseline).unwrap(),
        "gpu-0, nic-1 (same PCI root complex) on node node-0"
    );
    assert_eq!(baseline.changed(), None);
    let last = reports
        .claims
        .iter_mut()
        .rfind(|from| plan.legs_of_arm(plan.baseline, u32::MAX).last().unwrap().leg == from.leg);
    last.unwrap().record.devices = group(2, 1);
    let changed = obtained(&plan, &reports, "unaligned").changed().unwrap();
    assert!(
        changed.ends_with("(same PCI root complex) on node node-1"),
        "{changed}"
    );
}

/// The operator writes claim records while it stores the stream of a worker, in whose chain they must not be.
#[test]
fn claim_records_stand_between_the_lines_of_a_stream_but_not_in_its_chain() {
    let plan = planned();
    let hello = Record::Hello(Box::new(HelloRecord {
        version: RECORD_VERSION,
        identity: plan.identity("uid", 0, 1),
        rank: 0,
        workers: 2,
        runner_version: String::new(),
        started_at: String::new(),
        environment: HostEnvironment::default(),
    }));
    let claim = |uid: &str, nic| {
        Record::Claim(Box::new(ClaimRecord {
            version: RECORD_VERSION,
            identity: plan.identity(uid, 0, 1),
            rank: 0,
            group: 0,
            node: None,
            devices: group(nic, 1),
            unread: None,
        }))
    };
    let end = Record::End(EndRecord {
        blocks: 0,
        complete: false,
        failure: None,
    });
    let alone = |record: &Record| ChainWriter::default().line(record).unwrap();
    let mut stream = ChainWriter::default();
    let mut lines = stream.line(&hello).unwrap();
    // The second record about the same claim does not replace the first one.
    lines += &alone(&claim("uid", 1));
    lines += &alone(&claim("uid", 2));
    lines += &stream.line(&end).unwrap();
    let reports = collect(&plan, "uid", lines.as_bytes());
    assert!(reports.faults.is_empty(), "{:?}", reports.faults);
    assert_eq!(reports.claims.len(), 1);
    assert_eq!(reports.claims[0].record.devices, group(1, 1));
    assert_eq!(
        (reports.streams[0].lines, reports.streams[0].end.is_some()),
        (2, true)
    );

    let reports = collect(&plan, "uid", alone(&claim("other", 1)).as_bytes());
    assert_eq!((reports.claims.len(), reports.faults.len()), (0, 1));

    let mut stream = ChainWriter::default();
    let lines = [&hello, &claim("uid", 1)].map(|record| stream.line(record).unwrap());
    let reports = collect(&plan, "uid", lines.concat().as_bytes());
    assert_eq!((reports.claims.len(), reports.faults.len()), (0, 1));
}

//! Compares the objects that the operator would create for each example with a golden file. For each image and claim, the file
//! has the objects for the first attempt at the first leg that uses them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod fields;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use campaign::plan::{HashedPlan, plan};
use campaign::validate::validate;
use crds::assignment::{Assignment, OperationCount};
use crds::units::Size;
use crds::v1alpha1::BenchmarkRun;
use fabricbench_operator::options::OperatorConfig;
use fabricbench_operator::run_controller::attempt_id::AttemptId;
use fabricbench_operator::run_controller::build::{AttemptInputs, AttemptObjects, attempt};
use k8s_openapi::api::core::v1::{Container, PodSpec};
use serde_yaml::{Mapping, Value};

use crate::fields::{Fields, difference, fields};

const UID: &str = "6f0c6f1e-51f2-4d0e-9d5c-3d1b1a1e7c11";
const RUNNER: &str = "registry.example/fabricbench/runner:0.1.0";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn examples() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("examples")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

/// Compares `actual` with the golden file, or updates the file if `FABRICBENCH_UPDATE_GOLDEN` is set.
fn assert_golden(actual: &str) {
    let path = root().join("operator/tests/cluster_manifests/objects.txt");
    if std::env::var_os("FABRICBENCH_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, actual).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let (mut lines, mut golden) = (actual.lines(), expected.lines());
    let pairs = std::iter::from_fn(|| match (lines.next(), golden.next()) {
        (None, None) => None,
        pair => Some(pair),
    });
    let changed: Vec<_> = pairs
        .filter(|(actual, expected)| actual != expected)
        .take(5)
        .collect();
    assert!(
        expected == actual,
        "the objects differ from {}, first in: {changed:#?}. If the change is intended, run this test with FABRICBENCH_UPDATE_GOLDEN=1 \
         and review the difference.",
        path.display()
    );
}

/// Loads the runs in a file, adds the metadata that an API server would set, and computes their plans.
fn runs(file: &Path) -> Vec<(BenchmarkRun, HashedPlan)> {
    let runs = manifest::load(file, None).unwrap_or_else(|error| panic!("{error}"));
    let planned = runs.into_iter().map(|mut run| {
        run.metadata.namespace = Some("fabric".to_owned());
        run.metadata.uid = Some(UID.to_owned());
        let plan = plan(&validate(&run).unwrap()).unwrap();
        (run, plan)
    });
    planned.collect()
}

fn objects(run: &BenchmarkRun, plan: &HashedPlan, leg: usize, nodes: &[String]) -> AttemptObjects {
    let leg = &plan.legs[leg];
    let config = OperatorConfig {
        image_pull_secrets: vec!["registry".to_owned()],
        ..OperatorConfig::new(RUNNER)
    };
    let built = attempt(&AttemptInputs {
        run,
        plan,
        leg,
        id: AttemptId {
            leg: leg.leg,
            attempt: 1,
        },
        done: &BTreeSet::new(),
        operation_counts: &[],
        nodes,
        single_zone: run.spec.placement.single_zone,
        config: &config,
    });
    built.unwrap()
}

/// The fields of all objects of a leg. The assignment is compared with the plan and replaced by its identity and rendezvous. The
/// name of the run, the hash of its plan, the name of the attempt and the index of the leg become `RUN`, `PLAN`, `ATTEMPT` and
/// `LEG`.
fn fields_of(run: &BenchmarkRun, plan: &HashedPlan, leg: usize) -> Fields {
    let AttemptObjects {
        claim_template,
        prerequisites,
        job,
    } = objects(run, plan, leg, &[]);
    let config_map = &prerequisites.config_map;
    let assignment = &config_map.data.as_ref().unwrap()["assignment.json"];
    let assignment = Assignment::parse(assignment.as_bytes()).unwrap();
    assert_eq!(assignment.rounds, plan.legs[leg].rounds);
    assert_eq!(assignment.arms.len(), plan.legs[leg].arms.len());
    let attempt = job.metadata.name.clone().unwrap();
    let value = |object: serde_yaml::Result<Value>| object.unwrap();
    let mut config_map = value(serde_yaml::to_value(config_map));
    config_map["data"]["assignment.json"] = value(serde_yaml::to_value((
        &assignment.identity,
        &assignment.rendezvous,
    )));
    let mut job = value(serde_yaml::to_value(&job));
    let pod = job["spec"].as_mapping_mut().unwrap().remove("template").unwrap();
    let mut all = Mapping::from_iter([
        ("ConfigMap".into(), config_map),
        (
            "Service".into(),
            value(serde_yaml::to_value(&prerequisites.service)),
        ),
        ("Job".into(), job),
        ("Pod".into(), pod),
    ]);
    if let Some(template) = claim_template {
        all.insert(
            "ResourceClaimTemplate".into(),
            value(serde_yaml::to_value(&template)),
        );
    }
    let (name, index) = (run.metadata.name.clone().unwrap(), leg.to_string());
    let normal = |path: &str, text: &str| match text.trim_matches('"') {
        text if text == name => "RUN".to_owned(),
        text if text == index && (path.ends_with(".leg") || path.ends_with("/leg")) => "LEG".to_owned(),
        _ => text.replace(plan.hash(), "PLAN").replace(&attempt, "ATTEMPT"),
    };
    fields(&Value::Mapping(all), &normal)
}

/// One line for each leg, and a section for each set of objects that differs from those before by more than names: all fields of
/// the simplest example, and for the others the difference from it or from the first leg of the same run.
#[test]
fn example_objects_match_the_golden_file() {
    let mut table = format!("{:40} {:>6}  {:16}  objects\n", "leg", "rounds", "plan");
    let mut sections: Vec<(String, Fields)> = Vec::new();
    let mut differences = String::new();
    let mut files = examples();
    files.sort_by_key(|file| !file.ends_with("rpc.yaml"));
    let runs = files.iter().flat_map(|file| runs(file));
    for (run, plan) in runs {
        let name = run.metadata.name.as_ref().unwrap();
        let mut pods = BTreeSet::new();
        let mut first_of_run = None;
        for (index, leg) in plan.legs.iter().enumerate() {
            let claims = leg.claims.as_ref().map(ToString::to_string);
            if !pods.insert((leg.image.clone(), claims)) {
                continue;
            }
            let label = format!("{name}/{index}");
            let fields = fields_of(&run, &plan, index);
            let known = sections.iter().position(|(_, known)| *known == fields);
            let section = known.unwrap_or_else(|| {
                let from = sections.get(first_of_run.unwrap_or(0));
                let heading = from.map_or_else(String::new, |(from, _)| format!(", from {from}"));
                let empty = Fields::new();
                let lines = difference(from.map_or(&empty, |(_, from)| from), &fields);
                differences += &format!("\n{label}{heading}\n{lines}");
                sections.push((label.clone(), fields));
                sections.len() - 1
            });
            first_of_run = first_of_run.or(Some(section));
            let rounds = leg.rounds.len();
            table += &format!(
                "{label:40} {rounds:>6}  {}  {}\n",
                &plan.hash()[..16],
                sections[section].0
            );
        }
    }
    assert_golden(&(table + &differences));
}

fn pod(objects: &AttemptObjects) -> &PodSpec {
    let spec = objects.job.spec.as_ref().unwrap();
    spec.template.spec.as_ref().unwrap()
}

/// Checks each field that the `restricted` Pod Security Standard and the Guaranteed QoS class require.
#[test]
fn every_pod_is_restricted_and_guaranteed() {
    for file in examples() {
        for (run, plan) in runs(&file) {
            for leg in 0..plan.legs.len() {
                let objects = objects(&run, &plan, leg, &[]);
                let pod = pod(&objects);
                assert_eq!(pod.automount_service_account_token, Some(false));
                assert!(pod.service_account_name.is_none());
                assert!(pod.host_network.is_none() && pod.host_pid.is_none() && pod.host_ipc.is_none());
                let security = pod.security_context.as_ref().unwrap();
                assert_eq!(security.run_as_non_root, Some(true));
                assert_eq!(security.seccomp_profile.as_ref().unwrap().type_, "RuntimeDefault");
                let claim = run.spec.resources.persistent_volume_claim.as_ref();
                for volume in pod.volumes.iter().flatten() {
                    let mounted = volume.persistent_volume_claim.as_ref();
                    let is_claim = mounted.is_some_and(|mounted| Some(&mounted.claim_name) == claim);
                    assert!(
                        volume.empty_dir.is_some() || volume.config_map.is_some() || is_claim,
                        "{}",
                        volume.name
                    );
                }
                let containers = pod.containers.iter().chain(pod.init_containers.iter().flatten());
                containers.for_each(check_container);
            }
        }
    }
}

fn check_container(container: &Container) {
    let security = container.security_context.as_ref().unwrap();
    assert_eq!(security.allow_privilege_escalation, Some(false));
    assert_eq!(security.read_only_root_filesystem, Some(true));
    let capabilities = security.capabilities.as_ref().unwrap();
    assert_eq!(capabilities.drop.as_deref(), Some(&["ALL".to_owned()][..]));
    assert!(capabilities.add.is_none() && security.privileged.is_none());
    let resources = container.resources.as_ref().unwrap();
    assert_eq!(resources.requests, resources.limits);
    assert!(
        ["cpu", "memory"]
            .iter()
            .all(|name| resources.limits.as_ref().unwrap().contains_key(*name))
    );
}

#[test]
fn all_arms_use_the_same_resources_and_runner() {
    let file = root().join("examples/vendor-image.yaml");
    let (run, plan) = runs(&file).pop().unwrap();
    let all: Vec<_> = (0..plan.legs.len())
        .map(|leg| objects(&run, &plan, leg, &[]))
        .collect();
    let first = &pod(&all[0]).containers[0];
    for objects in &all {
        let pod = pod(objects);
        assert_eq!(pod.containers[0].resources, first.resources);
        assert_eq!(pod.containers[0].command, first.command);
        assert_eq!(
            pod.init_containers.as_ref().unwrap()[0].image.as_deref(),
            Some(RUNNER)
        );
    }
}

#[test]
fn placement_and_resources_from_the_spec_are_applied() {
    let (mut run, plan) = runs(&root().join("examples/demo.yaml")).remove(0);
    let placement = &mut run.spec.placement;
    placement.queue_name = Some("fabric".to_owned());
    placement.priority_class_name = Some("low".to_owned());
    placement.exclusive = false;
    placement.single_zone = false;
    run.spec.resources.shared_memory = Some(Size(3 << 20));
    run.spec.resources.hugepages_2mi = Some(Size(4 << 20));
    let nodes = ["node-a".to_owned(), "node-b".to_owned()];
    let built = objects(&run, &plan, 0, &nodes);
    let job = built.job.spec.as_ref().unwrap();
    assert_eq!(job.suspend, Some(true));
    let labels = built.job.metadata.labels.as_ref().unwrap();
    assert_eq!(labels["kueue.x-k8s.io/queue-name"], "fabric");
    let pod = pod(&built);
    assert_eq!(pod.priority_class_name.as_deref(), Some("low"));
    let affinity = pod.affinity.as_ref().unwrap();
    assert!(affinity.pod_affinity.is_none());
    let node = affinity.node_affinity.as_ref().unwrap();
    let selector = node
        .required_during_scheduling_ignored_during_execution
        .as_ref()
        .unwrap();
    assert_eq!(selector.node_selector_terms.len(), 2);
    let anti_affinity = affinity.pod_anti_affinity.as_ref().unwrap();
    let anti_affinity = anti_affinity
        .required_during_scheduling_ignored_during_execution
        .as_ref()
        .unwrap();
    assert!(
        anti_affinity[0].namespace_selector.is_none(),
        "a non-exclusive run separates only its own workers"
    );
    let limits = pod.containers[0]
        .resources
        .as_ref()
        .unwrap()
        .limits
        .as_ref()
        .unwrap();
    assert_eq!(limits["hugepages-2Mi"].0, "4Mi");
    let volumes = pod.volumes.as_ref().unwrap();
    let shm = volumes.iter().find(|volume| volume.name == "shm").unwrap();
    assert_eq!(
        shm.empty_dir.as_ref().unwrap().size_limit.as_ref().unwrap().0,
        "3Mi"
    );
}

/// A user who may create runs, but no pods, cannot use the operator's permissions for more than the fields of the spec: nothing
/// in the metadata of the run reaches its objects, except the requests for a topology of a queued run, and no object refers to
/// another namespace.
#[test]
fn metadata_of_a_run_does_not_reach_its_objects() {
    for file in examples() {
        for (mut run, plan) in runs(&file) {
            let foreign = |name: &str| [(name.to_owned(), "foreign".to_owned())].into();
            run.metadata.labels = Some(foreign("kueue.x-k8s.io/queue-name"));
            run.metadata.annotations = Some(foreign("container.apparmor.security.beta.kubernetes.io/worker"));
            run.metadata.finalizers = Some(vec!["foreign.example/finalizer".to_owned()]);
            run.metadata.generate_name = Some("foreign".to_owned());
            let AttemptObjects {
                claim_template,
                prerequisites,
                job,
            } = objects(&run, &plan, 0, &[]);
            let template = serde_json::to_string(&claim_template).unwrap();
            assert!(!template.contains("foreign"), "{template}");
            let text = [
                serde_json::to_string(&prerequisites.config_map).unwrap(),
                serde_json::to_string(&prerequisites.service).unwrap(),
                serde_json::to_string(&job).unwrap(),
            ];
            for (text, metadata) in text.iter().zip([
                &prerequisites.config_map.metadata,
                &prerequisites.service.metadata,
                &job.metadata,
            ]) {
                assert!(!text.contains("foreign"), "{text}");
                assert_eq!(metadata.namespace.as_deref(), Some("fabric"));
                assert_eq!(text.matches("\"namespace\":").count(), 1, "{text}");
            }
            let template = &job.spec.as_ref().unwrap().template;
            let metadata = template.metadata.as_ref().unwrap();
            let labels: Vec<&str> = metadata
                .labels
                .iter()
                .flatten()
                .map(|(name, _)| name.as_str())
                .collect();
            assert_eq!(
                labels,
                [
                    "app.kubernetes.io/managed-by",
                    "fabricbench.dev/attempt",
                    "fabricbench.dev/leg",
                    "fabricbench.dev/run",
                    "fabricbench.dev/run-uid"
                ]
            );
            let annotations: Vec<&str> = metadata
                .annotations
                .iter()
                .flatten()
                .map(|(name, _)| name.as_str())
                .collect();
            assert_eq!(
                annotations,
                [
                    "cluster-autoscaler.kubernetes.io/safe-to-evict",
                    "fabricbench.dev/plan-hash",
                    "karpenter.sh/do-not-disrupt"
                ]
            );
        }
    }
}

/// The pods of a queued run get Kueue's requests for a topology, and no other annotation of the run.
#[test]
fn only_requests_for_a_topology_reach_the_pods_of_a_queued_run() {
    let (mut run, plan) = runs(&root().join("examples/demo.yaml")).remove(0);
    let requested = "kueue.x-k8s.io/podset-required-topology";
    let annotations = [
        (requested, "rack"),
        ("kueue.x-k8s.io/workload-slice-name", "foreign"),
        ("fabricbench.dev/plan-hash", "foreign"),
        ("karpenter.sh/do-not-disrupt", "foreign"),
    ];
    let annotations = annotations.map(|(name, value)| (name.to_owned(), value.to_owned()));
    run.metadata.annotations = Some(annotations.into());
    run.spec.placement.queue_name = Some("queue".to_owned());
    let job = objects(&run, &plan, 0, &[]).job;
    let text = serde_json::to_string(&job).unwrap();
    assert!(!text.contains("foreign"), "{text}");
    let queue = job.metadata.labels.as_ref().unwrap();
    assert_eq!(queue["kueue.x-k8s.io/queue-name"], "queue");
    assert!(
        !job.metadata
            .annotations
            .iter()
            .flatten()
            .any(|(name, _)| name == requested)
    );
    let template = job.spec.as_ref().unwrap().template.metadata.as_ref().unwrap();
    let annotations = template.annotations.as_ref().unwrap();
    assert_eq!(annotations[requested], "rack");
    let names: Vec<&str> = annotations.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "cluster-autoscaler.kubernetes.io/safe-to-evict",
            "fabricbench.dev/plan-hash",
            "karpenter.sh/do-not-disrupt",
            requested
        ]
    );
}

#[test]
fn next_attempt_omits_finished_blocks_and_keeps_the_operation_counts() {
    let (run, plan) = runs(&root().join("examples/demo.yaml")).remove(0);
    let leg = &plan.legs[0];
    let blocks = || {
        leg.rounds
            .iter()
            .flat_map(|round| &round.blocks)
            .map(|block| block.block)
    };
    let last = blocks().max().unwrap();
    let done: BTreeSet<_> = blocks().filter(|block| *block != last).collect();
    let count = OperationCount {
        scenario: 0,
        size_bytes: 64,
        iterations: 12_345,
    };
    let built = attempt(&AttemptInputs {
        run: &run,
        plan: &plan,
        leg,
        id: AttemptId { leg: 0, attempt: 2 },
        done: &done,
        operation_counts: &[count],
        nodes: &[],
        single_zone: true,
        config: &OperatorConfig::new(RUNNER),
    });
    let assignment = &built.unwrap().prerequisites.config_map.data.unwrap()["assignment.json"];
    let assignment = Assignment::parse(assignment.as_bytes()).unwrap();
    let remaining: Vec<_> = assignment.rounds.iter().flat_map(|round| &round.blocks).collect();
    assert_eq!(remaining.len(), 1);
    assert_eq!((remaining[0].block, assignment.identity.attempt), (last, 2));
    assert_eq!(assignment.operation_counts, [count]);
}

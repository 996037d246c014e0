//! The worker pod template. Performs no I/O.

use k8s_openapi::api::core::v1::{
    ConfigMapVolumeSource, Container, EmptyDirVolumeSource, LocalObjectReference,
    PersistentVolumeClaimVolumeSource, PodSpec, PodTemplateSpec, ResourceRequirements, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::config_map::ASSIGNMENT_KEY;
use super::resources::WorkerResources;
use super::{AttemptInputs, WORKER_CONTAINER, affinity, claims, image, library, runner_volume, security};
use crds::names;
use crds::units::Size;

/// Name of the volume for the run's PersistentVolumeClaim.
const CLAIM_VOLUME: &str = "shared";
/// Directory in which the assignment is mounted.
const ASSIGNMENT_DIRECTORY: &str = "/etc/fabricbench";
/// File to which the runner writes the end record, which the kubelet reads as the termination message.
const TERMINATION_LOG: &str = "/dev/termination-log";
/// Grace period for a worker, which exits within 10 s of SIGTERM.
const GRACE_SECONDS: i64 = 30;
/// Size limit, in bytes, of the runner volume and of `/tmp`, which holds the capped output of instruments.
const TEMPORARY_BYTES: u64 = 256 << 20;
/// Annotations that prevent autoscalers from removing a worker's node, which would invalidate the measurement.
const NO_SCALE_DOWN: [(&str, &str); 2] = [
    ("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"),
    ("karpenter.sh/do-not-disrupt", "true"),
];

/// Annotations of a queued run that its pods get: Kueue's requests for a topology.
const TOPOLOGY: [&str; 6] = [
    "kueue.x-k8s.io/podset-required-topology",
    "kueue.x-k8s.io/podset-preferred-topology",
    "kueue.x-k8s.io/podset-unconstrained-topology",
    "kueue.x-k8s.io/podset-slice-required-topology",
    "kueue.x-k8s.io/podset-slice-size",
    "kueue.x-k8s.io/podset-group-name",
];

pub(super) fn build(attempt: &AttemptInputs<'_>) -> PodTemplateSpec {
    let placement = &attempt.run.spec.placement;
    let resources = WorkerResources::new(&attempt.run.spec.resources, attempt.config);
    let hash = (
        names::ANNOTATION_PLAN_HASH.to_owned(),
        attempt.plan.hash().to_owned(),
    );
    let no_scale_down = NO_SCALE_DOWN.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let requested = attempt.run.metadata.annotations.iter().flatten();
    let topology = requested
        .filter(|_| placement.queue_name.is_some())
        .filter(|(name, _)| TOPOLOGY.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()));
    let secrets = attempt.config.image_pull_secrets.iter();
    let secrets: Vec<_> = secrets
        .map(|name| LocalObjectReference { name: name.clone() })
        .collect();
    PodTemplateSpec {
        metadata: Some(ObjectMeta {
            labels: Some(attempt.labels()),
            annotations: Some(no_scale_down.into_iter().chain([hash]).chain(topology).collect()),
            ..ObjectMeta::default()
        }),
        spec: Some(PodSpec {
            affinity: Some(affinity::build(attempt)),
            automount_service_account_token: Some(false),
            containers: vec![worker(attempt, &resources)],
            // Otherwise, the kubelet would set environment variables for all Services in the namespace.
            enable_service_links: Some(false),
            image_pull_secrets: (!secrets.is_empty()).then_some(secrets),
            init_containers: init_containers(attempt),
            node_selector: (!placement.node_selector.is_empty()).then(|| placement.node_selector.clone()),
            resource_claims: claims::of_pod(attempt),
            priority_class_name: placement.priority_class_name.clone(),
            restart_policy: Some("Never".to_owned()),
            security_context: Some(security::pod(attempt.config.ipc_lock)),
            subdomain: Some(attempt.name()),
            termination_grace_period_seconds: Some(GRACE_SECONDS),
            tolerations: Some(affinity::tolerations(attempt)),
            volumes: Some(volumes(attempt, &resources)),
            ..PodSpec::default()
        }),
    }
}

/// Returns the containers that install the runner and copy libraries from other images; `None` if none are needed.
fn init_containers(attempt: &AttemptInputs<'_>) -> Option<Vec<Container>> {
    if !image::has_runner_volume(attempt) {
        return None;
    }
    let copies = library::copies(attempt);
    let copying = copies.iter().map(|copy| library::container(attempt, copy));
    Some(
        std::iter::once(image::installer(attempt))
            .chain(copying)
            .collect(),
    )
}

fn worker(attempt: &AttemptInputs<'_>, resources: &WorkerResources) -> Container {
    let needs_installer = image::needs_installer(attempt);
    let mounted = |name: &str, path: &str, read_only: bool| VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        read_only: read_only.then_some(true),
        ..VolumeMount::default()
    };
    let mut mounts = vec![
        mounted("assignment", ASSIGNMENT_DIRECTORY, true),
        mounted("tmp", "/tmp", false),
        mounted("shm", "/dev/shm", false),
    ];
    let claim = attempt.run.spec.resources.persistent_volume_claim.as_ref();
    mounts.extend(claim.map(|_| mounted(CLAIM_VOLUME, names::SHARED_DIRECTORY, false)));
    mounts.extend(needs_installer.then(|| runner_volume::mount(true)));
    let copies = library::copies(attempt);
    mounts.extend(copies.iter().map(|copy| library::mount(copy, true)));
    let arguments = ["worker", "--assignment"].map(str::to_owned);
    let file = format!("{ASSIGNMENT_DIRECTORY}/{ASSIGNMENT_KEY}");
    Container {
        name: WORKER_CONTAINER.to_owned(),
        image: Some(attempt.image().to_owned()),
        image_pull_policy: attempt.config.image_pull_policy.clone(),
        command: needs_installer.then(|| vec![runner_volume::runner_path()]),
        args: Some(arguments.into_iter().chain([file]).collect()),
        env: Some(image::environment(attempt)),
        resources: Some(ResourceRequirements {
            claims: claims::of_container(attempt),
            ..resources.requirements()
        }),
        security_context: Some(security::worker(attempt.config.ipc_lock)),
        termination_message_path: Some(TERMINATION_LOG.to_owned()),
        // If the runner cannot write its end record, the end of its log is reported instead.
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        volume_mounts: Some(mounts),
        ..Container::default()
    }
}

fn volumes(attempt: &AttemptInputs<'_>, resources: &WorkerResources) -> Vec<Volume> {
    let empty = |name: &str, medium: Option<&str>, bytes: u64| Volume {
        name: name.to_owned(),
        empty_dir: Some(EmptyDirVolumeSource {
            medium: medium.map(str::to_owned),
            size_limit: Some(Quantity(Size(bytes).to_string())),
        }),
        ..Volume::default()
    };
    let mut volumes = vec![
        Volume {
            name: "assignment".to_owned(),
            config_map: Some(ConfigMapVolumeSource {
                name: attempt.name(),
                ..ConfigMapVolumeSource::default()
            }),
            ..Volume::default()
        },
        empty("tmp", None, TEMPORARY_BYTES),
        empty("shm", Some("Memory"), resources.shared_memory),
    ];
    let claim = attempt.run.spec.resources.persistent_volume_claim.as_ref();
    volumes.extend(claim.map(|name| Volume {
        name: CLAIM_VOLUME.to_owned(),
        persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
            claim_name: name.clone(),
            read_only: None,
        }),
        ..Volume::default()
    }));
    volumes.extend(
        image::has_runner_volume(attempt)
            .then(|| empty(runner_volume::INSTALL_VOLUME, None, TEMPORARY_BYTES)),
    );
    let copies = library::copies(attempt);
    volumes.extend(
        copies
            .iter()
            .map(|copy| empty(&library::name(copy), None, names::MAX_LIBRARY_BYTES)),
    );
    volumes
}

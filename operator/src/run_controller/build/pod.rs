//! The pod of a worker. Pure.
//!
//! It passes the `restricted` Pod Security Standard: no root, no privilege, no capability, no host, no token, and nothing
//! it can write to but `/tmp` and `/dev/shm`; but for [`super::Installation::ipc_lock`].

use k8s_openapi::api::core::v1::{
    Capabilities, ConfigMapVolumeSource, Container, EmptyDirVolumeSource, LocalObjectReference,
    PodSecurityContext, PodSpec, PodTemplateSpec, SeccompProfile, SecurityContext, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::config_map::ASSIGNMENT_KEY;
use super::resources::WorkerResources;
use super::{Attempt, WORKER_CONTAINER, affinity, image};
use crds::names;
use crds::units::Size;

/// User and group of the runner's images.
const USER: i64 = 65532;
/// Folder of the assignment.
const ASSIGNMENT_FOLDER: &str = "/etc/fabricbench";
/// Where the kubelet looks for the end record, and the runner writes it.
const TERMINATION_LOG: &str = "/dev/termination-log";
/// A worker leaves within 10 s of SIGTERM, in order or not.
const GRACE_SECONDS: i64 = 30;
/// Most bytes of `/tmp`: the capped output of instruments.
const TEMPORARY_BYTES: u64 = 256 << 20;
/// Annotations by which autoscalers leave a pod's node alone: to measure on another one is another measurement.
const STAY: [(&str, &str); 2] = [
    ("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"),
    ("karpenter.sh/do-not-disrupt", "true"),
];

pub(super) fn build(attempt: &Attempt<'_>) -> PodTemplateSpec {
    let placement = &attempt.run.spec.placement;
    let resources = WorkerResources::of(&attempt.run.spec.resources, attempt.installation);
    let hash = (
        names::ANNOTATION_PLAN_HASH.to_owned(),
        attempt.plan_hash.to_owned(),
    );
    let stay = STAY.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let secrets = attempt.installation.image_pull_secrets.iter();
    let secrets: Vec<_> = secrets
        .map(|name| LocalObjectReference { name: name.clone() })
        .collect();
    PodTemplateSpec {
        metadata: Some(ObjectMeta {
            labels: Some(attempt.labels()),
            annotations: Some(stay.into_iter().chain([hash]).collect()),
            ..ObjectMeta::default()
        }),
        spec: Some(PodSpec {
            affinity: Some(affinity::build(attempt)),
            automount_service_account_token: Some(false),
            containers: vec![worker(attempt, resources)],
            // Services of the namespace as variables would be another environment in another namespace.
            enable_service_links: Some(false),
            image_pull_secrets: (!secrets.is_empty()).then_some(secrets),
            init_containers: image::is_foreign(attempt).then(|| vec![image::installer(attempt)]),
            node_selector: (!placement.node_selector.is_empty()).then(|| placement.node_selector.clone()),
            priority_class_name: placement.priority_class_name.clone(),
            restart_policy: Some("Never".to_owned()),
            security_context: Some(user(attempt.installation.ipc_lock)),
            subdomain: Some(attempt.name()),
            termination_grace_period_seconds: Some(GRACE_SECONDS),
            tolerations: Some(affinity::tolerations(attempt)),
            volumes: Some(volumes(attempt, resources)),
            ..PodSpec::default()
        }),
    }
}

/// Nobody in particular, or root.
fn user(root: bool) -> PodSecurityContext {
    let user = if root { 0 } else { USER };
    PodSecurityContext {
        run_as_non_root: Some(!root),
        run_as_user: Some(user),
        run_as_group: Some(user),
        fs_group: Some(user),
        seccomp_profile: Some(SeccompProfile {
            type_: "RuntimeDefault".to_owned(),
            ..SeccompProfile::default()
        }),
        ..PodSecurityContext::default()
    }
}

fn worker(attempt: &Attempt<'_>, resources: WorkerResources) -> Container {
    let foreign = image::is_foreign(attempt);
    let mounted = |name: &str, path: &str, read_only: bool| VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        read_only: read_only.then_some(true),
        ..VolumeMount::default()
    };
    let mut mounts = vec![
        mounted("assignment", ASSIGNMENT_FOLDER, true),
        mounted("tmp", "/tmp", false),
        mounted("shm", "/dev/shm", false),
    ];
    mounts.extend(foreign.then(|| image::mount(true)));
    let arguments = ["worker", "--assignment"].map(str::to_owned);
    let file = format!("{ASSIGNMENT_FOLDER}/{ASSIGNMENT_KEY}");
    Container {
        name: WORKER_CONTAINER.to_owned(),
        image: Some(attempt.image().to_owned()),
        image_pull_policy: attempt.installation.image_pull_policy.clone(),
        command: foreign.then(|| vec![image::program()]),
        args: Some(arguments.into_iter().chain([file]).collect()),
        env: Some(image::environment(attempt)),
        resources: Some(resources.requirements()),
        security_context: Some(privileges(attempt.installation.ipc_lock)),
        termination_message_path: Some(TERMINATION_LOG.to_owned()),
        // Where the runner could not even write that, its last words are what is known.
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        volume_mounts: Some(mounts),
        ..Container::default()
    }
}

fn privileges(ipc_lock: bool) -> SecurityContext {
    let mut context = restricted();
    if let (true, Some(capabilities)) = (ipc_lock, &mut context.capabilities) {
        capabilities.add = Some(vec!["IPC_LOCK".to_owned()]);
    }
    context
}

/// No privilege whatever, and nothing to write to.
pub(super) fn restricted() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        capabilities: Some(Capabilities {
            drop: Some(vec!["ALL".to_owned()]),
            ..Capabilities::default()
        }),
        read_only_root_filesystem: Some(true),
        ..SecurityContext::default()
    }
}

fn volumes(attempt: &Attempt<'_>, resources: WorkerResources) -> Vec<Volume> {
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
    volumes.extend(image::is_foreign(attempt).then(|| empty(image::INSTALL_VOLUME, None, TEMPORARY_BYTES)));
    volumes
}

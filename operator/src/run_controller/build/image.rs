//! The image of the workers, and how the runner comes into one that has none. Pure.

use crds::names;
use k8s_openapi::api::core::v1::{Container, EnvVar, EnvVarSource, ObjectFieldSelector, VolumeMount};

use super::{Attempt, pod, resources};

/// Folder the runner is copied to, in a volume.
const INSTALL_FOLDER: &str = "/fabricbench";
/// Volume of that folder.
pub(super) const INSTALL_VOLUME: &str = "runner";

/// Whether the runner has to be copied into the image: into every one but the installation's own, also where it has a
/// runner, so that all arms are measured by the same one.
pub(super) fn is_foreign(attempt: &Attempt<'_>) -> bool {
    attempt.image() != attempt.installation.runner_image
}

/// Brings the runner.
pub(super) fn installer(attempt: &Attempt<'_>) -> Container {
    Container {
        name: "install".to_owned(),
        image: Some(attempt.installation.runner_image.clone()),
        image_pull_policy: attempt.installation.image_pull_policy.clone(),
        args: Some(vec!["install".to_owned(), INSTALL_FOLDER.to_owned()]),
        resources: Some(resources::installer()),
        security_context: Some(pod::restricted()),
        volume_mounts: Some(vec![mount(false)]),
        ..Container::default()
    }
}

/// Where the installer writes, and the worker only reads.
pub(super) fn mount(read_only: bool) -> VolumeMount {
    VolumeMount {
        name: INSTALL_VOLUME.to_owned(),
        mount_path: INSTALL_FOLDER.to_owned(),
        read_only: Some(read_only),
        ..VolumeMount::default()
    }
}

/// Program of a worker in a foreign image; elsewhere the runner is the image's entry point.
pub(super) fn program() -> String {
    format!("{INSTALL_FOLDER}/fabricbench-runner")
}

/// What a worker cannot find out by itself: its node's name, and its image's digest where the image is named by it.
pub(super) fn environment(attempt: &Attempt<'_>) -> Vec<EnvVar> {
    let node = EnvVar {
        name: names::ENV_NODE.to_owned(),
        value_from: Some(EnvVarSource {
            field_ref: Some(ObjectFieldSelector {
                field_path: "spec.nodeName".to_owned(),
                ..ObjectFieldSelector::default()
            }),
            ..EnvVarSource::default()
        }),
        ..EnvVar::default()
    };
    let digest = attempt.image().split_once('@').map(|(_, digest)| EnvVar {
        name: names::ENV_IMAGE_DIGEST.to_owned(),
        value: Some(digest.to_owned()),
        ..EnvVar::default()
    });
    // A pod's log is both of its outputs in one: among the records nobody wants to read warnings, which are in them anyway.
    let log = EnvVar {
        name: names::ENV_LOG.to_owned(),
        value: Some("error".to_owned()),
        ..EnvVar::default()
    };
    [node, log].into_iter().chain(digest).collect()
}

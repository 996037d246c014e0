//! The worker image, and the installation of the runner into images other than the runner image. Performs no I/O.

use crds::names;
use k8s_openapi::api::core::v1::{Container, EnvVar, EnvVarSource, ObjectFieldSelector};

use super::runner_volume::{INSTALL_DIRECTORY, mount};
use super::{AttemptInputs, library, resources, security};

/// Whether an init container must install the runner for the image. This is done for every image except the runner
/// image, even one that contains a runner, so that the same binary measures all arms.
pub(super) fn needs_installer(attempt: &AttemptInputs<'_>) -> bool {
    attempt.image() != attempt.config.runner_image
}

/// Whether the pod has a volume that contains the runner, either for the worker or for init containers with other
/// images.
pub(super) fn has_runner_volume(attempt: &AttemptInputs<'_>) -> bool {
    needs_installer(attempt) || !library::copies(attempt).is_empty()
}

/// Init container that copies the runner to the volume.
pub(super) fn installer(attempt: &AttemptInputs<'_>) -> Container {
    Container {
        name: "install".to_owned(),
        image: Some(attempt.config.runner_image.clone()),
        image_pull_policy: attempt.config.image_pull_policy.clone(),
        args: Some(vec!["install".to_owned(), INSTALL_DIRECTORY.to_owned()]),
        resources: Some(resources::installer()),
        security_context: Some(security::restricted_context()),
        volume_mounts: Some(vec![mount(false)]),
        ..Container::default()
    }
}

/// Returns a worker's environment variables: the name of its node, the log level, and the digest of its image if the
/// image reference has a digest.
pub(super) fn environment(attempt: &AttemptInputs<'_>) -> Vec<EnvVar> {
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
    // A pod's log mixes stdout, which carries the records, and stderr. The records contain all warnings, so only errors
    // are logged.
    let log = EnvVar {
        name: names::ENV_LOG.to_owned(),
        value: Some("error".to_owned()),
        ..EnvVar::default()
    };
    [node, log].into_iter().chain(digest).collect()
}

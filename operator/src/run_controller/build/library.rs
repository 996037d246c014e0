//! Init containers that copy libraries from other images into the pod. Performs no I/O.

use std::collections::BTreeSet;

use crds::library_copy::LibraryCopy;
use k8s_openapi::api::core::v1::{Container, VolumeMount};

use super::{AttemptInputs, resources, runner_volume, security};

/// Returns the directories that the run's variants load from other images. All pods of the run contain all of them, so
/// that gangs with different images differ in no other way.
pub(super) fn copies<'a>(attempt: &AttemptInputs<'a>) -> Vec<LibraryCopy<'a>> {
    let copies = attempt.run.spec.variants.iter();
    let unique: BTreeSet<_> = copies.filter_map(|variant| variant.library_copy()).collect();
    unique.into_iter().collect()
}

/// Returns the name of the volume and the init container for `copy`.
pub(super) fn name(copy: &LibraryCopy<'_>) -> String {
    format!("library-{}", copy.id())
}

/// Returns the init container that uses the image of `copy`. It executes the runner that has already been installed,
/// because the image might contain no programs.
pub(super) fn container(attempt: &AttemptInputs<'_>, copy: &LibraryCopy<'_>) -> Container {
    let arguments = ["copy-library", copy.directory, &copy.path()];
    Container {
        name: name(copy),
        image: Some(copy.image.to_owned()),
        image_pull_policy: attempt.config.image_pull_policy.clone(),
        command: Some(vec![runner_volume::runner_path()]),
        args: Some(arguments.map(str::to_owned).to_vec()),
        resources: Some(resources::installer()),
        security_context: Some(security::restricted_context()),
        // The log contains the reason for a failure.
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        volume_mounts: Some(vec![runner_volume::mount(true), mount(copy, false)]),
        ..Container::default()
    }
}

/// Mount of the copy: writable in its init container, read-only in the worker.
pub(super) fn mount(copy: &LibraryCopy<'_>, read_only: bool) -> VolumeMount {
    VolumeMount {
        name: name(copy),
        mount_path: copy.path(),
        read_only: Some(read_only),
        ..VolumeMount::default()
    }
}

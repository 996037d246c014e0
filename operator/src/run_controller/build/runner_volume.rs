//! The volume to which the runner is copied, for containers whose image is not the runner image. Performs no I/O.

use k8s_openapi::api::core::v1::VolumeMount;

/// Directory of the volume to which the runner is copied.
pub(super) const INSTALL_DIRECTORY: &str = "/fabricbench";
/// Name of the volume to which the runner is copied.
pub(super) const INSTALL_VOLUME: &str = "runner";

/// Returns the mount of the volume that contains the runner: writable in the installer, read-only in all other
/// containers.
pub(super) fn mount(read_only: bool) -> VolumeMount {
    VolumeMount {
        name: INSTALL_VOLUME.to_owned(),
        mount_path: INSTALL_DIRECTORY.to_owned(),
        read_only: Some(read_only),
        ..VolumeMount::default()
    }
}

/// Returns the path of the copied runner. In the runner image, the runner is the entry point.
pub(super) fn runner_path() -> String {
    format!("{INSTALL_DIRECTORY}/fabricbench-runner")
}

//! The security contexts of pods. Performs no I/O.
//!
//! A worker pod meets the `restricted` Pod Security Standard: it runs as a non-root user, without privileges,
//! capabilities or host namespaces. In addition, it has no service account token, and only `/tmp`, `/dev/shm` and the
//! PersistentVolumeClaim of the run are writable. The only exception is [`crate::options::OperatorConfig::ipc_lock`].

use k8s_openapi::api::core::v1::{Capabilities, PodSecurityContext, SeccompProfile, SecurityContext};

/// User and group ID in the runner images.
const USER_ID: i64 = 65532;
/// Security context of a worker pod, which runs as the runner's user or as root.
pub(super) fn pod(root: bool) -> PodSecurityContext {
    let user = if root { 0 } else { USER_ID };
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

/// Security context of the worker container. `ipc_lock` adds the `IPC_LOCK` capability, which permits locking memory.
pub(super) fn worker(ipc_lock: bool) -> SecurityContext {
    let mut context = restricted_context();
    if let (true, Some(capabilities)) = (ipc_lock, &mut context.capabilities) {
        capabilities.add = Some(vec!["IPC_LOCK".to_owned()]);
    }
    context
}

/// Security context without privileges and with a read-only root file system.
pub(super) fn restricted_context() -> SecurityContext {
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

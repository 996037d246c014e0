//! The worker assignment for an attempt, in an immutable ConfigMap. Performs no I/O.

use campaign::plan::{AssignmentInputs, assignment};
use crds::assignment::{Assignment, MAX_ASSIGNMENT_BYTES, Rendezvous};
use k8s_openapi::api::core::v1::ConfigMap;
use snafu::{ResultExt, ensure};

use super::{AttemptInputs, BuildError, TooLongSnafu, WriteSnafu, labels, names, service};

/// ConfigMap key of the assignment, and its file name in a pod.
pub(super) const ASSIGNMENT_KEY: &str = "assignment.json";

/// Time for which workers continue to wait for their peers after the pending deadline, so that the controller stops
/// them before they time out.
const RENDEZVOUS_GRACE_SECONDS: u32 = 60;
/// Maximum time for which a worker occupies a node while it waits for its peers.
const MAX_RENDEZVOUS_SECONDS: u32 = 3600;

pub(super) fn build(attempt: &AttemptInputs<'_>) -> Result<ConfigMap, BuildError> {
    let leg = attempt.id.leg;
    let text = serde_json::to_string(&build_assignment(attempt)).context(WriteSnafu { leg })?;
    ensure!(
        text.len() <= MAX_ASSIGNMENT_BYTES,
        TooLongSnafu {
            leg,
            length: text.len(),
            limit: MAX_ASSIGNMENT_BYTES
        }
    );
    Ok(ConfigMap {
        metadata: labels::metadata(attempt.run, attempt.name(), attempt.labels(), attempt.plan.hash()),
        data: Some([(ASSIGNMENT_KEY.to_owned(), text)].into()),
        // The pods read the assignment only once, so a change would have no effect.
        immutable: Some(true),
        ..ConfigMap::default()
    })
}

/// Builds the assignment. The choice of rails and CPUs is left to each worker, because only the worker knows its
/// devices.
fn build_assignment(attempt: &AttemptInputs<'_>) -> Assignment {
    let uid = attempt.uid();
    let identity = attempt.plan.identity(uid, attempt.id.leg, attempt.id.attempt);
    let pending_deadline = attempt.run.spec.run_policy.pending_deadline_seconds;
    let rendezvous = Rendezvous {
        host: names::coordinator(uid, attempt.id),
        // The host name of worker 0. In its pod, /etc/hosts maps this name to the pod's IPv4 and IPv6 addresses.
        bind: format!("{}-0", attempt.name()),
        port: service::RENDEZVOUS_PORT,
        timeout_seconds: pending_deadline
            .saturating_add(RENDEZVOUS_GRACE_SECONDS)
            .min(MAX_RENDEZVOUS_SECONDS),
    };
    let inputs = AssignmentInputs {
        identity,
        rendezvous,
        bindings: Vec::new(),
        finished_blocks: attempt.done,
        operation_counts: attempt.operation_counts.to_vec(),
    };
    assignment(attempt.plan, attempt.leg, inputs)
}

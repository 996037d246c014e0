//! What the workers of an attempt are told, as an immutable ConfigMap. Pure.

use crds::assignment::{Assignment, LegIdentity, MAX_ASSIGNMENT_BYTES, Rendezvous};
use k8s_openapi::api::core::v1::ConfigMap;
use snafu::{ResultExt, ensure};

use super::{Attempt, BuildError, TooLongSnafu, WriteSnafu, labels, names, service};
use crate::campaign::plan::{AssignmentInputs, assignment};

/// Key of the assignment, and the name of its file in a pod.
pub const ASSIGNMENT_KEY: &str = "assignment.json";

/// The workers that are there wait for the others as long as the gang may wait for nodes, and a minute in which the
/// controller tells them to stop. Longer than an hour nobody holds nodes for a peer that does not come.
const RENDEZVOUS_GRACE_SECONDS: u32 = 60;
const MAX_RENDEZVOUS_SECONDS: u32 = 3600;

pub(super) fn build(attempt: &Attempt<'_>) -> Result<ConfigMap, BuildError> {
    let leg = attempt.id.leg;
    let text = serde_json::to_string(&told(attempt)).context(WriteSnafu { leg })?;
    ensure!(
        text.len() <= MAX_ASSIGNMENT_BYTES,
        TooLongSnafu {
            leg,
            length: text.len(),
            limit: MAX_ASSIGNMENT_BYTES
        }
    );
    Ok(ConfigMap {
        metadata: labels::metadata(attempt.run, attempt.name(), attempt.labels(), attempt.plan_hash),
        data: Some([(ASSIGNMENT_KEY.to_owned(), text)].into()),
        // Its pods read it once; a change could only be a mistake.
        immutable: Some(true),
        ..ConfigMap::default()
    })
}

/// The assignment. Rails and processors are left to each worker, for it alone sees its devices.
fn told(attempt: &Attempt<'_>) -> Assignment {
    let uid = attempt.uid();
    let identity = LegIdentity {
        run: attempt.plan.run.clone(),
        uid: uid.to_owned(),
        plan_hash: attempt.plan_hash.to_owned(),
        leg: attempt.id.leg,
        attempt: attempt.id.attempt,
    };
    let patience = attempt.run.spec.run_policy.pending_deadline_seconds;
    let rendezvous = Rendezvous {
        host: names::coordinator(uid, attempt.id),
        // A pod's own host name stands in its /etc/hosts with its addresses, of whichever family they are.
        bind: format!("{}-0", attempt.name()),
        port: service::RENDEZVOUS_PORT,
        timeout_seconds: patience
            .saturating_add(RENDEZVOUS_GRACE_SECONDS)
            .min(MAX_RENDEZVOUS_SECONDS),
    };
    let inputs = AssignmentInputs {
        identity,
        rendezvous,
        bindings: Vec::new(),
        finished_blocks: attempt.done,
    };
    assignment(attempt.plan, attempt.leg, inputs)
}

//! The Indexed Job whose pods are the workers of an attempt. Pure.

use crds::names;
use k8s_openapi::api::batch::v1::{Job, JobSpec, SuccessPolicy, SuccessPolicyRule};

use super::{Attempt, labels, pod};

/// The controller ends an attempt by its deadlines; where no controller runs, the Job ends this much later by itself.
const BACKSTOP_SECONDS: i64 = 3600;

pub(super) fn build(attempt: &Attempt<'_>) -> Job {
    let placement = &attempt.run.spec.placement;
    let policy = &attempt.run.spec.run_policy;
    let mut labels = attempt.labels();
    if let Some(queue) = &placement.queue_name {
        labels.insert(names::LABEL_QUEUE.to_owned(), queue.clone());
    }
    let workers = i32::try_from(attempt.plan.workers).unwrap_or(i32::MAX);
    let deadlines = i64::from(policy.active_deadline_seconds) + i64::from(policy.pending_deadline_seconds);
    Job {
        metadata: labels::metadata(attempt.run, attempt.name(), labels, attempt.plan_hash),
        spec: Some(JobSpec {
            completion_mode: Some("Indexed".to_owned()),
            completions: Some(workers),
            parallelism: Some(workers),
            // By index: a limit for the whole Job would delete worker 0, with its log unread, when another worker dies.
            backoff_limit_per_index: Some(0),
            // A pod that is being deleted is not replaced: another pod is another attempt.
            pod_replacement_policy: Some("Failed".to_owned()),
            success_policy: Some(SuccessPolicy {
                rules: vec![SuccessPolicyRule {
                    succeeded_indexes: Some("0".to_owned()),
                    ..SuccessPolicyRule::default()
                }],
            }),
            active_deadline_seconds: Some(deadlines + BACKSTOP_SECONDS),
            // A queue admits what is suspended; created running, the Job would pass the queue where that is not there.
            suspend: placement.queue_name.is_some().then_some(true),
            template: pod::build(attempt),
            ..JobSpec::default()
        }),
        ..Job::default()
    }
}

//! The Indexed Job that runs an attempt's workers. Performs no I/O.

use crds::names;
use k8s_openapi::api::batch::v1::{Job, JobSpec, SuccessPolicy, SuccessPolicyRule};

use super::{AttemptInputs, labels, pod};

/// Time beyond the run's deadlines after which the Job ends on its own, in case no controller enforces the deadlines.
const BACKSTOP_SECONDS: i64 = 3600;

pub(super) fn build(attempt: &AttemptInputs<'_>) -> Job {
    let placement = &attempt.run.spec.placement;
    let policy = &attempt.run.spec.run_policy;
    let mut labels = attempt.labels();
    if let Some(queue) = &placement.queue_name {
        labels.insert(names::LABEL_QUEUE.to_owned(), queue.clone());
    }
    let workers = i32::try_from(attempt.plan.workers).unwrap_or(i32::MAX);
    let deadlines = i64::from(policy.active_deadline_seconds) + i64::from(policy.pending_deadline_seconds);
    Job {
        metadata: labels::metadata(attempt.run, attempt.name(), labels, attempt.plan.hash()),
        spec: Some(JobSpec {
            completion_mode: Some("Indexed".to_owned()),
            completions: Some(workers),
            parallelism: Some(workers),
            // If the backoff limit applied to the whole Job, the failure of one worker would cause worker 0 to be
            // deleted before its log is read.
            backoff_limit_per_index: Some(0),
            // A terminating pod is not replaced, because a new pod would belong to a new attempt.
            pod_replacement_policy: Some("Failed".to_owned()),
            success_policy: Some(SuccessPolicy {
                rules: vec![SuccessPolicyRule {
                    succeeded_indexes: Some("0".to_owned()),
                    ..SuccessPolicyRule::default()
                }],
            }),
            active_deadline_seconds: Some(deadlines + BACKSTOP_SECONDS),
            // A queue controller admits a Job by resuming it. A Job that is not suspended would start even if no queue
            // controller is installed.
            suspend: placement.queue_name.is_some().then_some(true),
            template: pod::build(attempt),
            ..JobSpec::default()
        }),
        ..Job::default()
    }
}

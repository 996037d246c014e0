//! A Job of a run, as far as a decision looks at it. Pure.

use crds::names;
use k8s_openapi::api::batch::v1::Job;

use super::AttemptId;

/// A Job of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobState {
    /// Which leg and attempt it is.
    pub attempt: AttemptId,
    /// Its UID.
    pub uid: String,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether something, a queue as a rule, holds it back.
    pub suspended: bool,
    /// How it ended.
    pub end: Option<JobEnd>,
}

/// How a Job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// Worker 0 succeeded.
    Complete,
    /// It did not; the Job controller's words.
    Failed(String),
}

impl JobState {
    /// The Job of the run with `run_uid` that `job` is; `None` where the run does not control it, whatever its labels
    /// say.
    pub fn of(job: &Job, run_uid: &str) -> Option<Self> {
        let metadata = &job.metadata;
        let mut owners = metadata.owner_references.iter().flatten();
        owners.find(|owner| owner.controller == Some(true) && owner.uid == run_uid)?;
        let label = |name: &str| metadata.labels.as_ref()?.get(name)?.parse().ok();
        let conditions = job
            .status
            .iter()
            .flat_map(|status| status.conditions.iter().flatten());
        let end = conditions
            .filter(|condition| condition.status == "True")
            .find_map(|condition| match condition.type_.as_str() {
                "Complete" => Some(JobEnd::Complete),
                "Failed" => Some(JobEnd::Failed(format!(
                    "{}: {}",
                    condition.reason.as_deref().unwrap_or("Failed"),
                    condition.message.as_deref().unwrap_or_default()
                ))),
                _ => None,
            });
        Some(Self {
            attempt: AttemptId {
                leg: label(names::LABEL_LEG)?,
                attempt: label(names::LABEL_ATTEMPT)?,
            },
            uid: metadata.uid.clone()?,
            deleting: metadata.deletion_timestamp.is_some(),
            suspended: job.spec.as_ref().and_then(|spec| spec.suspend) == Some(true),
            end,
        })
    }
}

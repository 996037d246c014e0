//! Fields of a Job that decisions depend on. Performs no I/O.

use std::collections::BTreeSet;
use std::time::Duration;

use crds::names;
use jiff::Timestamp;
use k8s_openapi::api::batch::v1::{Job, JobCondition};

use crate::run_controller::attempt_id::AttemptId;
use crate::run_controller::build;

/// State of a run's Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobState {
    /// Leg and attempt number.
    pub attempt: AttemptId,
    /// UID of the Job.
    pub uid: String,
    /// Whether the Job is being deleted.
    pub deleting: bool,
    /// Whether the Job is suspended, usually by a queue.
    pub suspended: bool,
    /// Ranks whose pods failed or were deleted. They are not recreated.
    pub failed_ranks: BTreeSet<u32>,
    /// Outcome of the Job; `None` while it is in progress.
    pub outcome: Option<JobOutcome>,
    /// Time since which the Job controller has been able to create pods; `None` if a queue has just resumed the Job and
    /// the Job controller has not noticed it.
    pub started_at: Option<Timestamp>,
}

/// Time after which missing pods are taken to mean that the cluster cannot create them.
const POD_CREATION_TIMEOUT: Duration = Duration::from_secs(30);

/// Outcome of a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobOutcome {
    /// Worker 0 succeeded.
    Complete,
    /// The Job failed, with the reason and message from the Job controller.
    Failed(String),
}

impl JobState {
    /// Returns the time at which the missing pods are overdue if only `pods` of `workers` pods exist; `None` if no pods
    /// are missing or expected.
    pub fn missing_pods_overdue_at(&self, pods: usize, workers: u32) -> Option<Timestamp> {
        let created = pods + self.failed_ranks.len();
        let incomplete = !self.suspended && self.outcome.is_none() && created < workers as usize;
        self.started_at
            .filter(|_| incomplete)?
            .checked_add(POD_CREATION_TIMEOUT)
            .ok()
    }

    /// Returns the state of `job` as observed at `now`; `None` if the run with `run_uid` does not control it or its name is
    /// not that of its attempt, regardless of its labels. The clock of the Job controller can be wrong, so the time at
    /// which the Job started is limited to the time from its creation until now. If that clock is fast, it is the time of
    /// the last change of the Job.
    pub fn from_job(job: &Job, run_uid: &str, now: Timestamp) -> Option<Self> {
        let metadata = &job.metadata;
        if !build::labels::is_controlled_by(metadata, run_uid) {
            return None;
        }
        let label = |name: &str| metadata.labels.as_ref()?.get(name)?.parse().ok();
        let attempt = AttemptId {
            leg: label(names::LABEL_LEG)?,
            attempt: label(names::LABEL_ATTEMPT)?,
        };
        if metadata.name.as_ref() != Some(&build::names::attempt(run_uid, attempt)) {
            return None;
        }
        let created = metadata
            .creation_timestamp
            .as_ref()
            .map_or(Timestamp::MIN, |time| time.0);
        let conditions = job
            .status
            .iter()
            .flat_map(|status| status.conditions.iter().flatten());
        let is_true = |condition: &&JobCondition| condition.status == "True";
        let held = conditions
            .clone()
            .filter(is_true)
            .any(|condition| condition.type_ == "Suspended");
        let outcome = conditions
            .filter(is_true)
            .find_map(|condition| match condition.type_.as_str() {
                "Complete" => Some(JobOutcome::Complete),
                "Failed" => Some(JobOutcome::Failed(format!(
                    "{}: {}",
                    condition.reason.as_deref().unwrap_or("Failed"),
                    condition.message.as_deref().unwrap_or_default()
                ))),
                _ => None,
            });
        Some(Self {
            attempt,
            uid: metadata.uid.clone()?,
            deleting: metadata.deletion_timestamp.is_some(),
            suspended: job.spec.as_ref().and_then(|spec| spec.suspend) == Some(true),
            failed_ranks: job
                .status
                .as_ref()
                .and_then(|status| status.failed_indexes.as_deref())
                .map(parse_ranks)
                .unwrap_or_default(),
            outcome,
            started_at: job
                .status
                .as_ref()
                .and_then(|status| status.start_time.as_ref())
                .or(metadata.creation_timestamp.as_ref())
                .filter(|_| !held)
                .map(|time| time.0.max(created).min(now)),
        })
    }
}

/// Parses a list of ranks in the Job controller's format, such as `1,3-5`. Ranks above 63 are ignored.
fn parse_ranks(text: &str) -> BTreeSet<u32> {
    let parts = text.split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse::<u32>().ok()?.min(63))
    });
    parts.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_rank_lists() {
        assert_eq!(parse_ranks("1,3-5"), BTreeSet::from([1, 3, 4, 5]));
        assert_eq!(parse_ranks(""), BTreeSet::new());
        assert_eq!(parse_ranks("0-4294967295").len(), 64);
    }
}

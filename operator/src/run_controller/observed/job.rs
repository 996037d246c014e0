//! A Job of a run, as far as a decision looks at it. Pure.

use std::collections::BTreeSet;
use std::time::Duration;

use crds::names;
use jiff::Timestamp;
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
    /// Ranks whose pods failed or were deleted: they are not made again.
    pub failed_ranks: BTreeSet<u32>,
    /// How it ended.
    pub end: Option<JobEnd>,
    /// Since when its pods may be made.
    pub since: Option<Timestamp>,
}

/// How long the making of pods may take before something keeps the cluster from it.
const PODS_MADE_WITHIN: Duration = Duration::from_secs(30);

/// How a Job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// Worker 0 succeeded.
    Complete,
    /// It did not; the Job controller's words.
    Failed(String),
}

impl JobState {
    /// From when on it is more than slowness that only `pods` of the pods of `workers` are there; nothing where all are.
    pub fn unmade_from(&self, pods: usize, workers: u32) -> Option<Timestamp> {
        let made = pods + self.failed_ranks.len();
        let waits = !self.suspended && self.end.is_none() && made < workers as usize;
        self.since.filter(|_| waits)?.checked_add(PODS_MADE_WITHIN).ok()
    }

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
            failed_ranks: job
                .status
                .as_ref()
                .and_then(|status| status.failed_indexes.as_deref())
                .map(ranks)
                .unwrap_or_default(),
            end,
            since: job
                .status
                .as_ref()
                .and_then(|status| status.start_time.as_ref())
                .or(metadata.creation_timestamp.as_ref())
                .map(|time| time.0),
        })
    }
}

/// The numbers of a list as the Job controller writes it: `1,3-5`. No rank is above 63.
fn ranks(text: &str) -> BTreeSet<u32> {
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
    fn ranks_are_read_as_the_job_controller_writes_them() {
        assert_eq!(ranks("1,3-5"), BTreeSet::from([1, 3, 4, 5]));
        assert_eq!(ranks(""), BTreeSet::new());
        assert_eq!(ranks("0-4294967295").len(), 64);
    }
}

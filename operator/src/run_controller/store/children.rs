//! Cache entries for Jobs and pods, ordered by the run that they belong to. Performs no I/O.

use crds::names;
use crds::v1alpha1::BenchmarkRun;
use jiff::Timestamp;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;

use super::{Cache, RunKey};
use crate::run_controller::observed::{JobState, PodState};

/// Key of a child. It starts with the namespace and the UID of the run, so that the children of a run are adjacent, and
/// an object in another namespace is never a child, regardless of its labels.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::run_controller) struct ChildKey {
    /// Namespace of the run and the child.
    pub(in crate::run_controller) namespace: String,
    /// UID of the run.
    pub(in crate::run_controller) run_uid: String,
    /// Name of the child.
    pub(in crate::run_controller) name: String,
}

impl ChildKey {
    /// Returns the smallest possible key of any of the run's children.
    pub(in crate::run_controller) fn first(namespace: &str, run_uid: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            run_uid: run_uid.to_owned(),
            name: String::new(),
        }
    }

    /// Whether this is the key of one of the run's children.
    pub(in crate::run_controller) fn belongs_to(&self, namespace: &str, run_uid: &str) -> bool {
        self.namespace == namespace && self.run_uid == run_uid
    }
}

/// A cached child of a run.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::run_controller) struct Child<S> {
    /// The run to which the child belongs.
    pub(in crate::run_controller) run: RunKey,
    /// The fields that decisions depend on.
    pub(in crate::run_controller) state: S,
}

/// Returns the cache entry for a Job that is observed at `now`; `None` if no run controls it.
pub(in crate::run_controller) fn job_entry(job: &Job, now: Timestamp) -> Option<(ChildKey, Child<JobState>)> {
    let mut owners = job.metadata.owner_references.iter().flatten();
    let kind = BenchmarkRun::kind(&());
    let owner = owners.find(|owner| owner.controller == Some(true) && owner.kind == kind)?;
    let state = JobState::from_job(job, &owner.uid, now)?;
    child(&job.metadata, owner.uid.clone(), owner.name.clone(), state)
}

/// Returns the cache entry for a pod that is observed at `now`; `None` if the pod lacks the labels of a run. The pod's Job
/// may be gone. The entry replaces that in `cache`, and keeps its times.
pub(in crate::run_controller) fn pod_entry(
    pod: &Pod,
    now: Timestamp,
    cache: &Cache<ChildKey, Child<PodState>>,
) -> Option<(ChildKey, Child<PodState>)> {
    let label = |name: &str| pod.metadata.labels.as_ref()?.get(name).cloned();
    let state = PodState::from_pod(pod, now)?;
    let run_uid = label(names::LABEL_RUN_UID)?;
    let (key, mut child) = child(&pod.metadata, run_uid, label(names::LABEL_RUN)?, state)?;
    if let Some(before) = cache.get(&key) {
        child.state.keep_times(&before.state);
    }
    Some((key, child))
}

fn child<S>(metadata: &ObjectMeta, run_uid: String, run: String, state: S) -> Option<(ChildKey, Child<S>)> {
    let namespace = metadata.namespace.clone()?;
    let key = ChildKey {
        namespace: namespace.clone(),
        run_uid,
        name: metadata.name.clone()?,
    };
    let run = RunKey { namespace, name: run };
    Some((key, Child { run, state }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pod whose times are those of a scheduler and a kubelet whose clocks are an hour fast.
    fn pod(uid: &str, worker: &str) -> Pod {
        let text = format!(
            "
metadata:
  name: pod
  namespace: n
  uid: {uid}
  creationTimestamp: '2026-03-01T10:00:00Z'
  labels:
    fabricbench.dev/run: r
    fabricbench.dev/run-uid: a
    fabricbench.dev/leg: '0'
    fabricbench.dev/attempt: '1'
    batch.kubernetes.io/job-completion-index: '1'
  ownerReferences:
  - {{apiVersion: batch/v1, kind: Job, name: fb-ca978112ca-l0-a1, uid: job-uid, controller: true}}
status:
  conditions:
  - {{type: PodScheduled, status: 'True', lastTransitionTime: '2026-03-01T11:00:01Z'}}
  containerStatuses:
  - {{name: worker, image: r, imageID: '', ready: false, restartCount: 0, state: {worker}}}"
        );
        serde_yaml::from_str(&text).unwrap()
    }

    #[test]
    fn times_of_a_pod_do_not_move_with_each_event() {
        let cache = Cache::new();
        let at = |second: u32| {
            let text = format!("2026-03-01T10:00:{second:02}Z");
            text.parse::<Timestamp>().unwrap()
        };
        // Stores the pod as observed at `second`, and returns its times.
        let event = |second, uid, worker| {
            let (key, child) = pod_entry(&pod(uid, worker), at(second), &cache).unwrap();
            cache.insert(0, key, child.clone());
            let state = child.state;
            let ended = state.terminated.and_then(|terminated| terminated.at);
            (state.scheduled_at, state.started_at, ended)
        };
        let running = "{running: {startedAt: '2026-03-01T11:00:03Z'}}";
        let ended = "{terminated: {exitCode: 0, startedAt: '2026-03-01T11:00:03Z', finishedAt: '2026-03-01T11:00:09Z'}}";
        assert_eq!(event(2, "first", "{}"), (Some(at(2)), None, None));
        assert_eq!(event(4, "first", running), (Some(at(2)), Some(at(4)), None));
        assert_eq!(event(6, "first", running), (Some(at(2)), Some(at(4)), None));
        let times = (Some(at(2)), Some(at(4)), Some(at(10)));
        assert_eq!(event(10, "first", ended), times);
        assert_eq!(event(20, "first", ended), times);
        assert_eq!(
            event(30, "second", running),
            (Some(at(30)), Some(at(30)), None),
            "another pod with the same name has its own times"
        );
    }
}

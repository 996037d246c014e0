//! The queues of one test, and Jobs of other users in these queues.

use std::fs;

use serde_json::Value;

use super::super::test_namespace::TIMEOUT;
use super::super::testbed::{RUNNER_IMAGE, kubectl, undo};
use test_support::cluster::until_within;

/// Name of the LocalQueue.
pub const QUEUE: &str = "queue";
/// Number of CPUs that one gang of two workers requests.
pub const GANG_CPUS: u32 = 2;

/// A LocalQueue in a test's namespace, and the ClusterQueue, flavor and priority class that it needs. These have the
/// name of the namespace, and are deleted when this value is dropped.
pub struct Queues {
    namespace: String,
}

impl Queues {
    /// Creates queues with a quota of `cpus` CPUs.
    pub fn new(namespace: &str, cpus: u32) -> Self {
        let queues = Self {
            namespace: namespace.to_owned(),
        };
        queues.set_cpus(cpus);
        queues
    }

    /// Changes the quota.
    pub fn set_cpus(&self, cpus: u32) {
        let name = &self.namespace;
        apply(&format!(
            "
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {{name: {name}}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: {name}}}
spec:
  namespaceSelector: {{}}
  queueingStrategy: BestEffortFIFO
  preemption: {{withinClusterQueue: LowerPriority}}
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: {name}
      resources:
      - {{name: cpu, nominalQuota: {cpus}}}
      - {{name: memory, nominalQuota: 64Gi}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: {QUEUE}, namespace: {name}}}
spec: {{clusterQueue: {name}}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {{name: {name}}}
value: 1000
"
        ));
    }

    /// Returns the name of a priority class that precedes Jobs without a class.
    pub fn priority_class(&self) -> String {
        self.namespace.clone()
    }

    /// Creates a Job that needs the quota of a gang for `seconds`.
    pub fn compete(&self, name: &str, seconds: u32, priority_class: Option<&str>) {
        let priority = priority_class.map_or_else(String::new, |class| {
            format!(", kueue.x-k8s.io/priority-class: {class}")
        });
        apply(&format!(
            "
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, namespace: {}, labels: {{kueue.x-k8s.io/queue-name: {QUEUE}{priority}}}}}
spec:
  suspend: true
  parallelism: {GANG_CPUS}
  completions: {GANG_CPUS}
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 0
      securityContext: {{runAsNonRoot: true, runAsUser: 65532, seccompProfile: {{type: RuntimeDefault}}}}
      containers:
      - name: sleep
        image: {RUNNER_IMAGE}
        command: [sleep, '{seconds}']
        resources: {{requests: {{cpu: 1, memory: 16Mi}}}}
        securityContext: {{allowPrivilegeEscalation: false, capabilities: {{drop: [ALL]}}}}
",
            self.namespace
        ));
    }

    /// Whether a Job is complete.
    pub fn has_completed(&self, job: &str) -> bool {
        let job = self.get(&["job", job]);
        !job["status"]["completionTime"].is_null()
    }

    /// Whether no Job holds or has reserved any of the quota.
    pub fn is_released(&self) -> bool {
        let status = self.get(&["clusterqueue", &self.namespace])["status"].take();
        let count = |field: &str| status[field].as_i64().unwrap_or(0);
        count("reservingWorkloads") == 0 && count("admittedWorkloads") == 0
    }

    /// Waits until no Job holds or has reserved any of the quota.
    pub async fn await_released(&self) {
        until_within(TIMEOUT, || async { self.is_released().then_some(()) }).await;
    }

    fn get(&self, object: &[&str]) -> Value {
        let output = ["-o", "json"];
        let arguments = [&["-n", &self.namespace, "get"], object, &output[..]].concat();
        serde_json::from_str(&kubectl(&arguments)).unwrap()
    }
}

impl Drop for Queues {
    fn drop(&mut self) {
        let name = self.namespace.as_str();
        // A ClusterQueue remains until its workloads are gone, which another test need not wait for.
        undo(&[
            "kubectl",
            "delete",
            "--wait=false",
            "--ignore-not-found",
            &format!("localqueues.kueue.x-k8s.io/{QUEUE}"),
            "-n",
            name,
        ]);
        for kind in ["clusterqueue", "resourceflavor", "workloadpriorityclass"] {
            undo(&[
                "kubectl",
                "delete",
                "--wait=false",
                "--ignore-not-found",
                kind,
                name,
            ]);
        }
    }
}

fn apply(manifest: &str) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("manifest.yaml");
    fs::write(&file, manifest).unwrap();
    kubectl(&["apply", "-f", file.to_str().unwrap()]);
}

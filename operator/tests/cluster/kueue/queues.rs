//! The queues of one test, and Jobs of other users in these queues.

use std::fs;

use jiff::Timestamp;
use serde_json::Value;

use super::super::test_namespace::TIMEOUT;
use super::super::testbed::{RUNNER_IMAGE, kubectl, undo};
use test_support::cluster::until_within;

/// Name of the LocalQueue.
pub const QUEUE: &str = "queue";
/// Number of CPUs that one gang of two workers requests.
pub const GANG_CPUS: u32 = 2;

/// Resources of a ClusterQueue for the device classes of GPUs and NICs.
pub const GPUS: &str = "fabricbench.dev/gpus";
pub const NICS: &str = "fabricbench.dev/nics";

/// What differs between ClusterQueues.
enum Kind {
    /// CPUs and memory.
    Plain,
    /// The ClusterQueue may borrow the quota of this cohort, which has the flavor of the same name.
    Borrowing(String),
    /// The flavor has the topology of the same name.
    Topology,
    /// Claimed devices count toward the quota: this number of GPUs, and as many NICs.
    Devices(u32),
}

/// A LocalQueue in a test's namespace, and the ClusterQueue, flavor and priority class that it needs. These have the
/// name of the namespace, and are deleted when this value is dropped.
pub struct Queues {
    namespace: String,
    kind: Kind,
}

impl Queues {
    /// Creates queues with a quota of `cpus` CPUs.
    pub fn new(namespace: &str, cpus: u32) -> Self {
        Self::create(namespace, cpus, Kind::Plain)
    }

    /// Creates queues without a quota of their own, which borrow the quota of the queues `lender`.
    pub fn borrowing(namespace: &str, lender: &Self) -> Self {
        Self::create(namespace, 0, Kind::Borrowing(lender.namespace.clone()))
    }

    /// Creates queues whose flavor has a topology: groups of nodes with the same value of the label `level`, and their hosts.
    pub fn with_topology(namespace: &str, cpus: u32, level: &str) -> Self {
        apply(&format!(
            "
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {{name: {namespace}}}
spec:
  levels:
  - {{nodeLabel: {level}}}
  - {{nodeLabel: kubernetes.io/hostname}}
"
        ));
        Self::create(namespace, cpus, Kind::Topology)
    }

    /// Creates queues with a quota of `cpus` CPUs, `devices` GPUs and as many NICs.
    pub fn with_devices(namespace: &str, cpus: u32, devices: u32) -> Self {
        Self::create(namespace, cpus, Kind::Devices(devices))
    }

    fn create(namespace: &str, cpus: u32, kind: Kind) -> Self {
        let queues = Self {
            namespace: namespace.to_owned(),
            kind,
        };
        queues.set_cpus(cpus);
        queues
    }

    /// Changes the quota.
    pub fn set_cpus(&self, cpus: u32) {
        let name = &self.namespace;
        let (mut flavor, mut flavor_spec) = (name, String::new());
        let (mut covered, mut quotas) = (String::new(), String::new());
        match &self.kind {
            Kind::Plain => {}
            Kind::Borrowing(cohort) => flavor = cohort,
            Kind::Topology => {
                flavor_spec =
                    format!("spec: {{nodeLabels: {{kubernetes.io/os: linux}}, topologyName: {name}}}\n");
            }
            Kind::Devices(count) => {
                let quota = |name| format!("      - {{name: {name}, nominalQuota: {count}}}\n");
                covered = format!(", {GPUS}, {NICS}");
                quotas = [GPUS, NICS].map(quota).concat();
            }
        }
        // Memory is not scarce.
        let memory = 32 * cpus;
        apply(&format!(
            "
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {{name: {flavor}}}
{flavor_spec}---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: {name}}}
spec:
  namespaceSelector: {{}}
  cohortName: {flavor}
  queueingStrategy: BestEffortFIFO
  preemption: {{withinClusterQueue: LowerPriority, reclaimWithinCohort: Any}}
  resourceGroups:
  - coveredResources: [cpu, memory{covered}]
    flavors:
    - name: {flavor}
      resources:
      - {{name: cpu, nominalQuota: {cpus}}}
      - {{name: memory, nominalQuota: {memory}Gi}}
{quotas}---
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

    /// Returns the amount of a resource that admitted Jobs hold; `None` if Kueue has not written the usage yet.
    pub fn usage(&self, resource: &str) -> Option<String> {
        let status = self.get(&["clusterqueue", &self.namespace])["status"].take();
        let resources = status["flavorsUsage"][0]["resources"].as_array()?;
        let found = resources.iter().find(|one| one["name"] == resource)?;
        found["total"].as_str().map(str::to_owned)
    }

    /// Waits until Kueue gives a reason that contains `part` for not admitting a Job. Returns the reason.
    pub async fn wait_for_reason(&self, part: &str) -> String {
        until_within(TIMEOUT, || async {
            let workloads = self.get(&["workloads"]);
            let conditions = workloads["items"].as_array()?.iter().filter_map(|workload| {
                let conditions = workload["status"]["conditions"].as_array()?;
                conditions
                    .iter()
                    .find(|condition| condition["type"] == "QuotaReserved" && condition["status"] == "False")
            });
            let mut messages = conditions.filter_map(|condition| condition["message"].as_str());
            messages.find(|message| message.contains(part)).map(str::to_owned)
        })
        .await
    }

    /// Waits until Kueue has evicted the Workload of the Job with this UID. Returns the time of the eviction, in whole seconds.
    pub async fn wait_for_eviction(&self, job_uid: &str) -> Timestamp {
        let condition = |workload: &Value| -> Option<Timestamp> {
            let conditions = workload["status"]["conditions"].as_array()?;
            let evicted = conditions
                .iter()
                .find(|condition| condition["type"] == "Evicted" && condition["status"] == "True")?;
            Some(evicted["lastTransitionTime"].as_str()?.parse().unwrap())
        };
        until_within(TIMEOUT, || async {
            let workloads = self.get(&["workloads"]);
            let mut workloads = workloads["items"].as_array()?.iter();
            let workload =
                workloads.find(|workload| workload["metadata"]["ownerReferences"][0]["uid"] == job_uid)?;
            condition(workload)
        })
        .await
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
        for kind in [
            "clusterqueue",
            "resourceflavor",
            "topology",
            "workloadpriorityclass",
        ] {
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

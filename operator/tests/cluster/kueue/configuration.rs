//! A configuration of Kueue that differs from that of its chart.

use std::fs;

use super::super::testbed::{Testbed, undo};
use super::queues::{GPUS, NICS};

/// Another configuration of Kueue. When this value is dropped, Kueue gets the configuration of its chart again.
pub struct Configuration;

impl Configuration {
    /// Lets Kueue evict a Job whose pods are not ready `seconds` after its admission. The Job is not admitted again for a
    /// longer time than a test takes.
    pub async fn wait_for_pods_ready(seconds: u32) -> Self {
        Self::with_pods_ready(seconds, false, "backoffBaseSeconds: 3600").await
    }

    /// Like [`Self::wait_for_pods_ready`], but Kueue admits no other Job until the pods of the admitted ones are ready, and
    /// deactivates an evicted Job instead of admitting it again.
    pub async fn block_admission(seconds: u32) -> Self {
        Self::with_pods_ready(seconds, true, "backoffLimitCount: 0").await
    }

    /// Lets Kueue divide the quota of a cohort equally among the queues that want it.
    pub async fn fair_sharing() -> Self {
        Self::with("fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare, LessThanInitialShare]}")
            .await
    }

    /// Lets Kueue count claimed devices toward the quotas of [`GPUS`] and [`NICS`].
    pub async fn device_classes() -> Self {
        Self::with(&format!(
            "
featureGates: {{DynamicResourceAllocation: true}}
resources:
  deviceClassMappings:
  - {{name: {GPUS}, deviceClassNames: [gpu.nvidia.com]}}
  - {{name: {NICS}, deviceClassNames: [efa.networking.k8s.aws]}}
"
        ))
        .await
    }

    async fn with_pods_ready(seconds: u32, blocks_admission: bool, backoff: &str) -> Self {
        Self::with(&format!(
            "
waitForPodsReady:
  timeout: {seconds}s
  blockAdmission: {blocks_admission}
  requeuingStrategy: {{timestamp: Eviction, {backoff}}}
"
        ))
        .await
    }

    async fn with(settings: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("configuration.yaml");
        let configuration = format!(
            "
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
health: {{healthProbeBindAddress: ':8081'}}
metrics: {{bindAddress: ':8443'}}
webhook: {{port: 9443}}
leaderElection: {{leaderElect: true, resourceName: c1f6bfd2.kueue.x-k8s.io}}
internalCertManagement:
  enable: true
  webhookServiceName: kueue-webhook-service
  webhookSecretName: kueue-webhook-server-cert
integrations: {{frameworks: [batch/job]}}
{settings}
"
        );
        fs::write(&file, configuration).unwrap();
        let configured = Self;
        Testbed::lock()
            .await
            .run(&["queue", "up", file.to_str().unwrap()]);
        configured
    }
}

impl Drop for Configuration {
    fn drop(&mut self) {
        undo(&["queue", "up"]);
    }
}

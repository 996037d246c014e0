//! A configuration of Kueue that differs from that of its chart.

use std::fs;

use super::super::testbed::{Testbed, undo};

/// Kueue with WaitForPodsReady. When this value is dropped, Kueue gets the configuration of its chart again.
pub struct WaitForPodsReady;

impl WaitForPodsReady {
    /// Lets Kueue evict a Job whose pods are not ready `seconds` after its admission. The Job is not admitted again for a
    /// longer time than a test takes.
    pub async fn with_timeout(seconds: u32) -> Self {
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
waitForPodsReady:
  timeout: {seconds}s
  blockAdmission: false
  requeuingStrategy: {{timestamp: Eviction, backoffBaseSeconds: 3600}}
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

impl Drop for WaitForPodsReady {
    fn drop(&mut self) {
        undo(&["queue", "up"]);
    }
}

//! The headless Service by which the workers of an attempt find each other. Pure.

use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::{Attempt, labels};

/// Where worker 0 listens. Each pod has addresses of its own, so one number does for all.
pub(super) const RENDEZVOUS_PORT: u16 = 7469;

pub(super) fn build(attempt: &Attempt<'_>) -> Service {
    let port = i32::from(RENDEZVOUS_PORT);
    Service {
        metadata: labels::metadata(attempt.run, attempt.name(), attempt.labels(), attempt.plan_hash),
        spec: Some(ServiceSpec {
            cluster_ip: Some("None".to_owned()),
            // No worker is ready before all have met, and to meet they need their names.
            publish_not_ready_addresses: Some(true),
            selector: Some(attempt.labels()),
            ports: Some(vec![ServicePort {
                name: Some("rendezvous".to_owned()),
                port,
                target_port: Some(IntOrString::Int(port)),
                protocol: Some("TCP".to_owned()),
                ..ServicePort::default()
            }]),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}

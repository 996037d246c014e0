//! The headless Service that resolves the worker names of an attempt. Performs no I/O.

use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::{AttemptInputs, labels};

/// Port on which worker 0 listens. Each pod has its own address, so all attempts can use the same port.
pub(super) const RENDEZVOUS_PORT: u16 = 7469;

pub(super) fn build(attempt: &AttemptInputs<'_>) -> Service {
    let port = i32::from(RENDEZVOUS_PORT);
    Service {
        metadata: labels::metadata(attempt.run, attempt.name(), attempt.labels(), attempt.plan.hash()),
        spec: Some(ServiceSpec {
            cluster_ip: Some("None".to_owned()),
            // The workers resolve each other's names before their pods are ready.
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

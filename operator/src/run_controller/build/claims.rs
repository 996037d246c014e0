//! The ResourceClaimTemplate of an attempt, from which Kubernetes creates one claim for each group of each worker, and the
//! references to it. Performs no I/O.

use crds::v1alpha1::Claims;
use k8s_openapi::api::core::v1::{PodResourceClaim, ResourceClaim};
use k8s_openapi::api::resource::v1::{
    CELDeviceSelector, DeviceClaim, DeviceConstraint, DeviceRequest, DeviceSelector, ExactDeviceRequest,
    ResourceClaimSpec, ResourceClaimTemplate, ResourceClaimTemplateSpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{AttemptInputs, labels};

/// Returns the name of a group's claim within a pod.
pub(crate) fn group_name(group: u32) -> String {
    format!("group-{group}")
}

/// Returns the template; `None` if the workers claim no devices. The claims get the labels of the attempt.
pub(super) fn template(attempt: &AttemptInputs<'_>) -> Option<ResourceClaimTemplate> {
    let claims = attempt.leg.claims.as_ref()?;
    let labels = attempt.labels();
    Some(ResourceClaimTemplate {
        metadata: labels::metadata(attempt.run, attempt.name(), labels.clone(), attempt.plan.hash()),
        spec: ResourceClaimTemplateSpec {
            metadata: Some(ObjectMeta {
                labels: Some(labels),
                ..ObjectMeta::default()
            }),
            spec: claim(claims),
        },
    })
}

/// Returns the claims of a pod, all from the template of the attempt; `None` if the workers claim no devices.
pub(super) fn of_pod(attempt: &AttemptInputs<'_>) -> Option<Vec<PodResourceClaim>> {
    let claims = attempt.leg.claims.as_ref()?;
    let groups = (0..claims.groups).map(|group| PodResourceClaim {
        name: group_name(group),
        resource_claim_template_name: Some(attempt.name()),
        ..PodResourceClaim::default()
    });
    Some(groups.collect())
}

/// Returns the claims that the worker's container uses: all claims of its pod.
pub(super) fn of_container(attempt: &AttemptInputs<'_>) -> Option<Vec<ResourceClaim>> {
    let claims = attempt.leg.claims.as_ref()?;
    let groups = (0..claims.groups).map(|group| ResourceClaim {
        name: group_name(group),
        request: None,
    });
    Some(groups.collect())
}

/// Returns the claim of one group. All values with a default are set, so that an existing template can be compared.
fn claim(claims: &Claims) -> ResourceClaimSpec {
    let requests = claims.requests.iter().map(|request| {
        let selectors = request.selectors.iter().map(|expression| DeviceSelector {
            cel: Some(CELDeviceSelector {
                expression: expression.clone(),
            }),
        });
        let selectors: Vec<_> = selectors.collect();
        DeviceRequest {
            name: request.name.clone(),
            exactly: Some(ExactDeviceRequest {
                device_class_name: request.device_class_name.clone(),
                allocation_mode: Some("ExactCount".to_owned()),
                count: Some(i64::from(request.count)),
                selectors: (!selectors.is_empty()).then_some(selectors),
                ..ExactDeviceRequest::default()
            }),
            first_available: None,
        }
    });
    // A constraint without a list of requests applies to all of them.
    let constraint = claims.align.device_attribute().map(|attribute| DeviceConstraint {
        match_attribute: Some(attribute.to_owned()),
        ..DeviceConstraint::default()
    });
    ResourceClaimSpec {
        devices: Some(DeviceClaim {
            requests: Some(requests.collect()),
            constraints: constraint.map(|constraint| vec![constraint]),
            config: None,
        }),
    }
}

#[cfg(test)]
mod tests {
    use crds::v1alpha1::{Alignment, ClaimRequest};

    use super::*;

    #[test]
    fn a_group_is_one_claim_whose_devices_share_the_attribute_of_the_alignment() {
        let request = |name: &str, class: &str, count, selectors: &[&str]| ClaimRequest {
            name: name.to_owned(),
            device_class_name: class.to_owned(),
            count,
            selectors: selectors.iter().map(|one| (*one).to_owned()).collect(),
        };
        let claims = |align| Claims {
            groups: 8,
            requests: vec![
                request("gpu", "gpu.nvidia.com", 1, &[]),
                request(
                    "nic",
                    "efa.networking.k8s.aws",
                    4,
                    &["device.driver == \"dra.net\""],
                ),
            ],
            align,
        };
        let aligned = serde_json::to_value(claim(&claims(Alignment::PciRoot))).unwrap();
        assert_eq!(
            aligned,
            serde_json::json!({"devices": {
                "requests": [
                    {"name": "gpu", "exactly": {
                        "deviceClassName": "gpu.nvidia.com", "allocationMode": "ExactCount", "count": 1,
                    }},
                    {"name": "nic", "exactly": {
                        "deviceClassName": "efa.networking.k8s.aws", "allocationMode": "ExactCount", "count": 4,
                        "selectors": [{"cel": {"expression": "device.driver == \"dra.net\""}}],
                    }},
                ],
                "constraints": [{"matchAttribute": "resource.kubernetes.io/pcieRoot"}],
            }})
        );
        let anywhere = claim(&claims(Alignment::None)).devices.unwrap();
        assert_eq!(anywhere.constraints, None);
    }
}

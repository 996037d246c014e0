//! Validates the devices that the workers claim. Performs no I/O.

use crds::v1alpha1::{BenchmarkRunSpec, ClaimRequest, Claims};

use super::reporter::Reporter;

/// Checks the claims of the run and of each variant. Either all variants claim devices or none does: otherwise, a device
/// plugin and a driver would have to offer the same devices.
pub(super) fn check(spec: &BenchmarkRunSpec, report: &mut Reporter) {
    let of_run = spec.resources.claims.as_ref();
    if let Some(claims) = of_run {
        check_claims("spec.resources.claims", claims, report);
    }
    let claiming = spec.variants.iter().find(|variant| variant.claims.is_some());
    for (index, variant) in spec.variants.iter().enumerate() {
        let path = format!("spec.variants[{index}].claims");
        match (&variant.claims, claiming) {
            (Some(claims), _) => check_claims(&path, claims, report),
            (None, Some(claiming)) if of_run.is_none() => {
                let claiming = &claiming.name;
                report.add(
                    path,
                    format!(
                        "variant \"{claiming}\" claims devices, but this variant claims none. Set \
                         `spec.resources.claims`, or the claims of every variant"
                    ),
                );
            }
            (None, _) => {}
        }
    }
}

/// Smallest number of GPUs that the workers of a variant claim; 0 if a variant claims none. If no name of its requests and
/// classes says which devices are GPUs, all of them may be.
pub(super) fn fewest_gpus(spec: &BenchmarkRunSpec) -> u32 {
    fewest(spec, |claims| match count(claims, is_gpu) {
        0 => claims.devices(),
        gpus => gpus,
    })
}

/// Smallest number of devices other than GPUs that the workers of a variant claim; 0 if a variant claims none.
pub(super) fn fewest_nics(spec: &BenchmarkRunSpec) -> u32 {
    fewest(spec, |claims| count(claims, |request| !is_gpu(request)))
}

/// Whether the names say that the devices are GPUs.
fn is_gpu(request: &ClaimRequest) -> bool {
    request.name.contains("gpu") || request.device_class_name.contains("gpu")
}

/// Number of devices in each group whose requests match.
fn count(claims: &Claims, matches: impl Fn(&ClaimRequest) -> bool) -> u32 {
    let requests = claims.requests.iter().filter(|request| matches(request));
    requests.map(|request| request.count).fold(0, u32::saturating_add)
}

/// Smallest number of devices of the workers of a variant. `in_group` returns the number in each group.
fn fewest(spec: &BenchmarkRunSpec, in_group: impl Fn(&Claims) -> u32) -> u32 {
    let of_variant =
        |claims: Option<&Claims>| claims.map_or(0, |claims| in_group(claims).saturating_mul(claims.groups));
    let variants = spec.variants.iter();
    let devices =
        variants.map(|variant| of_variant(variant.claims.as_ref().or(spec.resources.claims.as_ref())));
    devices.min().unwrap_or(0)
}

fn check_claims(path: &str, claims: &Claims, report: &mut Reporter) {
    let names = claims.requests.iter().map(|request| request.name.as_str());
    report.unique_names(&format!("{path}.requests"), names);
    let devices = claims.devices();
    if devices > Claims::MAX_DEVICES {
        report.add(
            format!("{path}.requests"),
            format!(
                "the requests of a group have {devices} devices in total, but a claim holds at most {}. \
                 Request fewer devices for each group, and raise `groups`",
                Claims::MAX_DEVICES
            ),
        );
    }
    if devices == 1 && !claims.align.is_none() {
        report.add(
            format!("{path}.align"),
            "a group with a single device has no other device to align it with. Request a second device, or \
             remove `align`",
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::validate::validate;

    /// Problems of a run whose resources have the given claims, with a second variant.
    fn problems(resources: &str, second: &str) -> Vec<String> {
        let run = crate::fixture::run_from_yaml(&format!(
            "apiVersion: fabricbench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {{name: test}}\nspec:\n  \
             baseline: a\n  variants: [{{name: a}}, {{name: b, doorbell: {{maxBatch: 16}}{second}}}]\n  \
             transport: {{libfabric: {{provider: efa, rails: 4}}}}\n  scenarios: [{{name: mid, transfer: \
             {{sizes: [64Ki], batch: 16}}}}]\n  resources: {{{resources}}}\n"
        ));
        match validate(&run) {
            Ok(_) => Vec::new(),
            Err(problems) => problems.0.iter().map(ToString::to_string).collect(),
        }
    }

    fn request(name: &str, count: u32) -> String {
        format!("{{name: {name}, deviceClassName: class, count: {count}}}")
    }

    #[test]
    fn eight_groups_of_five_devices_are_valid_but_one_group_of_forty_is_not() {
        let claims = |groups, gpus, nics| {
            let requests = [request("gpu", gpus), request("nic", nics)].join(", ");
            format!("claims: {{groups: {groups}, requests: [{requests}], align: PciRoot}}")
        };
        assert_eq!(problems(&claims(8, 1, 4), ""), Vec::<String>::new());
        assert_eq!(
            problems(&claims(1, 8, 32), ""),
            [
                "spec.resources.claims.requests: the requests of a group have 40 devices in total, but a claim \
                 holds at most 32. Request fewer devices for each group, and raise `groups`"
            ]
        );
    }

    #[test]
    fn claims_have_distinct_requests_and_enough_devices_for_the_rails() {
        let requests = [request("nic", 1), request("nic", 1)].join(", ");
        assert_eq!(
            problems(&format!("claims: {{requests: [{requests}]}}"), ""),
            [
                "spec.resources.claims.requests[1].name: `nic` is already the name of \
                 spec.resources.claims.requests[0]. Use a unique name",
                "spec.transport.libfabric.rails: every rail needs an EFA device: a worker has 4 rails, but \
                 claims only 2 NICs. Request more, or use fewer rails"
            ]
        );
    }

    #[test]
    fn only_gpus_have_an_index_and_only_other_devices_serve_rails() {
        let requests = [request("gpu", 2), request("nic", 1)].join(", ");
        let claims = format!("gpus: 1, claims: {{requests: [{requests}]}}}}\n  devices: {{gpus: [0, 3]");
        let found = problems(&claims, "");
        assert!(
            found.contains(
                &"spec.devices.gpus[1]: GPU 3 does not exist in the container: a worker has 3 GPUs, and indexes start at 0. \
                  Request more GPUs, or use a lower index"
                    .to_owned()
            ),
            "{found:?}"
        );
        assert!(
            found.contains(
                &"spec.transport.libfabric.rails: every rail needs an EFA device: a worker has 8 rails, but claims only 1 NIC. \
                  Request more, or use fewer rails"
                    .to_owned()
            ),
            "{found:?}"
        );
    }

    #[test]
    fn alignment_needs_a_second_device() {
        let claims = format!(
            "efas: 4, claims: {{requests: [{}], align: PciRoot}}",
            request("nic", 1)
        );
        assert_eq!(
            problems(&claims, ""),
            [
                "spec.resources.claims.align: a group with a single device has no other device to align it \
                 with. Request a second device, or remove `align`"
            ]
        );
    }

    #[test]
    fn variants_without_claims_cannot_be_compared_with_variants_that_claim_devices() {
        let claims = format!(", claims: {{requests: [{}]}}", request("nic", 4));
        assert_eq!(
            problems("efas: 4", &claims),
            [
                "spec.variants[0].claims: variant \"b\" claims devices, but this variant claims none. Set \
                 `spec.resources.claims`, or the claims of every variant"
            ]
        );
    }
}

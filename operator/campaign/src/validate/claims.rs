//! Validates the devices that the workers claim. Performs no I/O.

use crds::v1alpha1::{BenchmarkRunSpec, Claims};

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

/// Smallest number of devices that the workers of a variant claim; 0 if a variant claims none.
pub(super) fn fewest_devices(spec: &BenchmarkRunSpec) -> u32 {
    let of_variant =
        |claims: Option<&Claims>| claims.map_or(0, |claims| claims.devices().saturating_mul(claims.groups));
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
                 claims only 2 devices. Request more devices, or use fewer rails"
            ]
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

//! Validates variants: names, environment and tuning, with defaults applied.

use crds::assignment::InstrumentProcess;
use crds::names::{ENV_PREFIX, ENV_RANK};
use crds::striping::{COALESCE_MIN_CHUNK_BYTES, NIXL_THRESHOLD_BYTES, StripingPolicy, StripingRule};
use crds::v1alpha1::{BenchmarkRunSpec, Striping, Variant};

use super::reporter::Reporter;
use super::validated::ValidatedVariant;
use crate::posting::Tuning;

/// Applies the defaults to the variants of `spec` and preserves their order.
pub(super) fn expand(spec: &BenchmarkRunSpec, report: &mut Reporter) -> Vec<ValidatedVariant> {
    report.unique_names(
        "spec.variants",
        spec.variants.iter().map(|variant| variant.name.as_str()),
    );
    check_striping("spec.striping", spec.striping.as_ref(), report);
    for (index, variant) in spec.variants.iter().enumerate() {
        check(&format!("spec.variants[{index}]"), variant, report);
    }
    let expanded = spec.variants.iter().map(|variant| ValidatedVariant {
        name: variant.name.clone(),
        image: variant.image.clone().or_else(|| spec.image.clone()),
        claims: variant.claims.clone().or_else(|| spec.resources.claims.clone()),
        process: InstrumentProcess {
            env: variant
                .env
                .iter()
                .map(|env| (env.name.clone(), env.value.clone()))
                .collect(),
            library: variant.library_directory(),
            // A variant that repeats the run's transport shares a process with variants that do not set it.
            transport: variant.transport.clone().filter(|own| *own != spec.transport),
        },
        tuning: Tuning {
            inject_max_bytes: variant.inject.map(|inject| inject.max_bytes.bytes()),
            doorbell_max_batch: variant.doorbell.map(|doorbell| doorbell.max_batch),
            striping: striping_rule(variant.striping, spec.striping),
        },
        channel: variant.channel.unwrap_or_default(),
        arguments: variant.arguments.clone(),
    });
    expanded.collect()
}

fn check(path: &str, variant: &Variant, report: &mut Reporter) {
    if variant.inject.is_some_and(|inject| inject.max_bytes.bytes() == 0) {
        report.add(
            format!("{path}.inject.maxBytes"),
            "0 bytes have no effect. Set it to the size of the largest message to inject, or remove inject",
        );
    }
    check_striping(&format!("{path}.striping"), variant.striping.as_ref(), report);
    if variant.library_image.is_some() && variant.library.is_none() {
        report.add(
            format!("{path}.libraryImage"),
            "`library` must be set to the directory of this image that contains the library, such as \
             /opt/amazon/efa/lib",
        );
    }
    let names = variant.env.iter().map(|env| env.name.as_str());
    report.unique_names(&format!("{path}.env"), names.clone());
    for (index, name) in names.enumerate() {
        if name.starts_with(ENV_PREFIX) || name == ENV_RANK {
            report.add(
                format!("{path}.env[{index}].name"),
                format!("`{name}` is reserved for fabricbench. Remove it"),
            );
        }
    }
}

fn check_striping(path: &str, striping: Option<&Striping>, report: &mut Reporter) {
    let min_chunk = striping.and_then(|striping| striping.min_chunk_bytes);
    if min_chunk.is_some_and(|bytes| bytes.bytes() == 0) {
        report.add(
            format!("{path}.minChunkBytes"),
            "0 bytes have no effect. Set it to the minimum size of a chunk, or remove it",
        );
    }
}

/// Takes each value from the variant, or from the run if the variant does not set it. The default policy and threshold
/// are NIXL's defaults.
fn striping_rule(variant: Option<Striping>, run: Option<Striping>) -> StripingRule {
    let policy = variant
        .or(run)
        .map_or(StripingPolicy::Nixl, |striping| striping.policy);
    let bytes = |field: fn(Striping) -> Option<crds::units::Size>, default: u64| {
        let given = variant.and_then(field).or_else(|| run.and_then(field));
        given.map_or(default, |size| size.bytes())
    };
    StripingRule {
        policy,
        threshold_bytes: bytes(|striping| striping.threshold_bytes, NIXL_THRESHOLD_BYTES),
        min_chunk_bytes: bytes(|striping| striping.min_chunk_bytes, COALESCE_MIN_CHUNK_BYTES),
    }
}

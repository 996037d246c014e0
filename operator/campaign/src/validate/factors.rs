//! Replaces a run's factors with one variant for each combination.

use std::borrow::Cow;

use crds::striping::StripingPolicy;
use crds::v1alpha1::{BenchmarkRunSpec, Factors, Optimization, Striping, Variant};

use super::reporter::Reporter;

/// Creates the spec with one variant for each combination of its factors. The binary digits of the index of a variant
/// select its factors: digit `i` stands for factor `i`, so index 0 is the baseline.
pub(super) fn expand<'a>(spec: &'a BenchmarkRunSpec, report: &mut Reporter) -> Cow<'a, BenchmarkRunSpec> {
    let (Some(factors), [baseline]) = (spec.factors, spec.variants.as_slice()) else {
        return Cow::Borrowed(spec);
    };
    check(&factors, spec, report);
    let optimizations = factors.optimizations();
    let combinations = 1..1_usize << optimizations.len();
    let combined = combinations.map(|combination| {
        let selected = optimizations.iter().enumerate();
        let selected = selected.filter(|(index, _)| combination >> index & 1 == 1);
        let selected: Vec<Optimization> = selected.map(|(_, optimization)| *optimization).collect();
        variant(baseline, &factors, &selected)
    });
    let variants = [baseline.clone()].into_iter().chain(combined).collect();
    Cow::Owned(BenchmarkRunSpec {
        variants,
        ..spec.clone()
    })
}

/// Whether the variant with this index differs from the baseline in at most one factor.
pub(super) fn has_at_most_one_factor(index: usize) -> bool {
    index.count_ones() <= 1
}

/// Path of a field in the original spec, given its path in the expanded spec. A generated variant has the fields of the
/// factors, and inherits all others from the baseline.
pub(super) fn path_in_spec(path: &str) -> String {
    let generated = path
        .strip_prefix("spec.variants[")
        .and_then(|rest| rest.split_once(']'))
        .filter(|(index, _)| *index != "0");
    let Some((_, field)) = generated else {
        return path.to_owned();
    };
    match field {
        ".striping" => "spec.factors.coalesce".to_owned(),
        ".striping.minChunkBytes" => "spec.factors.coalesce.minChunkBytes".to_owned(),
        _ if field.starts_with(".inject") || field.starts_with(".doorbell") => format!("spec.factors{field}"),
        _ => format!("spec.variants[0]{field}"),
    }
}

fn variant(baseline: &Variant, factors: &Factors, selected: &[Optimization]) -> Variant {
    let names: Vec<&str> = selected.iter().map(|factor| factor.name()).collect();
    let mut variant = Variant {
        name: names.join("-"),
        ..baseline.clone()
    };
    for factor in selected {
        match factor {
            Optimization::Inject => variant.inject = factors.inject,
            Optimization::Doorbell => variant.doorbell = factors.doorbell,
            Optimization::Coalesce => {
                variant.striping = Some(Striping {
                    policy: StripingPolicy::NixlCoalesce,
                    threshold_bytes: baseline.striping.and_then(|striping| striping.threshold_bytes),
                    min_chunk_bytes: factors.coalesce.and_then(|coalesce| coalesce.min_chunk_bytes),
                });
            }
        }
    }
    variant
}

fn check(factors: &Factors, spec: &BenchmarkRunSpec, report: &mut Reporter) {
    let coalesces = |striping: Option<Striping>| {
        striping.is_some_and(|striping| striping.policy == StripingPolicy::NixlCoalesce)
    };
    let own = spec.variants.first().and_then(|variant| variant.striping);
    if factors.coalesce.is_some() && coalesces(own.or(spec.striping)) {
        report.add(
            "spec.factors.coalesce",
            "the baseline already coalesces, because its striping policy is NixlCoalesce. Use `policy: Nixl` \
             in `spec.striping`, or remove the factor",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_generated_variants_refer_to_the_factors_or_the_baseline() {
        for (expanded, in_spec) in [
            ("spec.variants[5].inject.maxBytes", "spec.factors.inject.maxBytes"),
            (
                "spec.variants[2].doorbell.maxBatch",
                "spec.factors.doorbell.maxBatch",
            ),
            (
                "spec.variants[4].striping.minChunkBytes",
                "spec.factors.coalesce.minChunkBytes",
            ),
            (
                "spec.variants[4].striping.thresholdBytes",
                "spec.variants[0].striping.thresholdBytes",
            ),
            ("spec.variants[12].env[0].name", "spec.variants[0].env[0].name"),
            (
                "spec.variants[0].striping.minChunkBytes",
                "spec.variants[0].striping.minChunkBytes",
            ),
            ("spec.striping.thresholdBytes", "spec.striping.thresholdBytes"),
        ] {
            assert_eq!(path_in_spec(expanded), in_spec);
        }
    }
}

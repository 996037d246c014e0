//! Verifies that variants that share an instrument process differ at some size. If they do not, reports which value
//! makes them identical.
//!
//! Variants that are identical only because the transport has a single rail are valid: their result is `NotApplicable`.

use crds::striping::{StripingPolicy, StripingRule};
use crds::units::Size;
use crds::v1alpha1::BenchmarkRunSpec;

use super::factors;
use super::problem::ProblemKind;
use super::reporter::Reporter;
use super::validated::{ValidatedScenario, ValidatedVariant};
use crate::posting::{Posting, Tuning};

/// Rail counts for which striping rules are compared if the transport has a single rail.
const MANY_RAILS: [u32; 4] = [2, 4, 8, 64];

/// Reports every pair of variants that share a process and would post exactly the same messages at every size.
pub(super) fn check(
    spec: &BenchmarkRunSpec,
    variants: &[ValidatedVariant],
    scenarios: &[ValidatedScenario],
    report: &mut Reporter,
) {
    // A scenario without a workload has been reported by the schema, and variants may differ in it.
    let is_valid = |index| scenarios.iter().any(|scenario| scenario.index == index);
    if !(0..spec.scenarios.len()).all(is_valid) {
        return;
    }
    let comparison = Comparison {
        spec,
        scenarios,
        rails: spec.transport.rails(),
    };
    // A factor without effect would make every pair of combinations that differ only in this factor identical, so only
    // the combinations with a single factor are compared.
    let compared = |index: &usize| spec.factors.is_none() || factors::has_at_most_one_factor(*index);
    for (second, variant) in variants.iter().enumerate().filter(|(index, _)| compared(index)) {
        let earlier = variants.iter().enumerate().take(second);
        for (first, earlier) in earlier.filter(|(index, _)| compared(index)) {
            let (a, b) = (earlier.tuning, variant.tuning);
            let channels_differ = variant.channel != earlier.channel && comparison.use_channels();
            let arguments_differ = variant.arguments != earlier.arguments;
            let is_identical = variant.shares_process(earlier)
                && !channels_differ
                && !arguments_differ
                && comparison.post_identically(a, b, comparison.rails)
                && !comparison.differs_with_more_rails(a, b);
            if is_identical {
                // The fix is to change the variant, not the baseline.
                let subject = if variant.name == spec.baseline {
                    first
                } else {
                    second
                };
                for cause in comparison.causes(a, b, subject) {
                    let IdenticalCause { path, reason, advice } = cause;
                    let (first, second) = (&variant.name, &earlier.name);
                    report.add_kind(
                        path,
                        format!(
                            "{reason}, so \"{first}\" and \"{second}\" would post exactly the same messages. \
                             {advice}"
                        ),
                        ProblemKind::IdenticalVariants,
                    );
                }
            }
        }
    }
}

/// Value that makes two variants identical.
struct IdenticalCause {
    path: String,
    reason: String,
    advice: String,
}

struct Comparison<'a> {
    spec: &'a BenchmarkRunSpec,
    scenarios: &'a [ValidatedScenario],
    rails: u32,
}

impl Comparison<'_> {
    fn post_identically(&self, a: Tuning, b: Tuning, rails: u32) -> bool {
        // A variant's tuning has no effect on a command.
        let mut posting = self
            .scenarios
            .iter()
            .filter(|scenario| scenario.assignment.workload.tool().is_none());
        posting.all(|scenario| {
            let posting = |tuning, size| Posting::new(tuning, scenario.burst(), size, rails);
            scenario
                .sizes
                .iter()
                .all(|size| posting(a, *size) == posting(b, *size))
        })
    }

    fn use_channels(&self) -> bool {
        let mut scenarios = self.scenarios.iter();
        scenarios.any(|scenario| scenario.assignment.workload.uses_channels())
    }

    fn differs_with_more_rails(&self, a: Tuning, b: Tuning) -> bool {
        self.rails == 1
            && MANY_RAILS
                .iter()
                .any(|rails| !self.post_identically(a, b, *rails))
    }

    fn causes(&self, a: Tuning, b: Tuning, subject: usize) -> Vec<IdenticalCause> {
        let variant = format!("spec.variants[{subject}]");
        let mut causes = Vec::new();
        if a.striping != b.striping {
            causes.push(self.striping_cause(a.striping, b.striping, subject));
        }
        if a.doorbell_max_batch != b.doorbell_max_batch {
            causes.push(self.doorbell(a.doorbell_max_batch, b.doorbell_max_batch, &variant));
        }
        if a.inject_max_bytes != b.inject_max_bytes {
            causes.push(self.inject(a.inject_max_bytes, b.inject_max_bytes, &variant));
        }
        if causes.is_empty() {
            causes.push(IdenticalCause {
                path: variant,
                reason: "it has the same tuning, environment, image and claims as another variant".to_owned(),
                advice: "Change or remove it; spec.sampling.control measures the noise floor".to_owned(),
            });
        }
        causes
    }

    fn striping_cause(&self, a: StripingRule, b: StripingRule, subject: usize) -> IdenticalCause {
        let (smallest, largest) = self.size_range();
        let striped_from = [a, b]
            .into_iter()
            .filter(|rule| rule.policy != StripingPolicy::Single);
        let threshold = striped_from.map(|rule| rule.threshold_bytes).min().unwrap_or(0);
        if threshold > largest {
            let (path, given) =
                self.striping_field(subject, "thresholdBytes", |striping| striping.threshold_bytes);
            return IdenticalCause {
                path,
                reason: format!(
                    "{}{given} is above every size of {}",
                    Size(threshold),
                    self.describe_scenarios()
                ),
                advice: format!("Set it to {smallest} or less"),
            };
        }
        let coalescing = [a, b]
            .into_iter()
            .filter(|rule| rule.policy == StripingPolicy::NixlCoalesce);
        if let Some(min_chunk) = coalescing.map(|rule| rule.min_chunk_bytes).max() {
            let (path, given) =
                self.striping_field(subject, "minChunkBytes", |striping| striping.min_chunk_bytes);
            let reach = min_chunk.saturating_mul(self.rails.into());
            return IdenticalCause {
                path,
                reason: format!(
                    "{}{given} is not above any chunk size of {}",
                    Size(min_chunk),
                    self.describe_scenarios()
                ),
                advice: format!(
                    "Increase it, or add a size of at least {} and below {}",
                    Size(threshold),
                    Size(reach)
                ),
            };
        }
        IdenticalCause {
            path: format!("spec.variants[{subject}].striping"),
            reason: format!(
                "both striping policies split transfers of every size in {} into the same chunks",
                self.describe_scenarios()
            ),
            advice: "Change the policy or the sizes".to_owned(),
        }
    }

    /// Path of the field that sets a value of the striping rule, and a note if the value is the default.
    fn striping_field(
        &self,
        subject: usize,
        field: &str,
        get: fn(crds::v1alpha1::Striping) -> Option<Size>,
    ) -> (String, &'static str) {
        let variant_striping = self
            .spec
            .variants
            .get(subject)
            .and_then(|variant| variant.striping);
        if variant_striping.and_then(get).is_some() {
            (format!("spec.variants[{subject}].striping.{field}"), "")
        } else if self.spec.striping.and_then(get).is_some() {
            (format!("spec.striping.{field}"), "")
        } else {
            (format!("spec.striping.{field}"), " (the default)")
        }
    }

    fn doorbell(&self, a: Option<u32>, b: Option<u32>, variant: &str) -> IdenticalCause {
        if let (Some(a), Some(b)) = (a, b) {
            return IdenticalCause {
                path: format!("{variant}.doorbell.maxBatch"),
                reason: format!("no burst posts more than {} messages on a rail", a.min(b)),
                advice: "Choose values below this number, or increase the batch of a transfer scenario"
                    .to_owned(),
            };
        }
        let batched = self
            .spec
            .scenarios
            .iter()
            .enumerate()
            .find_map(|(index, scenario)| {
                let transfer = scenario.transfer.as_ref()?;
                (transfer.operation != crds::v1alpha1::TransferOperation::Read)
                    .then_some((index, transfer.batch))
            });
        match batched {
            Some((index, batch)) => IdenticalCause {
                path: format!("spec.scenarios[{index}].transfer.batch"),
                reason: format!("a batch of {batch} posts at most one message per rail in a burst"),
                advice: format!("Set it to {} or more", 2 * self.rails),
            },
            None => IdenticalCause {
                path: format!("{variant}.doorbell"),
                reason: "no scenario posts more than one message or write in a burst".to_owned(),
                advice: format!(
                    "Add a transfer with operation: Write and batch: {}, or remove doorbell",
                    2 * self.rails
                ),
            },
        }
    }

    /// Why the first scenario cannot inject, if no scenario can.
    fn first_injection_blocker(&self) -> Option<&'static str> {
        let mut reasons = self
            .scenarios
            .iter()
            .map(|scenario| scenario.burst().injection_blocker());
        let first = reasons.next().flatten()?;
        reasons.all(|reason| reason.is_some()).then_some(first)
    }

    fn inject(&self, a: Option<u64>, b: Option<u64>, variant: &str) -> IdenticalCause {
        let (smallest, _) = self.size_range();
        let path = format!("{variant}.inject.maxBytes");
        let value = a.max(b).unwrap_or(0);
        if let Some(blocker) = self.first_injection_blocker() {
            let reason = format!("no scenario can inject: {blocker}");
            let advice = "Add a ping-pong, or a transfer with operation: WriteImmediate or Send, or remove \
                          inject"
                .to_owned();
            return IdenticalCause { path, reason, advice };
        }
        let (reason, advice) = match (a, b) {
            (Some(a), Some(b)) => (
                format!(
                    "no size of {} lies between {} and {}",
                    self.describe_scenarios(),
                    Size(a.min(b)),
                    Size(a.max(b))
                ),
                "Choose limits with a size between them".to_owned(),
            ),
            _ => (
                format!(
                    "{} is below every size of {}",
                    Size(value),
                    self.describe_scenarios()
                ),
                format!("Set it to {smallest} or more"),
            ),
        };
        IdenticalCause { path, reason, advice }
    }

    fn size_range(&self) -> (Size, u64) {
        let sizes = || {
            self.scenarios
                .iter()
                .flat_map(|scenario| scenario.sizes.iter().copied())
        };
        (Size(sizes().min().unwrap_or(0)), sizes().max().unwrap_or(0))
    }

    /// The scenarios with their size ranges, such as `scenario "mid" (16Ki to 128Ki)`.
    fn describe_scenarios(&self) -> String {
        let ranges = self.scenarios.iter().map(|scenario| {
            let smallest = Size(scenario.sizes.iter().copied().min().unwrap_or(0));
            let largest = Size(scenario.assignment.max_size_bytes);
            format!("\"{}\" ({smallest} to {largest})", scenario.assignment.name)
        });
        let noun = if self.scenarios.len() == 1 {
            "scenario"
        } else {
            "scenarios"
        };
        format!("{noun} {}", ranges.collect::<Vec<_>>().join(", "))
    }
}

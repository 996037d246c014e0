//! The root of the resource.

#[cfg(feature = "crd")]
use super::BenchmarkRunStatus;
use super::{
    Expectation, Placement, Resources, RunPolicy, Sampling, Scenario, Striping, TransportSpec, Variant,
};
use serde::{Deserialize, Serialize};

/// Every field but `suspend` and `runPolicy.ttlSecondsAfterFinished` is as it was: a plan is never edited under its
/// records. Fields with a default are always there; the others may neither appear nor vanish.
#[cfg(feature = "crd")]
const IMMUTABLE: &str = "self.baseline == oldSelf.baseline && self.variants == oldSelf.variants \
    && self.transport == oldSelf.transport && self.scenarios == oldSelf.scenarios \
    && self.placement == oldSelf.placement && self.resources == oldSelf.resources \
    && self.sampling == oldSelf.sampling \
    && self.runPolicy.activeDeadlineSeconds == oldSelf.runPolicy.activeDeadlineSeconds \
    && self.runPolicy.pendingDeadlineSeconds == oldSelf.runPolicy.pendingDeadlineSeconds \
    && self.runPolicy.caseDeadlineSeconds == oldSelf.runPolicy.caseDeadlineSeconds \
    && self.runPolicy.backoffLimit == oldSelf.runPolicy.backoffLimit \
    && has(self.image) == has(oldSelf.image) && (!has(self.image) || self.image == oldSelf.image) \
    && has(self.striping) == has(oldSelf.striping) && (!has(self.striping) || self.striping == oldSelf.striping) \
    && has(self.expectations) == has(oldSelf.expectations) \
    && (!has(self.expectations) || self.expectations == oldSelf.expectations)";

/// A campaign: variants, scenarios and sizes, and the fabric resources they are compared on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::CustomResource, kube::KubeSchema))]
#[cfg_attr(feature = "crd", kube(
    group = "fabricbench.dev",
    version = "v1alpha1",
    kind = "BenchmarkRun",
    plural = "benchmarkruns",
    shortname = "bench",
    category = "fabricbench",
    namespaced,
    status = "BenchmarkRunStatus",
    derive = "PartialEq",
    doc = "One benchmark campaign on an RDMA fabric: is a variant better than the baseline, at which sizes, by how much, how surely, did the optimization engage, and did the bytes use the fabric?",
    printcolumn(name = "State", type_ = "string", json_path = ".status.state", description = "What the run is doing"),
    printcolumn(name = "Progress", type_ = "string", json_path = ".status.progress.text", description = "Blocks done of all blocks"),
    printcolumn(name = "Verdict", type_ = "string", json_path = ".status.verdict", description = "What the comparisons say, in a line"),
    printcolumn(name = "Fabric", type_ = "string", json_path = ".status.fabric.proof", description = "Whether the bytes were seen on the fabric that was asked for"),
    printcolumn(name = "Best", type_ = "string", json_path = ".status.best", description = "Highest throughput of any variant"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp", description = "Time since creation"),
    validation = kube::core::Rule::new("self.metadata.name.size() <= 52 && !self.metadata.name.contains('.')").message("metadata.name: at most 52 characters and no dot, so that the names of its pods and services fit"),
))]
#[cfg_attr(feature = "crd", x_kube(
    validation = kube::core::Rule::new("self.variants.exists(v, v.name == self.baseline)").message("baseline must be the name of one of variants").field_path(".baseline"),
    validation = kube::core::Rule::new("!has(self.expectations) || self.expectations.all(e, self.variants.exists(v, v.name == e.variant) && e.variant != self.baseline)").message("expectations[].variant must be the name of a variant other than the baseline").field_path(".expectations"),
    validation = kube::core::Rule::new("!has(self.expectations) || self.expectations.all(e, self.scenarios.exists(s, s.name == e.scenario))").message("expectations[].scenario must be the name of one of scenarios").field_path(".expectations"),
    validation = kube::core::Rule::new(IMMUTABLE).message("the spec is immutable but for suspend and runPolicy.ttlSecondsAfterFinished: make a new run"),
))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BenchmarkRunSpec {
    /// While true no pod of the run exists; finished blocks are kept and the clock stands still.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspend: bool,
    /// Image of the runner pods; the installation's default where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 500)))]
    pub image: Option<String>,
    /// Name of the variant all others are compared with.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 40)))]
    pub baseline: String,
    /// How every arm spreads a transfer over rails, unless a variant says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub striping: Option<Striping>,
    /// What is compared. All variants get the same resources, nodes and rails.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 16)))]
    #[cfg_attr(feature = "crd", x_kube(merge_strategy = kube::core::ListMerge::Map(vec!["name".into()])))]
    pub variants: Vec<Variant>,
    /// The library and fabric that carry the bytes.
    pub transport: TransportSpec,
    /// What is measured, and at which sizes.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 8)))]
    #[cfg_attr(feature = "crd", x_kube(merge_strategy = kube::core::ListMerge::Map(vec!["name".into()])))]
    pub scenarios: Vec<Scenario>,
    /// How many workers there are, and where they may run.
    #[serde(default)]
    pub placement: Placement,
    /// What each worker gets; the same in all variants.
    #[serde(default)]
    pub resources: Resources,
    /// How often everything is repeated, and how sure a verdict must be.
    #[serde(default)]
    pub sampling: Sampling,
    /// What is expected of a variant; each gets an outcome of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 32)))]
    pub expectations: Vec<Expectation>,
    /// Deadlines, retries and clean-up.
    #[serde(default)]
    pub run_policy: RunPolicy,
}

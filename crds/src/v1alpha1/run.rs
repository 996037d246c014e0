//! The `BenchmarkRun` resource and its spec.

#[cfg(feature = "crd")]
use super::BenchmarkRunStatus;
use super::{
    Devices, Expectation, Factors, Placement, Resources, RunPolicy, Sampling, Scenario, Striping,
    TransportSpec, Variant,
};
use serde::{Deserialize, Serialize};

/// All fields except `suspend` and `runPolicy.ttlSecondsAfterFinished` are immutable, because all records of a run must
/// belong to the same plan. Fields with a default are always set, so the rule uses `has` only for the optional fields,
/// which must be neither added nor removed.
#[cfg(feature = "crd")]
const IMMUTABLE: &str = "self.baseline == oldSelf.baseline && self.variants == oldSelf.variants \
    && self.transport == oldSelf.transport && self.scenarios == oldSelf.scenarios \
    && self.placement == oldSelf.placement && self.resources == oldSelf.resources \
    && self.sampling == oldSelf.sampling && self.devices == oldSelf.devices \
    && self.runPolicy.activeDeadlineSeconds == oldSelf.runPolicy.activeDeadlineSeconds \
    && self.runPolicy.pendingDeadlineSeconds == oldSelf.runPolicy.pendingDeadlineSeconds \
    && self.runPolicy.caseDeadlineSeconds == oldSelf.runPolicy.caseDeadlineSeconds \
    && self.runPolicy.backoffLimit == oldSelf.runPolicy.backoffLimit \
    && has(self.image) == has(oldSelf.image) && (!has(self.image) || self.image == oldSelf.image) \
    && has(self.striping) == has(oldSelf.striping) && (!has(self.striping) || self.striping == oldSelf.striping) \
    && has(self.factors) == has(oldSelf.factors) && (!has(self.factors) || self.factors == oldSelf.factors) \
    && has(self.expectations) == has(oldSelf.expectations) \
    && (!has(self.expectations) || self.expectations == oldSelf.expectations)";

/// BenchmarkRunSpec specifies a benchmark campaign: the variants, the scenarios and sizes, and the fabric.
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
    doc = "BenchmarkRun is a benchmark campaign on an RDMA fabric. It measures whether a variant is better than the baseline, at which message sizes, by how much and with what confidence, and verifies that the optimization was active and that the data used the requested fabric.",
    printcolumn(name = "State", type_ = "string", json_path = ".status.state", description = "State of the run"),
    printcolumn(name = "Progress", type_ = "string", json_path = ".status.progress.text", description = "Measured blocks out of all blocks"),
    printcolumn(name = "Fabric", type_ = "string", json_path = ".status.fabric.proof", description = "Level of proof that the data used the requested fabric"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp", description = "Time since creation"),
    printcolumn(name = "Verdict", type_ = "string", json_path = ".status.verdict", description = "What each variant changes, by how much and where"),
    validation = kube::core::Rule::new("self.metadata.name.size() <= 52 && !self.metadata.name.contains('.')").message("metadata.name must have at most 52 characters and no dot, because pod and service names are derived from it"),
))]
#[cfg_attr(feature = "crd", x_kube(
    validation = kube::core::Rule::new("self.variants.exists(v, v.name == self.baseline)").message("baseline must be the name of a variant").field_path(".baseline"),
    validation = kube::core::Rule::new("!has(self.expectations) || self.expectations.all(e, (has(self.factors) || self.variants.exists(v, v.name == e.variant)) && e.variant != self.baseline)").message("expectations[].variant must be the name of a variant other than the baseline").field_path(".expectations"),
    validation = kube::core::Rule::new("!has(self.expectations) || self.expectations.all(e, self.scenarios.exists(s, s.name == e.scenario))").message("expectations[].scenario must be the name of a scenario").field_path(".expectations"),
    validation = kube::core::Rule::new("!has(self.factors) || (self.variants.size() == 1 && !has(self.variants[0].inject) && !has(self.variants[0].doorbell))").message("if factors is set, the baseline must be the only variant, without inject and doorbell: factors adds the other variants").field_path(".factors"),
    validation = kube::core::Rule::new(IMMUTABLE).message("the spec is immutable except for suspend and runPolicy.ttlSecondsAfterFinished: create a new run"),
))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BenchmarkRunSpec {
    /// Whether the run is suspended. A suspended run has no pods; finished blocks are retained, and deadlines are
    /// paused. Defaults to false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspend: bool,
    /// Image of the worker pods. Defaults to the runner image of the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "crd",
        schemars(length(min = 1, max = 500), regex(pattern = r"^[A-Za-z0-9._:/@\[\]-]+$"))
    )]
    pub image: Option<String>,
    /// Name of the variant that all other variants are compared with.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 40)))]
    pub baseline: String,
    /// Striping of transfers over rails. A variant can override this setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub striping: Option<Striping>,
    /// Variants to compare. All variants use the same resources, nodes and rails, except for the devices that a variant
    /// claims.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 16)))]
    #[cfg_attr(feature = "crd", x_kube(merge_strategy = kube::core::ListMerge::Map(vec!["name".into()])))]
    pub variants: Vec<Variant>,
    /// Optimizations to combine. Every combination is compared with the baseline, which must be the only variant. The
    /// results include the effect of each optimization and of their interactions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factors: Option<Factors>,
    /// Library and provider that transfer the data. A variant can override this setting.
    pub transport: TransportSpec,
    /// Scenarios to measure, each with its message sizes.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 8)))]
    #[cfg_attr(feature = "crd", x_kube(merge_strategy = kube::core::ListMerge::Map(vec!["name".into()])))]
    pub scenarios: Vec<Scenario>,
    /// Number of workers and the nodes they may run on.
    #[serde(default)]
    pub placement: Placement,
    /// Compute resources of each worker, for all variants.
    #[serde(default)]
    pub resources: Resources,
    /// GPUs, NICs and the NUMA node that every worker uses, for all variants.
    #[serde(default)]
    pub devices: Devices,
    /// Number of rounds and statistical parameters of the verdicts.
    #[serde(default)]
    pub sampling: Sampling,
    /// Expected changes of variants. The outcome of each expectation is reported in status.expectations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 32)))]
    pub expectations: Vec<Expectation>,
    /// Deadlines, retries and cleanup of the run.
    #[serde(default)]
    pub run_policy: RunPolicy,
}

impl BenchmarkRunSpec {
    /// Library and provider of each variant, in spec order.
    pub fn transports(&self) -> impl Iterator<Item = &TransportSpec> {
        let variants = self.variants.iter();
        variants.map(|variant| variant.transport.as_ref().unwrap_or(&self.transport))
    }

    /// Whether workers claim devices from drivers of Dynamic Resource Allocation.
    pub fn claims_devices(&self) -> bool {
        let mut variants = self.variants.iter();
        self.resources.claims.is_some() || variants.any(|variant| variant.claims.is_some())
    }

    /// Whether a variant makes the calls of its scenarios over the transport.
    pub fn calls_over_transport(&self) -> bool {
        let mut variants = self.variants.iter();
        variants.any(|variant| variant.channel.unwrap_or_default().is_transport())
    }
}

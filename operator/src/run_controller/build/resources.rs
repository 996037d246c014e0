//! Compute resources of a worker. Requests equal limits, and all arms have the same resources. Performs no I/O.

use std::collections::BTreeMap;

use crds::units::Size;
use k8s_openapi::api::core::v1::ResourceRequirements;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::options::OperatorConfig;

/// Resource name of EFA devices.
pub(crate) const EFA: &str = "vpc.amazonaws.com/efa";
/// Resource name of GPUs.
pub(crate) const GPU: &str = "nvidia.com/gpu";
/// Resource name of huge pages.
pub(crate) const HUGE_PAGES: &str = "hugepages-2Mi";
/// Upper limit, in bytes, for the default size of `/dev/shm`, which counts toward the worker's memory.
const MAX_DEFAULT_SHARED_MEMORY: u64 = 1 << 30;

/// Resources that a worker requests, in whole units and bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkerResources {
    /// Number of CPUs.
    pub cpus: u32,
    /// Memory, in bytes.
    pub memory: u64,
    /// Number of EFA devices.
    pub efas: u32,
    /// Number of GPUs.
    pub gpus: u32,
    /// Amounts of other extended resources, by resource name.
    pub extended: BTreeMap<String, u32>,
    /// Huge pages, in bytes.
    pub huge_pages: u64,
    /// Size of `/dev/shm`, in bytes, which is part of `memory`.
    pub shared_memory: u64,
}

impl WorkerResources {
    /// Returns the resources in `spec`, with defaults from `config`.
    pub(crate) fn new(spec: &crds::v1alpha1::Resources, config: &OperatorConfig) -> Self {
        let memory = spec.memory.unwrap_or(config.default_memory).bytes();
        let default_shared_memory = || MAX_DEFAULT_SHARED_MEMORY.min(memory / 2);
        Self {
            cpus: spec.cpus.unwrap_or(config.default_cpus),
            memory,
            efas: spec.efas,
            gpus: spec.gpus,
            extended: spec.extended.clone(),
            huge_pages: spec.hugepages_2mi.map_or(0, Size::bytes),
            shared_memory: spec.shared_memory.map_or_else(default_shared_memory, Size::bytes),
        }
    }

    /// Returns the resource requirements of a container. Equal requests and limits for CPU and memory put the pod in
    /// the `Guaranteed` QoS class, which huge pages and CPU pinning require.
    pub(super) fn requirements(&self) -> ResourceRequirements {
        let mut amounts = BTreeMap::from([
            ("cpu".to_owned(), Quantity(self.cpus.to_string())),
            ("memory".to_owned(), Quantity(Size(self.memory).to_string())),
        ]);
        let devices = [(EFA, self.efas), (GPU, self.gpus)];
        let extended = self.extended.iter().map(|(name, count)| (name.as_str(), *count));
        for (name, count) in devices
            .into_iter()
            .chain(extended)
            .filter(|(_, count)| *count > 0)
        {
            amounts.insert(name.to_owned(), Quantity(count.to_string()));
        }
        if self.huge_pages > 0 {
            amounts.insert(HUGE_PAGES.to_owned(), Quantity(Size(self.huge_pages).to_string()));
        }
        equal_requests_and_limits(amounts)
    }
}

/// Returns the resources for the container that copies the runner.
pub(super) fn installer() -> ResourceRequirements {
    let amounts = [("cpu", "100m"), ("memory", "64Mi")];
    equal_requests_and_limits(
        amounts
            .map(|(name, amount)| (name.to_owned(), Quantity(amount.to_owned())))
            .into(),
    )
}

fn equal_requests_and_limits(amounts: BTreeMap<String, Quantity>) -> ResourceRequirements {
    ResourceRequirements {
        requests: Some(amounts.clone()),
        limits: Some(amounts),
        ..ResourceRequirements::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extended_resources_of_any_name_are_requested_and_limited() {
        let spec = crds::v1alpha1::Resources {
            extended: [("rdma/hca_shared_devices_a".to_owned(), 1)].into(),
            ..Default::default()
        };
        let resources = WorkerResources::new(&spec, &OperatorConfig::new("runner"));
        let requirements = resources.requirements();
        assert_eq!(requirements.requests, requirements.limits);
        let amounts = requirements.limits.unwrap();
        let device = amounts.get("rdma/hca_shared_devices_a");
        assert_eq!(device, Some(&Quantity("1".to_owned())));
        assert!(!amounts.contains_key(EFA) && !amounts.contains_key(GPU));
    }
}

//! GPUs, NICs and the NUMA node that the workers use.

use serde::{Deserialize, Serialize};

/// GPUs, NICs and the NUMA node that every worker uses. They are the same for all variants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Devices {
    /// Indexes of the GPUs that provide Cuda memory, as numbered by the CUDA driver in the container. GPUs are assigned
    /// to the measuring threads round-robin, starting with the first GPU in the list. Each GPU has its own rails.
    /// Defaults to GPU 0, and for segments to all GPUs of the worker.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 16), inner(range(max = 63))))]
    pub gpus: Vec<u32>,
    /// Names of the NICs, such as rdmap79s0, mlx5_0 or eth0: one for each rail of the first GPU, then one for each rail
    /// of the next GPU, and so on. Defaults to the NICs nearest to the memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "crd",
        schemars(
            length(max = 64),
            inner(length(min = 1, max = 63), regex(pattern = "^[A-Za-z0-9][A-Za-z0-9_.-]*$"))
        )
    )]
    pub nics: Vec<String>,
    /// NUMA node on whose CPUs the measuring threads run and in whose memory host buffers are allocated. Defaults to
    /// the node of the CPUs on which the threads run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(max = 1023)))]
    pub numa_node: Option<u32>,
}

impl Devices {
    /// Whether no field is set.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Number of groups of rails: one for each GPU, or a single group for host memory.
    pub fn groups(&self) -> u32 {
        u32::try_from(self.gpus.len()).unwrap_or(u32::MAX).max(1)
    }

    /// Index of the group whose GPU and rails measuring thread `thread` uses.
    pub fn group(&self, thread: usize) -> usize {
        thread % self.groups() as usize
    }

    /// Index of the GPU whose memory measuring thread `thread` uses.
    pub fn gpu(&self, thread: usize) -> u32 {
        self.gpus.get(self.group(thread)).copied().unwrap_or(0)
    }

    /// Names of the NICs that measuring thread `thread` uses, by rail; empty if the spec names no NICs.
    pub fn nics(&self, thread: usize, rails: u32) -> &[String] {
        let rails = rails as usize;
        let start = self.group(thread) * rails;
        self.nics.get(start..start + rails).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_use_gpus_and_their_nics_round_robin() {
        let devices = Devices {
            gpus: vec![4, 6],
            nics: ["a", "b", "c", "d"].map(str::to_owned).to_vec(),
            numa_node: None,
        };
        let thread_devices = |thread| (devices.gpu(thread), devices.nics(thread, 2).join(" "));
        assert_eq!(thread_devices(0), (4, "a b".to_owned()));
        assert_eq!(thread_devices(1), (6, "c d".to_owned()));
        assert_eq!(thread_devices(2), thread_devices(0));
    }

    #[test]
    fn host_memory_has_one_group_of_rails() {
        let devices = Devices::default();
        assert_eq!((devices.groups(), devices.group(5), devices.gpu(5)), (1, 0, 0));
        assert!(devices.nics(0, 4).is_empty());
    }
}

//! The Parameter Serving Benchmark scenario: one trainer publishes versions of its parameters, and workers fetch them
//! while they compute.

use std::borrow::Cow;
use std::time;

use serde::{Deserialize, Serialize};

use crate::units::{Duration, Size};
use crate::v1alpha1::{Metric, SpecWorkload};

/// Default number of workers per trainer if all workers run in one pod.
const DEFAULT_WORKERS: u32 = 4;
/// Default number of workers per trainer in each receiver pod.
const DEFAULT_WORKERS_PER_NODE: u32 = 1;

/// One trainer, which is the initiator, publishes versions of its parameters at a fixed interval. The workers, which
/// are threads of the target, use the latest version that they have. The result is the staleness of that version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[cfg_attr(feature = "crd", x_kube(
    validation = kube::core::Rule::new("(self.mode == 'Filesystem') == has(self.directory)").message("directory must be set if mode is Filesystem, and must not be set otherwise").field_path(".directory"),
    validation = kube::core::Rule::new("self.mode == 'Multicast' || !has(self.multicast)").message("multicast must not be set unless mode is Multicast").field_path(".multicast"),
    validation = kube::core::Rule::new("!has(self.workers) || !has(self.workersPerNode)").message("at most one of workers and workersPerNode may be set").field_path(".workersPerNode"),
    validation = kube::core::Rule::new("!has(self.workers) || self.workers.all(one, self.workers.exists_one(other, other == one))").message("the worker counts must be unique").field_path(".workers"),
    validation = kube::core::Rule::new("!has(self.workersPerNode) || self.workersPerNode.all(one, self.workersPerNode.exists_one(other, other == one))").message("the worker counts per node must be unique").field_path(".workersPerNode"),
))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ParameterServing {
    /// How the parameters reach the workers.
    pub mode: ServingMode,
    /// Sizes of the parameters, such as 10M. Each must be at least 4Ki. Defaults to 10M.
    #[serde(default = "default_sizes")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 64)))]
    pub sizes: Vec<Size>,
    /// Time between the publication of one version and the next. Defaults to 200ms.
    #[serde(default = "default_exchange_period")]
    pub push_period: Duration,
    /// Time between a worker's attempts to fetch a newer version if mode is Filesystem or Pull. Defaults to 200ms.
    #[serde(default = "default_exchange_period")]
    pub pull_period: Duration,
    /// Time between a worker's posts. A post reports the mean version of the worker's steps to the trainer. Defaults to
    /// 2s.
    #[serde(default = "default_post_period")]
    pub post_period: Duration,
    /// Time between a worker's steps. Staleness is evaluated at each step. Defaults to 5ms.
    #[serde(default = "default_step_period")]
    pub step_period: Duration,
    /// Number of versions after which the trainer stops. Defaults to 500.
    #[serde(default = "default_max_version")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 30_000)))]
    pub max_version: u32,
    /// Time after which the trainer stops, even if it has published fewer than maxVersion versions. Defaults to 60s.
    #[serde(default = "default_max_time")]
    pub max_time: Duration,
    /// Number of workers per trainer, all of which run in one pod. If several numbers are listed, each becomes a
    /// separate scenario named NAME-WORKERS, so that the results show how the mode scales. Defaults to 4. Must not be
    /// set if the pattern is ManyToMany, which uses workersPerNode instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "crd",
        schemars(length(min = 1, max = 8), inner(range(min = 1, max = 16)))
    )]
    pub workers: Option<Vec<u32>>,
    /// Number of workers per trainer in each receiver pod if the pattern is ManyToMany. A trainer has this number of
    /// workers times spec.placement.receivers. If several numbers are listed, each becomes a separate scenario named
    /// NAME-WORKERS, where WORKERS is the trainer's total number of workers. Defaults to 1 if the pattern is
    /// ManyToMany. Must not be set for other patterns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "crd",
        schemars(length(min = 1, max = 8), inner(range(min = 1, max = 16)))
    )]
    pub workers_per_node: Option<Vec<u32>>,
    /// Directory in which the trainer stores the latest version. It must be in a file system that the trainer and the
    /// workers share. In a cluster, it must be /mnt/fabricbench or a directory in it, and
    /// spec.resources.persistentVolumeClaim must be set. Required if mode is Filesystem; must not be set otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 1024)))]
    pub directory: Option<String>,
    /// Multicast settings. Must not be set unless mode is Multicast.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multicast: Option<Multicast>,
}

impl ParameterServing {
    /// Worker counts per trainer in one pod, with the default for the pattern applied. Never empty.
    pub fn workers_in_pod(&self, is_many_to_many: bool) -> &[u32] {
        let (given, default): (_, &[u32]) = match is_many_to_many {
            true => (&self.workers_per_node, &[DEFAULT_WORKERS_PER_NODE]),
            false => (&self.workers, &[DEFAULT_WORKERS]),
        };
        given
            .as_deref()
            .filter(|given| !given.is_empty())
            .unwrap_or(default)
    }
}

/// How the parameters reach the workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum ServingMode {
    /// The trainer writes a file, and each worker reads it.
    Filesystem,
    /// The trainer sends datagrams to a multicast group, which every worker receives. Lost datagrams are not
    /// retransmitted.
    Multicast,
    /// The trainer writes into each worker's memory over the fabric.
    Push,
    /// Each worker reads from the trainer's memory over the fabric.
    Pull,
}

/// Multicast group and datagram settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Multicast {
    /// IPv4 address of the group. Must be a multicast address. Defaults to 239.255.7.7.
    #[cfg_attr(feature = "crd", schemars(length(max = 15)))]
    pub group: String,
    /// UDP port of the group. Defaults to 17771.
    #[cfg_attr(feature = "crd", schemars(range(min = 1024)))]
    pub port: u16,
    /// IPv4 address of the interface that sends and receives the datagrams, on both sides. By default, the routing
    /// table chooses the interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 15)))]
    pub interface: Option<String>,
    /// Address and port, such as 10.0.0.5:17772, of a relay that forwards the trainer's datagrams to the group. By
    /// default, the trainer sends to the group.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 21)))]
    pub relay: Option<String>,
    /// Maximum payload of a datagram. Must be between 512 and 60000 bytes. Defaults to 8Ki.
    pub datagram: Size,
    /// Maximum number of payload bytes that the trainer sends per second, such as 300M. By default, it sends as fast as
    /// the socket accepts datagrams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Size>,
}

impl Default for Multicast {
    fn default() -> Self {
        Self {
            group: "239.255.7.7".to_owned(),
            port: 17_771,
            interface: None,
            relay: None,
            datagram: Size(8 << 10),
            rate: None,
        }
    }
}

fn default_sizes() -> Vec<Size> {
    vec![Size(10_000_000)]
}

fn millis(count: u64) -> Duration {
    Duration(time::Duration::from_millis(count))
}

fn default_exchange_period() -> Duration {
    millis(200)
}

fn default_post_period() -> Duration {
    millis(2000)
}

fn default_step_period() -> Duration {
    millis(5)
}

fn default_max_version() -> u32 {
    500
}

fn default_max_time() -> Duration {
    millis(60_000)
}

impl SpecWorkload for ParameterServing {
    fn sizes(&self) -> Cow<'_, [Size]> {
        Cow::Borrowed(&self.sizes)
    }

    fn metric_of_closed_loop(&self) -> Metric {
        Metric::LatencyP50
    }
}

//! Competition of other work for the CPUs of a worker.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::cpu_list;

/// Share of the time in a run queue above which reports warn: from here on, the 99th percentile of a latency can consist of
/// waiting.
pub const MAX_RUN_QUEUE_SHARE: f64 = 0.01;
/// Share of a worker's CPUs that other processes may use before reports warn. Smaller shares are within the resolution of
/// the kernel's counters.
pub const MAX_FOREIGN_CPU_SHARE: f64 = 0.05;

/// Competition for the CPUs of a worker. The counters are read immediately before the measured window opens and after it
/// has closed, so the interval between the two readings contains the window and is slightly longer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CpuContention {
    /// Time between the two readings, in nanoseconds.
    pub interval_nanos: u64,
    /// Time for which the threads of the instrument process could run but had to wait for a CPU, summed over the threads,
    /// in nanoseconds. Unset if the kernel does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_queue_nanos: Option<u64>,
    /// Part of `run_queue_nanos` that belongs to the thread that waited longest, in nanoseconds. Unset if the kernel does
    /// not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_run_queue_nanos: Option<u64>,
    /// CPUs on which the measuring threads may run, such as `0-3,8`. Unset if the use of the CPUs is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<String>,
    /// Time for which these CPUs executed processes of any kind, or were taken away by the hypervisor, in nanoseconds. The
    /// kernel counts in steps of 10 ms. The time of interrupts is not included. Unset if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_nanos: Option<u64>,
    /// CPU time of the instrument process and of its terminated children, in nanoseconds. Unset if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_nanos: Option<u64>,
}

/// CPU time of processes that do not belong to the measurement, and the time of the CPUs on which it was observed, in
/// nanoseconds. The first is negative if the kernel's steps hide part of the use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForeignCpu {
    /// CPU time of other processes.
    pub used_nanos: i128,
    /// Time of the CPUs.
    pub available_nanos: u128,
}

impl ForeignCpu {
    /// Sum of two observations.
    pub fn plus(self, other: Self) -> Self {
        Self {
            used_nanos: self.used_nanos + other.used_nanos,
            available_nanos: self.available_nanos + other.available_nanos,
        }
    }

    /// Share of the CPUs that other processes used; `None` without an observation.
    pub fn share(&self) -> Option<f64> {
        (self.available_nanos > 0).then(|| self.used_nanos.max(0) as f64 / self.available_nanos as f64)
    }
}

impl CpuContention {
    /// Step of `busy_nanos`: the kernel counts the use of a CPU in units of `USER_HZ`, 100 per second (proc_stat(5)).
    pub const STEP_NANOS: u64 = 10_000_000;

    /// Number of CPUs on which the measuring threads may run; 0 if they are unknown.
    pub fn cpu_count(&self) -> u32 {
        let cpus = self.cpus.as_deref().map(cpu_list::parse);
        cpus.map_or(0, |cpus| u32::try_from(cpus.len()).unwrap_or(u32::MAX))
    }

    /// Whether both use a CPU in common. The caller checks that they ran on the same machine.
    pub fn shares_cpus(&self, other: &Self) -> bool {
        let (Some(own), Some(others)) = (&self.cpus, &other.cpus) else {
            return false;
        };
        if own == others {
            return true;
        }
        let own: BTreeSet<u32> = cpu_list::parse(own).into_iter().collect();
        cpu_list::parse(others).iter().any(|cpu| own.contains(cpu))
    }

    /// CPU time of other processes on the CPUs, of which `measuring_nanos` belongs to the measurement; `None` if the use of
    /// the CPUs is unknown.
    pub fn foreign_cpu(&self, measuring_nanos: i128) -> Option<ForeignCpu> {
        self.cpus.as_ref()?;
        Some(ForeignCpu {
            used_nanos: i128::from(self.busy_nanos?) - measuring_nanos,
            available_nanos: u128::from(self.interval_nanos) * u128::from(self.cpu_count()),
        })
    }
}

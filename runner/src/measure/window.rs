//! Resource usage of one side during the measured window: CPU time, context switches, throttling and governors. Reads
//! the kernel's counters immediately before and after the window, never inside it.

use std::path::PathBuf;

use crds::record::{CpuContention, SideReport};

use super::contention::{ContentionCounters, ContentionReading};
use super::cpu::{self, Switches};
use super::{cgroup, clock};
use crate::topology::SystemRoots;

/// Sources of this process's usage counters.
#[derive(Clone, Debug)]
pub struct UsageCounters {
    cpu_stat: Option<PathBuf>,
    governors: Vec<PathBuf>,
    contention: ContentionCounters,
}

/// An open window, with the counters at its start.
#[derive(Debug)]
pub struct Window {
    opened: u64,
    cpu_nanos: u64,
    switches: Switches,
    throttled_nanos: Option<u64>,
    governors: Vec<String>,
    contention: ContentionReading,
}

impl UsageCounters {
    /// Locates this process's usage counters, and the frequency governors of `cpus`, on which its measuring threads
    /// run.
    pub fn find(roots: &SystemRoots, cpus: &[u32]) -> Self {
        Self {
            cpu_stat: cgroup::cpu_stat_file(roots),
            governors: cpu::governor_files(roots, cpus),
            contention: ContentionCounters::find(roots, cpus),
        }
    }

    /// Opens a window. The slowest counters are read first, to keep their cost out of the window.
    pub fn open(&self) -> Window {
        let contention = self.contention.read();
        let governors = cpu::governors(&self.governors);
        let throttled_nanos = self.throttled_nanos();
        let switches = cpu::switches();
        let cpu_nanos = clock::process_cpu_nanos();
        Window {
            opened: clock::now(),
            cpu_nanos,
            switches,
            throttled_nanos,
            governors,
            contention,
        }
    }

    /// Closes a window. The caller adds posting counters, migrations and interfaces to the report, and then reads the
    /// [contention](Self::contention_since).
    pub fn close(&self, window: &Window) -> SideReport {
        let window_nanos = clock::now() - window.opened;
        let cpu_nanos = clock::process_cpu_nanos() - window.cpu_nanos;
        let switches = cpu::switches();
        SideReport {
            window_nanos,
            cpu_nanos,
            voluntary_switches: switches.voluntary - window.switches.voluntary,
            involuntary_switches: switches.involuntary - window.switches.involuntary,
            throttled_nanos: self
                .throttled_nanos()
                .zip(window.throttled_nanos)
                .map(|(now, before)| now.saturating_sub(before)),
            governor_changed: cpu::governors(&self.governors) != window.governors,
            ..SideReport::default()
        }
    }

    /// Contention for the CPUs since `window` was opened. It is read separately, because reading it takes longer than the
    /// other counters, and the peer's window is still open when this side closes its own.
    pub fn contention_since(&self, window: &Window) -> Option<CpuContention> {
        self.contention.since(&window.contention)
    }

    fn throttled_nanos(&self) -> Option<u64> {
        cgroup::throttled_nanos(self.cpu_stat.as_deref()?)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn reports_throttling_and_a_changed_governor() {
        let root = tempfile::tempdir().unwrap();
        let put = |file: &str, text: &str| {
            let file = root.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        let roots = SystemRoots {
            sys: root.path().join("sys"),
            proc: root.path().join("proc"),
        };
        put("proc/self/cgroup", "0::/\n");
        put("sys/fs/cgroup/cpu.stat", "throttled_usec 10\n");
        put(
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
            "performance\n",
        );
        let usage = UsageCounters::find(&roots, &[0]);

        let quiet = usage.close(&usage.open());
        assert_eq!((quiet.throttled_nanos, quiet.governor_changed), (Some(0), false));

        let window = usage.open();
        put("sys/fs/cgroup/cpu.stat", "throttled_usec 12\n");
        put(
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
            "powersave\n",
        );
        let report = usage.close(&window);
        assert_eq!(
            (report.throttled_nanos, report.governor_changed),
            (Some(2_000), true)
        );
        assert!(report.window_nanos > 0 && report.posted.is_none());
    }

    #[test]
    fn counts_the_cpu_time_of_work_in_the_window() {
        let usage = UsageCounters::find(&SystemRoots::default(), &[]);
        let window = usage.open();
        let sum = (0..3_000_000u64).fold(0, |sum, value| std::hint::black_box(sum ^ value));
        std::hint::black_box(sum);
        let report = usage.close(&window);
        assert!(report.cpu_nanos > 0 && report.window_nanos > 0);
    }
}

//! Resource limits set by cgroups, version 1 or 2. Reads `/proc/self/cgroup` and `/sys/fs/cgroup`.

use std::path::{Path, PathBuf};

use super::read_text;
use crate::topology::SystemRoots;

/// Smallest value that is treated as "no limit". If no limit is set, version 1 reports the largest page-aligned number.
const V1_UNLIMITED: u64 = 1 << 62;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Limits {
    pub memory_bytes: Option<u64>,
    pub cpu_millis: Option<u64>,
}

/// Limits of this process.
///
/// The limits of its cgroup and of all ancestors apply, so each result is the minimum over the visible cgroups.
pub(super) fn limits(roots: &SystemRoots) -> Limits {
    let memory = groups_with("memory", roots).into_iter().filter_map(memory_limit);
    let cpu = groups_with("cpu", roots)
        .into_iter()
        .filter_map(|(group, version)| match version {
            Version::V1 => v1_cpu_limit_millis(&group),
            Version::V2 => v2_cpu_limit_millis(&group),
        });
    Limits {
        memory_bytes: memory.min(),
        cpu_millis: cpu.min(),
    }
}

/// Memory limit of a cgroup in bytes; `None` if it has no limit.
fn memory_limit((group, version): (PathBuf, Version)) -> Option<u64> {
    let file = match version {
        Version::V1 => "memory.limit_in_bytes",
        Version::V2 => "memory.max",
    };
    let limit = read_text(&group.join(file)).and_then(parse_number);
    limit.filter(|limit| *limit < V1_UNLIMITED)
}

/// Memory in bytes that this process can use before its cgroup or an ancestor reaches its limit; `None` if there is no
/// limit. File pages that the kernel would reclaim first count as available.
pub(super) fn available_memory(roots: &SystemRoots) -> Option<u64> {
    let number = |file: PathBuf| read_text(&file).and_then(parse_number);
    let groups = groups_with("memory", roots).into_iter();
    let available = groups.filter_map(|(group, version)| {
        let (usage, reclaimable) = match version {
            Version::V1 => ("memory.usage_in_bytes", "total_inactive_file"),
            Version::V2 => ("memory.current", "inactive_file"),
        };
        let limit = memory_limit((group.clone(), version))?;
        let usage = number(group.join(usage))?;
        let reclaimable = counter(&group.join("memory.stat"), reclaimable).unwrap_or(0);
        Some(limit.saturating_sub(usage.saturating_sub(reclaimable)))
    });
    available.min()
}

/// Number of processes in this process's cgroup that the kernel's OOM killer has killed; `None` if the kernel does not
/// count them.
pub(super) fn oom_kills(roots: &SystemRoots) -> Option<u64> {
    groups_with("memory", roots)
        .into_iter()
        .find_map(|(group, version)| {
            let file = match version {
                Version::V1 => "memory.oom_control",
                Version::V2 => "memory.events",
            };
            counter(&group.join(file), "oom_kill")
        })
}

/// Version of a cgroup hierarchy.
#[derive(Clone, Copy, Debug)]
enum Version {
    V1,
    V2,
}

/// Cgroups with this controller that contain this process, each before its ancestors.
fn groups_with(controller: &str, roots: &SystemRoots) -> Vec<(PathBuf, Version)> {
    let membership = read_text(&roots.proc.join("self/cgroup")).unwrap_or_default();
    let mount = roots.sys.join("fs/cgroup");
    let mut found = Vec::new();
    for line in membership.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
            continue;
        };
        if controllers.is_empty() {
            found.extend(groups(&mount, path).map(|group| (group, Version::V2)));
        } else if controllers.split(',').any(|name| name == controller) {
            // Controllers that share a hierarchy are mounted under a combined name, with a symbolic link for each
            // controller.
            found.extend(groups(&mount.join(controller), path).map(|group| (group, Version::V1)));
        }
    }
    found
}

/// Value of the `name` counter in a file with one counter per line.
fn counter(file: &Path, name: &str) -> Option<u64> {
    let text = read_text(file)?;
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.and_then(|value| value.trim().parse().ok())
}

/// Existing directories from `path` up to the mount.
///
/// In a container, the mount may be the container's own cgroup, while `path` is relative to the root of the host's
/// hierarchy. In this case, only the mount exists.
fn groups(mount: &Path, path: &str) -> impl Iterator<Item = PathBuf> + use<> {
    let inner = Path::new(path.trim_start_matches('/'));
    let directories: Vec<_> = inner.ancestors().map(|ancestor| mount.join(ancestor)).collect();
    directories.into_iter().filter(|directory| directory.is_dir())
}

fn parse_number(text: String) -> Option<u64> {
    text.parse().ok()
}

fn v2_cpu_limit_millis(group: &Path) -> Option<u64> {
    let text = read_text(&group.join("cpu.max"))?;
    let (quota, period) = text.split_once(' ')?;
    cpu_limit_millis(quota.parse().ok()?, period.parse().ok()?)
}

fn v1_cpu_limit_millis(group: &Path) -> Option<u64> {
    // A quota of -1 means no limit. It fails to parse, so the result is `None`.
    let quota = read_text(&group.join("cpu.cfs_quota_us")).and_then(parse_number)?;
    let period = read_text(&group.join("cpu.cfs_period_us")).and_then(parse_number)?;
    cpu_limit_millis(quota, period)
}

fn cpu_limit_millis(quota: u64, period: u64) -> Option<u64> {
    quota.saturating_mul(1000).checked_div(period)
}

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
    let membership = read_text(&roots.proc.join("self/cgroup")).unwrap_or_default();
    let mount = roots.sys.join("fs/cgroup");
    let mut limits = Limits::default();
    for line in membership.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
            continue;
        };
        if controllers.is_empty() {
            for group in groups(&mount, path) {
                tighten(
                    &mut limits.memory_bytes,
                    read_text(&group.join("memory.max")).and_then(parse_number),
                );
                tighten(&mut limits.cpu_millis, v2_cpu(&group));
            }
        }
        for controller in controllers.split(',').filter(|name| !name.is_empty()) {
            // Controllers that share a hierarchy are mounted under a combined name, with a symbolic link for each
            // controller.
            let groups = groups(&mount.join(controller), path);
            match controller {
                "memory" => groups.for_each(|group| {
                    let limit = read_text(&group.join("memory.limit_in_bytes")).and_then(parse_number);
                    tighten(
                        &mut limits.memory_bytes,
                        limit.filter(|limit| *limit < V1_UNLIMITED),
                    );
                }),
                "cpu" => groups.for_each(|group| tighten(&mut limits.cpu_millis, v1_cpu(&group))),
                _ => {}
            }
        }
    }
    limits
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

fn v2_cpu(group: &Path) -> Option<u64> {
    let text = read_text(&group.join("cpu.max"))?;
    let (quota, period) = text.split_once(' ')?;
    millis(quota.parse().ok()?, period.parse().ok()?)
}

fn v1_cpu(group: &Path) -> Option<u64> {
    // A quota of -1 means no limit. It fails to parse, so the result is `None`.
    let quota = read_text(&group.join("cpu.cfs_quota_us")).and_then(parse_number)?;
    let period = read_text(&group.join("cpu.cfs_period_us")).and_then(parse_number)?;
    millis(quota, period)
}

fn millis(quota: u64, period: u64) -> Option<u64> {
    quota.saturating_mul(1000).checked_div(period)
}

fn tighten(limit: &mut Option<u64>, other: Option<u64>) {
    *limit = match (*limit, other) {
        (Some(limit), Some(other)) => Some(limit.min(other)),
        (limit, other) => limit.or(other),
    };
}

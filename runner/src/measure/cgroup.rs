//! CPU throttling in this process's cgroup. Reads `/proc/self/cgroup` and `cpu.stat`.
//!
//! cgroup v2 reports throttled time in microseconds (`throttled_usec`), cgroup v1 in nanoseconds (`throttled_time`).
//! Inside a container, the container's own cgroup is often mounted as the root, regardless of the path in
//! `/proc/self/cgroup`. If there are no counters at that path, the root is therefore tried next.

use std::fs;
use std::path::{Path, PathBuf};

use crate::topology::SystemRoots;

/// Path of the `cpu.stat` file of this process's cgroup; `None` if no file reports throttling.
pub fn cpu_stat_file(roots: &SystemRoots) -> Option<PathBuf> {
    let groups = fs::read_to_string(roots.proc.join("self/cgroup")).ok()?;
    let mount = roots.sys.join("fs/cgroup");
    let candidates = groups.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let path = path.trim_start_matches('/');
        let is_cpu = controllers.split(',').any(|controller| controller == "cpu");
        match controllers {
            "" => Some(vec![mount.join(path), mount.clone()]),
            _ if is_cpu => Some(vec![
                mount.join(controllers).join(path),
                mount.join("cpu").join(path),
                mount.join(controllers),
                mount.join("cpu"),
            ]),
            _ => None,
        }
    });
    // In a hybrid hierarchy, the cgroup v2 tree has no cpu controller, so the first file that reports throttling is
    // used.
    candidates
        .flatten()
        .map(|directory| directory.join("cpu.stat"))
        .find(|file| throttled_nanos(file).is_some())
}

/// Throttled time in nanoseconds since the cgroup was created; `None` if the file does not report it.
pub fn throttled_nanos(cpu_stat: &Path) -> Option<u64> {
    let text = fs::read_to_string(cpu_stat).ok()?;
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(' ')?;
        let value: u64 = value.trim().parse().ok()?;
        match name {
            "throttled_usec" => Some(value * 1_000),
            "throttled_time" => Some(value),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(groups: &str, file: &str, text: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("proc/self")).unwrap();
        fs::write(root.path().join("proc/self/cgroup"), groups).unwrap();
        let file = root.path().join("sys/fs/cgroup").join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
        root
    }

    fn roots(root: &Path) -> SystemRoots {
        SystemRoots {
            sys: root.join("sys"),
            proc: root.join("proc"),
        }
    }

    fn throttled_time_at(root: &Path) -> Option<u64> {
        throttled_nanos(&cpu_stat_file(&roots(root))?)
    }

    #[test]
    fn converts_version_2_microseconds_to_nanoseconds() {
        let text = "usage_usec 12\nnr_periods 4\nnr_throttled 2\nthrottled_usec 1500\n";
        let root = machine("0::/pods/a\n", "pods/a/cpu.stat", text);
        assert_eq!(throttled_time_at(root.path()), Some(1_500_000));
    }

    #[test]
    fn reads_version_1_nanoseconds() {
        let groups = "4:memory:/pods/a\n3:cpu,cpuacct:/pods/a\n0::/\n";
        let root = machine(
            groups,
            "cpu,cpuacct/pods/a/cpu.stat",
            "nr_periods 0\nthrottled_time 77\n",
        );
        assert_eq!(throttled_time_at(root.path()), Some(77));
    }

    #[test]
    fn falls_back_to_the_mount_root() {
        let root = machine("1:cpu:/kubepods/x\n", "cpu/cpu.stat", "throttled_time 5\n");
        assert_eq!(throttled_time_at(root.path()), Some(5));
    }

    #[test]
    fn returns_none_without_throttling_counters() {
        let root = machine("0::/\n", "cpu.stat", "usage_usec 1\n");
        assert_eq!(throttled_time_at(root.path()), None);
        assert_eq!(cpu_stat_file(&roots(Path::new("/nowhere"))), None);
    }
}

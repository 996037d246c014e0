//! A memory cgroup made for a test, version 1 or 2.

use std::fs;
use std::path::{Path, PathBuf};

const MOUNT: &str = "/sys/fs/cgroup";

/// A memory cgroup, which is removed when it is dropped.
pub struct Cgroup {
    directory: PathBuf,
    is_v1: bool,
}

impl Cgroup {
    /// Creates a cgroup; `None` if this machine does not allow it.
    pub fn new(name: &str) -> Option<Self> {
        let v1 = Path::new(MOUNT).join("memory");
        let is_v1 = v1.is_dir();
        let parent = if is_v1 { v1 } else { PathBuf::from(MOUNT) };
        let directory = parent.join(format!("fabricbench-{name}-{}", std::process::id()));
        fs::create_dir(&directory).ok()?;
        let cgroup = Self { directory, is_v1 };
        cgroup
            .directory
            .join(cgroup.limit_file())
            .exists()
            .then_some(cgroup)
    }

    /// Shell code that moves the shell into the cgroup.
    pub fn join_command(&self) -> String {
        format!("echo $$ > {}", self.directory.join("cgroup.procs").display())
    }

    /// Memory that its processes use, in bytes.
    pub fn usage(&self) -> u64 {
        let file = if self.is_v1 {
            "memory.usage_in_bytes"
        } else {
            "memory.current"
        };
        let text = fs::read_to_string(self.directory.join(file)).unwrap();
        text.trim().parse().unwrap()
    }

    /// Limits the memory of its processes.
    pub fn set_limit(&self, bytes: u64) {
        fs::write(self.directory.join(self.limit_file()), bytes.to_string()).unwrap();
    }

    fn limit_file(&self) -> &'static str {
        if self.is_v1 {
            "memory.limit_in_bytes"
        } else {
            "memory.max"
        }
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // Fails if a failed test left processes in it.
        let _ = fs::remove_dir(&self.directory);
    }
}

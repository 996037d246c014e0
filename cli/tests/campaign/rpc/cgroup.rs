//! Memory cgroup (version 1 or 2) for a test.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const MOUNT: &str = "/sys/fs/cgroup";

/// A memory cgroup, which is removed when it is dropped.
pub struct Cgroup {
    directory: PathBuf,
    is_v1: bool,
}

impl Cgroup {
    /// Creates a cgroup for the test `name`. Returns `None` and reports the reason if this process may not create a
    /// cgroup, because it is not root or the cgroups are mounted read-only, or if the machine has no memory controller.
    pub fn new(name: &str) -> Option<Self> {
        let v1 = Path::new(MOUNT).join("memory");
        let is_v1 = v1.is_dir();
        let parent = if is_v1 { v1 } else { PathBuf::from(MOUNT) };
        let directory = parent.join(format!("fabricbench-{name}-{}", std::process::id()));
        if let Err(error) = fs::create_dir(&directory) {
            let is_expected = matches!(
                error.kind(),
                ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem | ErrorKind::NotFound
            );
            assert!(is_expected, "{}: {error}", directory.display());
            report_skipped(
                name,
                &format!("{} cannot be created: {error}", directory.display()),
            );
            return None;
        }
        let cgroup = Self { directory, is_v1 };
        if !is_v1 {
            let enabled = fs::read_to_string(Path::new(MOUNT).join("cgroup.subtree_control")).unwrap();
            if !enabled
                .split_whitespace()
                .any(|controller| controller == "memory")
            {
                report_skipped(name, &format!("{MOUNT} does not pass on the memory controller"));
                return None;
            }
        }
        let limit = cgroup.directory.join(cgroup.limit_file());
        assert!(limit.exists(), "{} does not exist", limit.display());
        Some(cgroup)
    }

    /// Shell code that moves the shell into the cgroup.
    pub fn join_command(&self) -> String {
        format!("echo $$ > {}", self.directory.join("cgroup.procs").display())
    }

    /// Returns the memory that the processes in the cgroup use, in bytes.
    pub fn usage(&self) -> u64 {
        let file = if self.is_v1 {
            "memory.usage_in_bytes"
        } else {
            "memory.current"
        };
        let text = fs::read_to_string(self.directory.join(file)).unwrap();
        text.trim().parse().unwrap()
    }

    /// Limits the memory of the processes in the cgroup.
    pub fn set_limit(&self, bytes: u64) {
        fs::write(self.directory.join(self.limit_file()), bytes.to_string()).unwrap();
    }

    /// Limits the memory to slightly more than the processes in the cgroup use, and starts another process in the cgroup
    /// that needs more than the rest. The kernel is not allowed to kill this process, so it kills another one. Wait for
    /// the process after [`Cgroup::set_limit`] has raised the limit.
    pub fn exhaust(&self) -> Child {
        let left = 20 << 20;
        self.set_limit(self.usage() + left);
        let hog = format!(
            "{}; echo -1000 > /proc/self/oom_score_adj; head -c {} /dev/zero | tail > /dev/null",
            self.join_command(),
            left + (20 << 20)
        );
        let mut command = Command::new("sh");
        command.args(["-c", &hog]).stderr(Stdio::null()).spawn().unwrap()
    }

    fn limit_file(&self) -> &'static str {
        if self.is_v1 {
            "memory.limit_in_bytes"
        } else {
            "memory.max"
        }
    }
}

/// Prints that the test `name` is skipped for `reason`, and appends the message to the file that
/// `FABRICBENCH_TEST_SKIPPED` names, if the variable is set. `.ci/test` prints the lines of this file.
fn report_skipped(name: &str, reason: &str) {
    let line = format!("test {name}: skipped: {reason}\n");
    print!("{line}");
    if let Some(path) = std::env::var_os("FABRICBENCH_TEST_SKIPPED") {
        let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.write_all(line.as_bytes()).unwrap();
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // Fails if a failed test left processes in the cgroup.
        let _ = fs::remove_dir(&self.directory);
    }
}

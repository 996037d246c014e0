//! Finds, kills and reaps all descendants of this process, which must be a subreaper: the kernel then makes it the
//! parent of every descendant whose own parent has exited. Performs system calls.

use std::fs;
use std::time::Instant;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};

/// Maximum number of process names in a message.
const MAX_NAMES: usize = 8;

/// Reaps a child that has exited. Returns `Ok(None)` if no child has exited, and `Err(NoChildren)` if there are no
/// children.
pub(super) fn reap() -> Result<Option<(Pid, WaitStatus)>, NoChildren> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(reaped) => return Ok(reaped),
            Err(Errno::INTR) => {}
            Err(_) => return Err(NoChildren),
        }
    }
}

/// Error returned if this process has no children.
pub(super) struct NoChildren;

/// Names of at most `MAX_NAMES` living children.
pub(super) fn child_names() -> Vec<String> {
    let living = children().into_iter().filter(|child| !child.is_zombie);
    living.map(|child| child.name).take(MAX_NAMES).collect()
}

/// Kills and reaps children until no child is left or `deadline` has passed. Children of killed children become
/// children of this process. `pause` waits briefly for children to exit. Returns the names of the remaining children.
pub(super) fn kill_all(deadline: Instant, mut pause: impl FnMut()) -> Vec<String> {
    loop {
        for child in children() {
            // Ignore errors: children that cannot be killed are returned to the caller.
            let _ = kill_process(child.pid, Signal::KILL);
        }
        loop {
            match reap() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(NoChildren) => return Vec::new(),
            }
        }
        if Instant::now() >= deadline {
            return child_names();
        }
        pause();
    }
}

struct Child {
    pid: Pid,
    name: String,
    is_zombie: bool,
}

/// Children of this process, according to procfs.
fn children() -> Vec<Child> {
    let own = std::process::id();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let (name, state, parent) = parse_stat(&stat)?;
        (parent == own).then_some(Child {
            pid: Pid::from_raw(pid)?,
            name: name.to_owned(),
            is_zombie: state == "Z",
        })
    });
    processes.collect()
}

/// Name, state and parent in `/proc/PID/stat`. The name is in parentheses, and may contain any character.
fn parse_stat(stat: &str) -> Option<(&str, &str, u32)> {
    let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    Some((name, fields.next()?, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_contain_parentheses() {
        assert_eq!(parse_stat("12 (a) b) S 7 1 1"), Some(("a) b", "S", 7)));
        assert_eq!(parse_stat("12 S 7"), None);
    }
}

//! Programs in a mount namespace of their own, with file systems that are made for them and go with it.

use std::process::Command;

/// `command` after the shell commands of `prepare`, in a user and a mount namespace of its own; root in it, so that it
/// may mount.
pub fn with_mounts(prepare: &str, command: &Command) -> Command {
    let mut wrapped = Command::new("unshare");
    wrapped
        .args(["--user", "--map-root-user", "--mount", "sh", "-c"])
        .arg(format!("{prepare} && exec \"$0\" \"$@\""))
        .arg(command.get_program())
        .args(command.get_args());
    wrapped
}

//! Programs in a mount namespace of their own, with file systems that are made for them and go with it.

use std::process::Command;

/// `command` in a mount namespace of its own, after the shell command `mount`.
pub fn with_mounts(mount: &str, command: &Command) -> Command {
    let mut wrapped = Command::new("sh");
    wrapped
        .args(["-c", &format!(r#"{} "$0" "$@""#, own_mounts(mount))])
        .arg(command.get_program())
        .args(command.get_args());
    wrapped
}

/// In front of a command in a shell: it gets a user and a mount namespace of its own, in which the shell command `mount`
/// comes first. It is root there, so that it may mount.
pub fn own_mounts(mount: &str) -> String {
    format!(r#"exec unshare --user --map-root-user --mount sh -c '{mount} && exec "$0" "$@"'"#)
}

//! Commands in separate mount namespaces with temporary file systems.

use std::process::Command;

/// Wraps `command` so that it runs in a new mount namespace after the shell command `mount`.
pub fn with_mounts(mount: &str, command: &Command) -> Command {
    let mut wrapped = Command::new("sh");
    wrapped
        .args(["-c", &format!(r#"{} "$0" "$@""#, new_namespaces(mount))])
        .arg(command.get_program())
        .args(command.get_args());
    wrapped
}

/// Shell prefix that runs a command in new user and mount namespaces, in which the shell command `mount` runs first.
/// The command is root in the user namespace, which permits mounting.
pub fn new_namespaces(mount: &str) -> String {
    format!(r#"exec unshare --user --map-root-user --mount sh -c '{mount} && exec "$0" "$@"'"#)
}

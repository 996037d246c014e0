//! Commands in separate network namespaces, whose loopback interface may be rate-limited. Requires `ip` and `tc` (Debian
//! package iproute2).

use std::process::Command;

use super::processes::MARK;

/// Wraps `command` so that it runs in a new user and network namespace with only a loopback interface. If `shape` is not
/// empty, it contains the arguments of `tc qdisc add dev lo root`.
pub fn with_loopback(shape: &str, command: &Command) -> Command {
    let limit = match shape {
        "" => String::new(),
        shape => format!(" && tc qdisc add dev lo root {shape}"),
    };
    let script = format!(r#"ip link set lo up{limit} && exec "$0" "$@""#);
    let mut wrapped = Command::new("unshare");
    wrapped
        .args(["--user", "--map-root-user", "--net", "sh", "-c", &script])
        .arg(command.get_program())
        .args(command.get_args());
    wrapped
}

/// Wraps `command` so that it runs in a new network namespace, in which no other program sends traffic: traffic of other
/// tests over the loopback interface would change the proof of the fabric. Without root, returns `command` unchanged.
pub fn without_other_traffic(command: Command) -> Command {
    if !rustix::process::geteuid().is_root() {
        return command;
    }
    // Multicast needs a route.
    let script = r#"ip link set lo up && ip route add 224.0.0.0/4 dev lo && exec "$0" "$@""#;
    let mut wrapped = Command::new("unshare");
    wrapped
        .args(["--net", "sh", "-c", script])
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(name, value),
            None => wrapped.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        wrapped.current_dir(directory);
    }
    wrapped
}

/// Wraps `command` so that it runs in a new network namespace during `other`, a shell command that is stopped when `command`
/// exits.
pub fn during(other: &str, command: &Command) -> Command {
    let script = format!(
        r#"ip link set lo up || exit; env -u {MARK} {other} & other=$!; "$0" "$@"; status=$?; kill $other; exit $status"#
    );
    let mut wrapped = Command::new("unshare");
    wrapped
        .args(["--user", "--map-root-user", "--net", "sh", "-c", &script])
        .arg(command.get_program())
        .args(command.get_args());
    wrapped
}

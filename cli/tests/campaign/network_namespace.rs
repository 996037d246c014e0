//! Commands in separate network namespaces, whose loopback interface may be rate-limited. Requires `ip` and `tc` (Debian
//! package iproute2).

use std::process::Command;

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

//! UCX's environment variables and configuration files. Performs no I/O.

use crds::v1alpha1::{Ucx, UcxTransport};

/// Variable with the network devices that UCX may use.
pub(in crate::transport::ucx) const NET_DEVICES: &str = "UCX_NET_DEVICES";

/// Environment variables to set for an instrument process, with their values. Variables that the user has already set
/// are left unchanged. UCX reads them in its library constructors, so they must be set when the process is started.
///
/// * Signals: UCX would replace the handlers of SIGSEGV and similar signals, and of SIGHUP.
/// * Unused variables: UCX warns about variables from other releases, which a run with several versions of UCX may set.
pub fn required_variables() -> Vec<(&'static str, String)> {
    [
        ("UCX_HANDLE_ERRORS", "none"),
        ("UCX_DEBUG_SIGNO", "0"),
        ("UCX_WARN_UNUSED_ENV_VARS", "n"),
    ]
    .map(|(name, value)| (name, value.to_owned()))
    .to_vec()
}

/// Checks that the `UCX_TLS` variable, which takes precedence over the spec, includes the transports in the spec. `get`
/// reads a variable.
///
/// # Errors
///
/// Returns a message that names the variable and the missing transport.
pub(in crate::transport::ucx) fn check_variables(
    spec: &Ucx,
    get: impl Fn(&str) -> Option<String>,
) -> Result<(), String> {
    let Some(allowed) = get("UCX_TLS") else {
        return Ok(());
    };
    match spec
        .transports
        .iter()
        .find(|transport| !includes(&allowed, **transport))
    {
        Some(transport) => Err(format!(
            "UCX_TLS={allowed} is set, which excludes the {} transport in the spec: remove the variable or include {}",
            transport.name(),
            transport.name()
        )),
        None => Ok(()),
    }
}

/// Checks that the `UCX_NET_DEVICES` variable, which takes precedence over the rail's device, includes this device.
/// `get` reads a variable.
///
/// # Errors
///
/// Returns a message that names the variable and the device.
pub(in crate::transport::ucx) fn check_device(
    device: &str,
    get: impl Fn(&str) -> Option<String>,
) -> Result<(), String> {
    let Some(allowed) = get(NET_DEVICES) else {
        return Ok(());
    };
    let names = |entry: &str| entry == "all" || entry == device;
    if allowed.split(',').any(|entry| names(entry.trim())) {
        return Ok(());
    }
    Err(format!(
        "{NET_DEVICES}={allowed} is set, which excludes {device}, the device of this rail: remove the variable, or name \
         its device for the rail (spec.devices.nics in a manifest, --device on the command line)"
    ))
}

/// Whether the value of `UCX_TLS` may include a transport. A list that starts with `^` excludes its entries. A
/// transport that stands for several lanes is excluded only if all of them are.
fn includes(allowed: &str, transport: UcxTransport) -> bool {
    let (excludes, list) = match allowed.strip_prefix('^') {
        Some(list) => (true, list),
        None => (false, allowed),
    };
    let entries = || list.split(',').map(|entry| entry.trim().trim_start_matches('\\'));
    let mut served = LANES.into_iter().filter(|lane| transport.serves(lane));
    let is_listed = |lane: &str| entries().any(|entry| names_lane(entry, lane));
    served.any(|lane| is_listed(lane) != excludes)
}

/// Transports of UCX, by the names of their lanes.
const LANES: [&str; 14] = [
    "tcp",
    "posix",
    "sysv",
    "xpmem",
    "knem",
    "cma",
    "rc_verbs",
    "rc_mlx5",
    "ud_verbs",
    "ud_mlx5",
    "dc_mlx5",
    "cuda_copy",
    "cuda_ipc",
    "gdr_copy",
];

/// Whether `entry` in `UCX_TLS` includes the transport `lane`.
fn names_lane(entry: &str, lane: &str) -> bool {
    match entry {
        "mm" => matches!(lane, "posix" | "sysv" | "xpmem"),
        _ => UcxTransport::from_name(entry).is_some_and(|transport| transport.serves(lane)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(transport: UcxTransport, tls: &str) -> Result<(), String> {
        let tls = tls.to_owned();
        check_variables(&Ucx::new(vec![transport], 1), |name| {
            (name == "UCX_TLS").then(|| tls.clone())
        })
    }

    #[test]
    fn disables_signal_handlers() {
        let variables = required_variables();
        assert!(variables.contains(&("UCX_HANDLE_ERRORS", "none".to_owned())));
        assert!(variables.contains(&("UCX_DEBUG_SIGNO", "0".to_owned())));
    }

    #[test]
    fn rejects_a_variable_that_excludes_the_device() {
        let check = |devices: &'static str| {
            check_device("lo", |name| {
                (name == "UCX_NET_DEVICES").then(|| devices.to_owned())
            })
        };
        assert!(
            ["lo", "all", "eth0, lo"]
                .into_iter()
                .all(|devices| check(devices).is_ok())
        );
        let message = check("eth0").unwrap_err();
        assert!(
            message.contains("UCX_NET_DEVICES=eth0") && message.contains("--device"),
            "{message}"
        );
        assert!(check_device("lo", |_| None).is_ok());
    }

    #[test]
    fn rejects_a_variable_that_excludes_the_requested_transport() {
        for (tls, included) in [
            ("tcp,self", true),
            ("all", true),
            ("^sm", true),
            ("sm,self", false),
            ("^tcp", false),
        ] {
            assert_eq!(check(UcxTransport::Tcp, tls).is_ok(), included, "{tls}");
        }
        assert!(check(UcxTransport::Sm, "posix,cma,self").is_ok());
        assert!(check(UcxTransport::Rc, "ib").is_ok());
        assert!(check(UcxTransport::All, "tcp").is_ok());
        assert!(check(UcxTransport::Posix, "sm").is_ok());
        assert!(check(UcxTransport::Posix, "cma").is_err());
        assert!(check(UcxTransport::RcX, "^rc_x").is_err());
        assert!(check(UcxTransport::Rc, "^rc_x").is_ok());
        let message = check(UcxTransport::Tcp, "sm,self").unwrap_err();
        assert!(
            message.starts_with("UCX_TLS=sm,self is set, which excludes the tcp transport"),
            "{message}"
        );
        assert_eq!(
            check_variables(&Ucx::new(vec![UcxTransport::Tcp], 1), |_| None),
            Ok(())
        );
    }
}

//! UCX's environment variables and configuration files. Performs no I/O.

use crds::v1alpha1::{Ucx, UcxTransport};

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

/// Whether the value of `UCX_TLS` may include a transport. A list that starts with `^` excludes its entries.
fn includes(allowed: &str, transport: UcxTransport) -> bool {
    let (excludes, list) = match allowed.strip_prefix('^') {
        Some(list) => (true, list),
        None => (false, allowed),
    };
    let names = |entry: &str| {
        let entry = entry.trim().trim_start_matches('\\');
        let name = transport.name();
        entry == name
            || match transport {
                UcxTransport::Rc => matches!(entry, "ib") || entry.starts_with("rc_"),
                UcxTransport::Ud => matches!(entry, "ib") || entry.starts_with("ud_"),
                UcxTransport::Dc => matches!(entry, "ib") || entry.starts_with("dc_"),
                UcxTransport::Sm => {
                    !excludes && matches!(entry, "shm" | "mm" | "posix" | "sysv" | "cma" | "xpmem" | "knem")
                }
                UcxTransport::CudaCopy | UcxTransport::CudaIpc => entry == "cuda",
                UcxTransport::Tcp => false,
            }
    };
    let listed = list.split(',').any(names);
    if excludes {
        !listed
    } else {
        listed || list.split(',').any(|entry| entry.trim() == "all")
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

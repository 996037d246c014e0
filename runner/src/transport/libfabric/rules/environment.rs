//! Environment variables that must be set before the first call to the library. Performs no I/O.

use crds::v1alpha1::LibfabricProvider;
use libfabric_sys::Version;

/// First release with `FI_OPT_SHARED_MEMORY_PERMITTED`.
///
/// In earlier releases, only the environment variable prevents efa from using shared memory.
const SHARED_MEMORY_OPTION: Version = Version::new(1, 21);

/// Variables that make libfabric's efa provider print a message and abort the process.
const ABORTING_VARIABLES: [&str; 3] = ["FI_EFA_MTU_SIZE", "FI_EFA_TX_IOV_LIMIT", "FI_EFA_RX_IOV_LIMIT"];

/// Minimum value of `FI_UNIVERSE_SIZE`.
const MIN_UNIVERSE_SIZE: usize = 16;

/// Environment variables to set for an instrument process, with their values. Variables that the user has already set
/// are left unchanged.
///
/// * efa: by default, the provider reaches a peer on the same host through shared memory, which would not measure EFA.
/// * verbs: the provider sizes its queues for the expected number of peers, 1024 by default. Soft-RoCE devices reject a
///   completion queue of that size (`fi_enable` returns EINVAL).
pub fn required_variables(provider: LibfabricProvider, peers: usize) -> Vec<(&'static str, String)> {
    match provider {
        LibfabricProvider::Efa => vec![("FI_EFA_ENABLE_SHM_TRANSFER", "0".to_owned())],
        LibfabricProvider::Verbs => {
            let size = peers.saturating_add(1).next_power_of_two().max(MIN_UNIVERSE_SIZE);
            vec![("FI_UNIVERSE_SIZE", size.to_string())]
        }
        _ => Vec::new(),
    }
}

/// Checks for variables that would make the library abort the process or invalidate the measurement. `get` reads a
/// variable.
///
/// # Errors
///
/// Returns a message that names the variable to set or remove.
pub(in crate::transport::libfabric) fn check_variables(
    provider: LibfabricProvider,
    version: Version,
    get: impl Fn(&str) -> Option<String>,
) -> Result<(), String> {
    if !matches!(provider, LibfabricProvider::Efa | LibfabricProvider::EfaDirect) {
        return Ok(());
    }
    if let Some(name) = ABORTING_VARIABLES.into_iter().find(|name| get(name).is_some()) {
        return Err(format!(
            "{name} is set, which makes libfabric's efa provider abort the process: remove it"
        ));
    }
    let disabled = get("FI_EFA_ENABLE_SHM_TRANSFER").is_some_and(|value| value == "0");
    if provider == LibfabricProvider::Efa && version < SHARED_MEMORY_OPTION && !disabled {
        return Err(format!(
            "libfabric {version} would use shared memory instead of EFA for a peer on the same host: set \
             FI_EFA_ENABLE_SHM_TRANSFER=0"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &'static [(&str, &str)]) -> impl Fn(&str) -> Option<String> {
        move |name| {
            pairs
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        }
    }

    #[test]
    fn sizes_the_verbs_universe_by_the_number_of_peers() {
        let size = |peers| required_variables(LibfabricProvider::Verbs, peers);
        assert_eq!(size(1), [("FI_UNIVERSE_SIZE", "16".to_owned())]);
        assert_eq!(size(16), [("FI_UNIVERSE_SIZE", "32".to_owned())]);
    }

    #[test]
    fn disables_shared_memory_for_efa() {
        assert_eq!(
            required_variables(LibfabricProvider::Efa, 1),
            [("FI_EFA_ENABLE_SHM_TRANSFER", "0".to_owned())]
        );
        assert!(required_variables(LibfabricProvider::Tcp, 1).is_empty());
    }

    #[test]
    fn rejects_an_old_efa_provider_without_the_variable() {
        let old = Version::new(1, 20);
        assert!(
            check_variables(LibfabricProvider::Efa, old, environment(&[]))
                .unwrap_err()
                .contains("FI_EFA_ENABLE_SHM_TRANSFER=0")
        );
        assert!(
            check_variables(
                LibfabricProvider::Efa,
                old,
                environment(&[("FI_EFA_ENABLE_SHM_TRANSFER", "1")])
            )
            .is_err()
        );
        assert_eq!(
            check_variables(
                LibfabricProvider::Efa,
                old,
                environment(&[("FI_EFA_ENABLE_SHM_TRANSFER", "0")])
            ),
            Ok(())
        );
        assert_eq!(
            check_variables(LibfabricProvider::Efa, SHARED_MEMORY_OPTION, environment(&[])),
            Ok(())
        );
    }

    #[test]
    fn rejects_a_variable_that_aborts_the_process() {
        let fatal = environment(&[("FI_EFA_TX_IOV_LIMIT", "4")]);
        let message = check_variables(LibfabricProvider::EfaDirect, Version::new(2, 5), &fatal).unwrap_err();
        assert!(message.contains("FI_EFA_TX_IOV_LIMIT"), "{message}");
        assert_eq!(
            check_variables(LibfabricProvider::Tcp, Version::new(2, 5), &fatal),
            Ok(())
        );
    }
}

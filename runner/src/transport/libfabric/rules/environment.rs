//! Environment variables that a provider must find before the library is first asked for anything.

use crds::v1alpha1::LibfabricProvider;
use libfabric_sys::Version;

/// First release that takes `FI_OPT_SHARED_MEMORY_PERMITTED`; before it only the variable keeps efa off shared
/// memory.
const SHARED_MEMORY_OPTION: Version = Version::new(1, 21);

/// With these set, libfabric's efa provider prints a line and aborts the process.
const FATAL: [&str; 3] = ["FI_EFA_MTU_SIZE", "FI_EFA_TX_IOV_LIMIT", "FI_EFA_RX_IOV_LIMIT"];

/// Smallest `FI_UNIVERSE_SIZE` that is asked for.
const SMALLEST_UNIVERSE: usize = 16;

/// What an instrument process must be started with, for those names that its user did not set.
///
/// * efa: a peer on the same host is reached through shared memory unless told otherwise, and then no EFA is
///   measured.
/// * verbs: its receive queues are sized by the number of peers it expects, 1024 by default; with that, soft-RoCE
///   devices refuse the completion queue (EINVAL from `fi_enable`).
pub fn required(provider: LibfabricProvider, peers: usize) -> Vec<(&'static str, String)> {
    match provider {
        LibfabricProvider::Efa => vec![("FI_EFA_ENABLE_SHM_TRANSFER", "0".to_owned())],
        LibfabricProvider::Verbs => {
            let size = peers.saturating_add(1).next_power_of_two().max(SMALLEST_UNIVERSE);
            vec![("FI_UNIVERSE_SIZE", size.to_string())]
        }
        _ => Vec::new(),
    }
}

/// Looks for what would crash the process or falsify the measurement. `get` reads a variable.
///
/// # Errors
///
/// In words.
pub(in crate::transport::libfabric) fn check(
    provider: LibfabricProvider,
    version: Version,
    get: impl Fn(&str) -> Option<String>,
) -> Result<(), String> {
    if !matches!(provider, LibfabricProvider::Efa | LibfabricProvider::EfaDirect) {
        return Ok(());
    }
    if let Some(name) = FATAL.into_iter().find(|name| get(name).is_some()) {
        return Err(format!(
            "libfabric's efa provider ends the process when {name} is set: remove it"
        ));
    }
    let off = get("FI_EFA_ENABLE_SHM_TRANSFER").is_some_and(|value| value == "0");
    if provider == LibfabricProvider::Efa && version < SHARED_MEMORY_OPTION && !off {
        return Err(format!(
            "libfabric {version} would reach a peer on the same host through shared memory instead of EFA: set \
             FI_EFA_ENABLE_SHM_TRANSFER=0"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &'static [(&str, &str)]) -> impl Fn(&str) -> Option<String> {
        move |name| {
            pairs
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        }
    }

    #[test]
    fn verbs_gets_a_universe_that_holds_its_peers_and_no_more() {
        let size = |peers| required(LibfabricProvider::Verbs, peers);
        assert_eq!(size(1), [("FI_UNIVERSE_SIZE", "16".to_owned())]);
        assert_eq!(size(16), [("FI_UNIVERSE_SIZE", "32".to_owned())]);
    }

    #[test]
    fn efa_is_told_to_stay_off_shared_memory() {
        assert_eq!(
            required(LibfabricProvider::Efa, 1),
            [("FI_EFA_ENABLE_SHM_TRANSFER", "0".to_owned())]
        );
        assert!(required(LibfabricProvider::Tcp, 1).is_empty());
    }

    #[test]
    fn an_old_efa_without_the_variable_is_refused() {
        let old = Version::new(1, 20);
        assert!(
            check(LibfabricProvider::Efa, old, with(&[]))
                .unwrap_err()
                .contains("FI_EFA_ENABLE_SHM_TRANSFER=0")
        );
        assert!(
            check(
                LibfabricProvider::Efa,
                old,
                with(&[("FI_EFA_ENABLE_SHM_TRANSFER", "1")])
            )
            .is_err()
        );
        assert_eq!(
            check(
                LibfabricProvider::Efa,
                old,
                with(&[("FI_EFA_ENABLE_SHM_TRANSFER", "0")])
            ),
            Ok(())
        );
        assert_eq!(
            check(LibfabricProvider::Efa, SHARED_MEMORY_OPTION, with(&[])),
            Ok(())
        );
    }

    #[test]
    fn a_variable_that_aborts_the_process_is_found_first() {
        let fatal = with(&[("FI_EFA_TX_IOV_LIMIT", "4")]);
        let message = check(LibfabricProvider::EfaDirect, Version::new(2, 5), &fatal).unwrap_err();
        assert!(message.contains("FI_EFA_TX_IOV_LIMIT"), "{message}");
        assert_eq!(check(LibfabricProvider::Tcp, Version::new(2, 5), &fatal), Ok(()));
    }
}

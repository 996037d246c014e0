//! The effective configuration, in a form that can be compared between processes. Performs no I/O.

use super::settings::Setting;
use crds::record::hex;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Settings whose default UCX 1.22 derives from the clock speed that it measures in each process.
const MEASURED: [&str; 1] = ["UCX_DYNAMIC_TL_PROGRESS_FACTOR"];
/// Setting that contains a rail's device. Device names can differ between workers.
const DEVICES: &str = "UCX_NET_DEVICES";

/// All of the library's configuration in one process.
#[derive(Clone, Debug, Default)]
pub(in crate::transport::ucx) struct EffectiveConfiguration {
    /// Configuration of each rail.
    pub rails: Vec<RailConfiguration>,
    /// Environment variables that start with `UCX_`. The library does not print transport settings.
    pub variables: BTreeMap<String, String>,
    /// Contents of the configuration files.
    pub files: Vec<Vec<u8>>,
}

/// Configuration of one rail.
#[derive(Clone, Debug, Default)]
pub(in crate::transport::ucx) struct RailConfiguration {
    /// Output of `ucp_config_print`.
    pub printed: String,
    /// Settings that were applied.
    pub settings: Vec<Setting>,
}

impl EffectiveConfiguration {
    /// SHA-256 hash in hexadecimal. It is the same for processes with the same configuration, except for the rail
    /// devices, the file paths, and the values that the library measures.
    pub(in crate::transport::ucx) fn sha256(&self) -> String {
        let mut digest = Sha256::new();
        // Each part is preceded by its length, so that the boundaries between parts are unambiguous.
        let mut add = |part: &[u8]| {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        };
        for RailConfiguration { printed, settings } in &self.rails {
            let (devices, settings): (Vec<_>, Vec<_>) = settings
                .iter()
                .partition(|setting| is_device_setting(&setting.name));
            add(comparable_text(printed, !devices.is_empty()).as_bytes());
            for Setting { name, value } in settings {
                add(format!("{name}={value}").as_bytes());
            }
        }
        for (name, value) in &self.variables {
            add(format!("{name}={value}").as_bytes());
        }
        self.files.iter().for_each(|file| add(file));
        hex(&digest.finalize())
    }
}

/// Whether the setting, named without its `UCX_` prefix, contains a rail's device.
fn is_device_setting(name: &str) -> bool {
    DEVICES.strip_prefix("UCX_") == Some(name)
}

/// Returns `printed` without the lines that differ between processes with the same configuration: measured values and, if
/// the transport chose them, the devices.
fn comparable_text(printed: &str, chooses_devices: bool) -> String {
    let differs = |line: &&str| {
        let name = line.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| MEASURED.contains(&name) || (chooses_devices && name == DEVICES))
    };
    let kept = printed.split_inclusive('\n').filter(|line| !differs(line));
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rail(device: &str, threshold: &str) -> RailConfiguration {
        RailConfiguration {
            printed: format!(
                "UCX_TLS=tcp\nUCX_NET_DEVICES={device}\nUCX_RNDV_THRESH={threshold}\n\
                 UCX_DYNAMIC_TL_PROGRESS_FACTOR={device}us\n"
            ),
            settings: vec![Setting {
                name: "NET_DEVICES".to_owned(),
                value: device.to_owned(),
            }],
        }
    }

    fn configuration(rails: Vec<RailConfiguration>) -> EffectiveConfiguration {
        EffectiveConfiguration {
            rails,
            ..EffectiveConfiguration::default()
        }
    }

    #[test]
    fn hash_excludes_measured_values_and_devices() {
        let one = configuration(vec![rail("eth0", "auto"), rail("eth1", "auto")]);
        let other = configuration(vec![rail("ens5", "auto"), rail("ens6", "auto")]);
        assert_eq!(one.sha256(), other.sha256());
        // The user chose the devices with a variable.
        let chosen = |device| {
            let mut rail = rail(device, "auto");
            rail.settings.clear();
            configuration(vec![rail]).sha256()
        };
        assert_ne!(chosen("eth0"), chosen("eth1"));
    }

    #[test]
    fn hash_covers_every_rail() {
        let one = configuration(vec![rail("eth0", "auto"), rail("eth1", "auto")]);
        let other = configuration(vec![rail("eth0", "auto"), rail("eth1", "8k")]);
        assert_ne!(one.sha256(), other.sha256());
        assert_ne!(one.sha256(), configuration(vec![rail("eth0", "auto")]).sha256());
    }

    #[test]
    fn hash_covers_settings_that_the_library_does_not_print() {
        let plain = configuration(vec![rail("eth0", "auto")]);
        let mut setting = plain.clone();
        setting.rails[0].settings.push(Setting {
            name: "TCP_TX_SEG_SIZE".to_owned(),
            value: "1m".to_owned(),
        });
        let mut variable = plain.clone();
        variable
            .variables
            .insert("UCX_TCP_TX_SEG_SIZE".to_owned(), "1m".to_owned());
        let mut file = plain.clone();
        file.files.push(b"UCX_TCP_TX_SEG_SIZE=1m\n".to_vec());
        let hashes = [&plain, &setting, &variable, &file].map(EffectiveConfiguration::sha256);
        for (index, hash) in hashes.iter().enumerate() {
            assert!(!hashes[..index].contains(hash), "{index}");
        }
    }
}

//! Attributes that `fi_getinfo` returned, and whether this transport supports them. Performs no I/O.

use super::provider::RequestedProvider;
use libfabric_sys::bindings::{
    FI_ASYNC_IOV, FI_CONTEXT, FI_CONTEXT2, FI_MR_ALLOCATED, FI_MR_COLLECTIVE, FI_MR_ENDPOINT, FI_MR_HMEM,
    FI_MR_LOCAL, FI_MR_MMU_NOTIFY, FI_MR_PROV_KEY, FI_MR_RAW, FI_MR_RMA_EVENT, FI_MR_VIRT_ADDR,
    FI_MSG_PREFIX, FI_PROGRESS_AUTO, FI_PROGRESS_MANUAL, FI_RX_CQ_DATA, fi_progress,
};

/// Attributes of one `fi_info` as plain data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::transport::libfabric) struct Attributes {
    pub provider: String,
    pub fabric: String,
    pub domain: String,
    pub nic: Option<Nic>,
    pub mode: u64,
    pub mr_mode: i32,
    pub data_progress: fi_progress,
    /// Size of the immediate data in a completion, in bytes.
    pub immediate_bytes: usize,
    pub inject_size: usize,
    /// Number of posts that an endpoint can hold.
    pub transmit_depth: usize,
    /// Number of receives that an endpoint can hold.
    pub receive_depth: usize,
    pub max_message: usize,
}

/// Device that an `fi_info` describes. Properties that the provider does not report keep their default values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::transport::libfabric) struct Nic {
    pub name: String,
    /// PCI address, `domain:bus:device.function`.
    pub pci: Option<String>,
    /// Link speed in bits per second; 0 if unknown.
    pub speed: usize,
}

/// Size of the immediate data that scenarios use, in bytes.
const IMMEDIATE_BYTES: usize = 4;

/// Registration mode names, in bit order.
const MR_MODES: [(i32, &str); 10] = [
    (FI_MR_LOCAL, "FI_MR_LOCAL"),
    (FI_MR_RAW, "FI_MR_RAW"),
    (FI_MR_VIRT_ADDR, "FI_MR_VIRT_ADDR"),
    (FI_MR_ALLOCATED, "FI_MR_ALLOCATED"),
    (FI_MR_PROV_KEY, "FI_MR_PROV_KEY"),
    (FI_MR_MMU_NOTIFY, "FI_MR_MMU_NOTIFY"),
    (FI_MR_RMA_EVENT, "FI_MR_RMA_EVENT"),
    (FI_MR_ENDPOINT, "FI_MR_ENDPOINT"),
    (FI_MR_HMEM, "FI_MR_HMEM"),
    (FI_MR_COLLECTIVE, "FI_MR_COLLECTIVE"),
];

/// Registration modes that this transport supports.
const SUPPORTED_MR_MODES: i32 = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_HMEM;

/// Endpoint mode names.
const MODES: [(u64, &str); 5] = [
    (FI_CONTEXT, "FI_CONTEXT"),
    (FI_CONTEXT2, "FI_CONTEXT2"),
    (FI_MSG_PREFIX, "FI_MSG_PREFIX"),
    (FI_ASYNC_IOV, "FI_ASYNC_IOV"),
    (FI_RX_CQ_DATA, "FI_RX_CQ_DATA"),
];

/// Endpoint modes that this transport supports.
const SUPPORTED_MODES: u64 = FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA;

impl Attributes {
    /// Whether the provider and the fabric exactly match the requested ones.
    ///
    /// A library may also return layered variants of the provider (`net;ofi_rxm` in addition to `net`), but
    /// measurements of a layered variant are not measurements of the requested provider.
    pub(in crate::transport::libfabric) fn matches(&self, requested: &RequestedProvider) -> bool {
        self.provider == requested.name && requested.fabric.is_none_or(|fabric| self.fabric == fabric)
    }

    /// Whether `device` names this device: it is either the NIC name, or the domain name with or without the endpoint
    /// type that efa appends (`rdmap0s6-rdm`).
    pub(in crate::transport::libfabric) fn matches_device(&self, device: &str) -> bool {
        let nic = self.nic.as_ref().is_some_and(|nic| nic.name == device);
        let domain = self
            .domain
            .strip_prefix(device)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
        nic || domain
    }

    /// Checks that this transport supports everything that the provider requires.
    ///
    /// # Errors
    ///
    /// Returns a message that names the unsupported requirement.
    pub(in crate::transport::libfabric) fn check_supported(&self) -> Result<(), String> {
        let modes = self.mode & !SUPPORTED_MODES;
        if modes != 0 {
            let names: Vec<_> = MODES
                .iter()
                .filter(|(bit, _)| modes & bit != 0)
                .map(|(_, name)| *name)
                .collect();
            return Err(format!(
                "{} requires the unsupported mode {} ({modes:#x})",
                self.provider,
                names.join("|")
            ));
        }
        let registration = self.mr_mode & !SUPPORTED_MR_MODES;
        if registration != 0 {
            let names = mr_mode_names(registration).join("|");
            return Err(format!(
                "{} requires the unsupported registration mode {names} ({registration:#x})",
                self.provider
            ));
        }
        if self.immediate_bytes < IMMEDIATE_BYTES {
            return Err(format!(
                "{} supports {} bytes of immediate data, but {IMMEDIATE_BYTES} are required",
                self.provider, self.immediate_bytes
            ));
        }
        Ok(())
    }

    /// Whether an incoming write with immediate data consumes a posted receive.
    pub(in crate::transport::libfabric) fn immediate_consumes_receive(&self) -> bool {
        self.mode & FI_RX_CQ_DATA != 0
    }

    /// Progress mode: `auto` if the library makes progress on its own, or `manual` if the caller must poll.
    pub(in crate::transport::libfabric) fn progress_mode(&self) -> String {
        match self.data_progress {
            FI_PROGRESS_AUTO => "auto".to_owned(),
            FI_PROGRESS_MANUAL => "manual".to_owned(),
            other => format!("unknown ({other})"),
        }
    }
}

/// Names of the registration modes whose bits are set.
pub(in crate::transport::libfabric) fn mr_mode_names(mode: i32) -> Vec<String> {
    MR_MODES
        .iter()
        .filter(|(bit, _)| mode & bit != 0)
        .map(|(_, name)| (*name).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::provider::resolve;
    use super::*;
    use crds::v1alpha1::LibfabricProvider;
    use libfabric_sys::Version;

    fn attributes(provider: &str, fabric: &str, domain: &str) -> Attributes {
        Attributes {
            provider: provider.to_owned(),
            fabric: fabric.to_owned(),
            domain: domain.to_owned(),
            immediate_bytes: 8,
            ..Attributes::default()
        }
    }

    #[test]
    fn rejects_a_layered_variant_of_the_provider() {
        let net = resolve(LibfabricProvider::Tcp, Version::new(1, 17)).unwrap();
        assert!(attributes("net", "127.0.0.0/8", "lo").matches(&net));
        assert!(!attributes("net;ofi_rxm", "127.0.0.0/8", "lo").matches(&net));
    }

    #[test]
    fn distinguishes_efa_direct_from_efa() {
        let efa = resolve(LibfabricProvider::Efa, Version::new(2, 5)).unwrap();
        assert!(attributes("efa", "efa", "rdmap0s6-rdm").matches(&efa));
        assert!(!attributes("efa", "efa-direct", "rdmap0s6-rdm").matches(&efa));
    }

    #[test]
    fn identifies_a_device_by_nic_or_domain_name_but_not_by_prefix() {
        let efa = attributes("efa", "efa", "rdmap0s6-rdm");
        assert!(efa.matches_device("rdmap0s6") && efa.matches_device("rdmap0s6-rdm"));
        assert!(!efa.matches_device("rdmap0s") && !efa.matches_device("rdmap0s61"));
        let nic = Attributes {
            nic: Some(Nic {
                name: "mlx5_0".into(),
                ..Nic::default()
            }),
            ..attributes("v", "f", "d")
        };
        assert!(nic.matches_device("mlx5_0"));
    }

    #[test]
    fn names_unsupported_requirements() {
        let prefix = Attributes {
            mode: FI_MSG_PREFIX | FI_CONTEXT,
            ..attributes("efa", "efa", "d")
        };
        assert!(prefix.check_supported().unwrap_err().contains("FI_MSG_PREFIX"));
        let raw = Attributes {
            mr_mode: FI_MR_RAW | FI_MR_LOCAL,
            ..attributes("x", "x", "d")
        };
        let message = raw.check_supported().unwrap_err();
        assert!(
            message.contains("FI_MR_RAW") && !message.contains("FI_MR_LOCAL"),
            "{message}"
        );
        let endpoint = Attributes {
            mr_mode: FI_MR_ENDPOINT,
            ..attributes("cxi", "cxi", "d")
        };
        assert!(endpoint.check_supported().unwrap_err().contains("FI_MR_ENDPOINT"));
        let narrow = Attributes {
            immediate_bytes: 0,
            ..attributes("x", "x", "d")
        };
        assert!(
            narrow
                .check_supported()
                .unwrap_err()
                .contains("0 bytes of immediate data")
        );
    }

    #[test]
    fn supports_the_requirements_of_efa_direct() {
        let mode = FI_CONTEXT2 | FI_RX_CQ_DATA;
        let mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
        let direct = Attributes {
            mode,
            mr_mode,
            immediate_bytes: 4,
            ..attributes("efa", "efa-direct", "rdmap0s6-rdm")
        };
        assert_eq!(direct.check_supported(), Ok(()));
        assert!(direct.immediate_consumes_receive());
    }

    #[test]
    fn names_registration_modes_in_order() {
        assert_eq!(
            mr_mode_names(0x74),
            [
                "FI_MR_LOCAL",
                "FI_MR_VIRT_ADDR",
                "FI_MR_ALLOCATED",
                "FI_MR_PROV_KEY"
            ]
        );
    }
}

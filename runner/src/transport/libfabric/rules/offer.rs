//! What `fi_getinfo` returned, as plain data, and whether it can be used.

use super::provider::Wanted;
use libfabric_sys::bindings::{
    FI_ASYNC_IOV, FI_CONTEXT, FI_CONTEXT2, FI_MR_ALLOCATED, FI_MR_COLLECTIVE, FI_MR_ENDPOINT, FI_MR_HMEM,
    FI_MR_LOCAL, FI_MR_MMU_NOTIFY, FI_MR_PROV_KEY, FI_MR_RAW, FI_MR_RMA_EVENT, FI_MR_VIRT_ADDR,
    FI_MSG_PREFIX, FI_PROGRESS_AUTO, FI_PROGRESS_MANUAL, FI_RX_CQ_DATA, fi_progress,
};

/// One entry of the list that the library returned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::transport::libfabric) struct Offer {
    pub provider: String,
    pub fabric: String,
    pub domain: String,
    pub nic: Option<Nic>,
    pub mode: u64,
    pub mr_mode: i32,
    pub data_progress: fi_progress,
    /// Bytes of immediate data that a completion carries.
    pub immediate_bytes: usize,
    pub inject_size: usize,
    /// Posts that an endpoint takes.
    pub transmit_depth: usize,
    /// Receives that an endpoint takes.
    pub receive_depth: usize,
    pub max_message: usize,
}

/// The device behind an offer, where the provider says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::transport::libfabric) struct Nic {
    pub name: String,
    /// PCI address, `domain:bus:device.function`.
    pub pci: Option<String>,
    /// Bits per second; 0 where unknown.
    pub speed: usize,
}

/// Bytes of immediate data that scenarios use.
const IMMEDIATE_BYTES: usize = 4;

/// Names of the registration mode bits, in the order of their values.
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

/// Registration modes that this transport honours.
const MR_HONOURED: i32 = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_HMEM;

/// Endpoint modes by name.
const MODES: [(u64, &str); 5] = [
    (FI_CONTEXT, "FI_CONTEXT"),
    (FI_CONTEXT2, "FI_CONTEXT2"),
    (FI_MSG_PREFIX, "FI_MSG_PREFIX"),
    (FI_ASYNC_IOV, "FI_ASYNC_IOV"),
    (FI_RX_CQ_DATA, "FI_RX_CQ_DATA"),
];

/// Endpoint modes that this transport honours.
const MODES_HONOURED: u64 = FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA;

impl Offer {
    /// Whether this is exactly the provider and fabric that were asked for. A library may list layered relatives
    /// (`net;ofi_rxm` beside `net`), and a different provider is a different measurement.
    pub(in crate::transport::libfabric) fn is(&self, wanted: &Wanted) -> bool {
        self.provider == wanted.name && wanted.fabric.is_none_or(|fabric| self.fabric == fabric)
    }

    /// Whether a rail may be asked for by this device name: the NIC's, or the domain's, which efa makes of the
    /// NIC's name and the endpoint type (`rdmap0s6-rdm`).
    pub(in crate::transport::libfabric) fn is_on(&self, device: &str) -> bool {
        let nic = self.nic.as_ref().is_some_and(|nic| nic.name == device);
        let domain = self
            .domain
            .strip_prefix(device)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
        nic || domain
    }

    /// # Errors
    ///
    /// In words, where the provider demands something that this transport does not do.
    pub(in crate::transport::libfabric) fn check(&self) -> Result<(), String> {
        let modes = self.mode & !MODES_HONOURED;
        if modes != 0 {
            let names: Vec<_> = MODES
                .iter()
                .filter(|(bit, _)| modes & bit != 0)
                .map(|(_, name)| *name)
                .collect();
            return Err(format!(
                "{} demands the mode {} ({modes:#x})",
                self.provider,
                names.join("|")
            ));
        }
        let registration = self.mr_mode & !MR_HONOURED;
        if registration != 0 {
            let names = mr_mode_names(registration).join("|");
            return Err(format!(
                "{} demands the registration mode {names} ({registration:#x})",
                self.provider
            ));
        }
        if self.immediate_bytes < IMMEDIATE_BYTES {
            return Err(format!(
                "{} carries {} bytes of immediate data, and {IMMEDIATE_BYTES} are needed",
                self.provider, self.immediate_bytes
            ));
        }
        Ok(())
    }

    /// Whether an arriving write with immediate data takes a posted receive with it.
    pub(in crate::transport::libfabric) fn immediate_takes_receive(&self) -> bool {
        self.mode & FI_RX_CQ_DATA != 0
    }

    /// Who makes progress.
    pub(in crate::transport::libfabric) fn progress(&self) -> String {
        match self.data_progress {
            FI_PROGRESS_AUTO => "auto".to_owned(),
            FI_PROGRESS_MANUAL => "manual".to_owned(),
            other => format!("unknown ({other})"),
        }
    }
}

/// Names of the bits that are set.
pub(in crate::transport::libfabric) fn mr_mode_names(mode: i32) -> Vec<String> {
    MR_MODES
        .iter()
        .filter(|(bit, _)| mode & bit != 0)
        .map(|(_, name)| (*name).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::provider::wanted;
    use super::*;
    use crds::v1alpha1::LibfabricProvider;
    use libfabric_sys::Version;

    fn offer(provider: &str, fabric: &str, domain: &str) -> Offer {
        Offer {
            provider: provider.to_owned(),
            fabric: fabric.to_owned(),
            domain: domain.to_owned(),
            immediate_bytes: 8,
            ..Offer::default()
        }
    }

    #[test]
    fn a_layered_relative_is_not_the_provider() {
        let net = wanted(LibfabricProvider::Tcp, Version::new(1, 17)).unwrap();
        assert!(offer("net", "127.0.0.0/8", "lo").is(&net));
        assert!(!offer("net;ofi_rxm", "127.0.0.0/8", "lo").is(&net));
    }

    #[test]
    fn efa_direct_is_not_efa() {
        let efa = wanted(LibfabricProvider::Efa, Version::new(2, 5)).unwrap();
        assert!(offer("efa", "efa", "rdmap0s6-rdm").is(&efa));
        assert!(!offer("efa", "efa-direct", "rdmap0s6-rdm").is(&efa));
    }

    #[test]
    fn a_device_is_found_by_nic_or_domain_name_but_not_by_a_prefix() {
        let efa = offer("efa", "efa", "rdmap0s6-rdm");
        assert!(efa.is_on("rdmap0s6") && efa.is_on("rdmap0s6-rdm"));
        assert!(!efa.is_on("rdmap0s") && !efa.is_on("rdmap0s61"));
        let nic = Offer {
            nic: Some(Nic {
                name: "mlx5_0".into(),
                ..Nic::default()
            }),
            ..offer("v", "f", "d")
        };
        assert!(nic.is_on("mlx5_0"));
    }

    #[test]
    fn demands_that_are_not_met_are_named() {
        let prefix = Offer {
            mode: FI_MSG_PREFIX | FI_CONTEXT,
            ..offer("efa", "efa", "d")
        };
        assert!(prefix.check().unwrap_err().contains("FI_MSG_PREFIX"));
        let raw = Offer {
            mr_mode: FI_MR_RAW | FI_MR_LOCAL,
            ..offer("x", "x", "d")
        };
        let message = raw.check().unwrap_err();
        assert!(
            message.contains("FI_MR_RAW") && !message.contains("FI_MR_LOCAL"),
            "{message}"
        );
        let endpoint = Offer {
            mr_mode: FI_MR_ENDPOINT,
            ..offer("cxi", "cxi", "d")
        };
        assert!(endpoint.check().unwrap_err().contains("FI_MR_ENDPOINT"));
        let narrow = Offer {
            immediate_bytes: 0,
            ..offer("x", "x", "d")
        };
        assert!(narrow.check().unwrap_err().contains("0 bytes of immediate data"));
    }

    #[test]
    fn what_efa_direct_demands_is_honoured() {
        let mode = FI_CONTEXT2 | FI_RX_CQ_DATA;
        let mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
        let direct = Offer {
            mode,
            mr_mode,
            immediate_bytes: 4,
            ..offer("efa", "efa-direct", "rdmap0s6-rdm")
        };
        assert_eq!(direct.check(), Ok(()));
        assert!(direct.immediate_takes_receive());
    }

    #[test]
    fn registration_modes_are_named_in_order() {
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

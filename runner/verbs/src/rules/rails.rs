//! Assigns a device to each rail. Performs no I/O.

use std::net::IpAddr;

/// Specifies the device of one rail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RailSource {
    /// The device with this name.
    Device(String),
    /// The device with this address.
    Address(IpAddr),
}

impl From<&String> for RailSource {
    fn from(source: &String) -> Self {
        match source.parse() {
            Ok(address) => Self::Address(address),
            Err(_) => Self::Device(source.clone()),
        }
    }
}

/// Returns the device names for all rails if the spec does not name any: the first elements of `devices`.
///
/// # Errors
///
/// Returns a message if there are fewer devices than rails.
pub(crate) fn first_devices(devices: &[String], rails: usize) -> Result<Vec<String>, String> {
    devices.get(..rails).map(<[String]>::to_vec).ok_or_else(|| {
        format!(
            "{rails} rails requested, but only {} RDMA devices with an active port available ({}): each rail needs its own NIC",
            devices.len(),
            devices.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_sources_as_addresses_or_names() {
        assert_eq!(
            RailSource::from(&"10.0.0.1".to_owned()),
            RailSource::Address([10, 0, 0, 1].into())
        );
        assert_eq!(
            RailSource::from(&"mlx5_0".to_owned()),
            RailSource::Device("mlx5_0".to_owned())
        );
    }

    #[test]
    fn every_rail_needs_a_device() {
        let devices = ["rxe0".to_owned(), "rxe1".to_owned()];
        assert_eq!(first_devices(&devices, 1), Ok(vec!["rxe0".to_owned()]));
        assert!(
            first_devices(&devices, 3)
                .unwrap_err()
                .contains("only 2 RDMA devices")
        );
    }
}

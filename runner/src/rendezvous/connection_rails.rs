//! Rail devices of a side whose peer is reached over a connection that is already open. Reads environment variables, and writes
//! to standard error.

use std::env;
use std::io::{self, Write};
use std::net::{IpAddr, TcpStream};

use crds::v1alpha1::TransportSpec;

/// Rail devices if no flag names them. For IP transports with one rail, this is the connection's local address, so that
/// the data uses the network that the user selected with the server address. Empty if the worker chooses the devices.
pub fn connection_rails(spec: &TransportSpec, stream: &TcpStream) -> Vec<String> {
    if variable_names_devices(spec) {
        return Vec::new();
    }
    let address = stream.local_addr().map(|address| address.ip());
    let device = rail_device(spec, address.ok());
    if let Err(reason) = device {
        // The note is lost if standard error is closed.
        let _ = writeln!(
            io::stderr(),
            "note: without --device, the devices are not necessarily those that the connection uses, because {reason}: \
             the results list the devices that were used"
        );
    }
    device.unwrap_or_default().into_iter().collect()
}

/// Whether the `UCX_NET_DEVICES` variable of this process names UCX's devices, as users of the Starway benchmark suite
/// set it.
pub fn variable_names_devices(spec: &TransportSpec) -> bool {
    matches!(spec, TransportSpec::Ucx(_)) && env::var_os("UCX_NET_DEVICES").is_some()
}

/// Device of a side's only rail. `address` is that side's address on the connection. `None` if the transport does not
/// use IP.
///
/// # Errors
/// Returns why the connection's address cannot be used for an IP transport. The worker then chooses the devices.
fn rail_device(spec: &TransportSpec, address: Option<IpAddr>) -> Result<Option<String>, &'static str> {
    match address {
        _ if !spec.uses_ip() => Ok(None),
        _ if spec.rails() > 1 => Err("there are several rails"),
        Some(address @ IpAddr::V4(_)) => Ok(Some(address.to_string())),
        Some(IpAddr::V6(_)) => Err("the connection uses IPv6"),
        None => Err("the connection's address is unknown"),
    }
}

#[cfg(test)]
mod tests {
    use crds::v1alpha1::{Ucx, UcxTransport};

    use super::*;

    #[test]
    fn uses_the_connection_address_as_device_or_gives_the_reason() {
        let rails = |transport, rails, address: &str| {
            let spec = TransportSpec::Ucx(Ucx::new(vec![transport], rails));
            rail_device(&spec, Some(address.parse().unwrap()))
        };
        assert_eq!(
            rails(UcxTransport::Tcp, 1, "192.0.2.1"),
            Ok(Some("192.0.2.1".into()))
        );
        assert_eq!(rails(UcxTransport::Rc, 2, "2001:db8::1"), Ok(None));
        assert!(
            rails(UcxTransport::Tcp, 2, "192.0.2.1")
                .unwrap_err()
                .contains("several rails")
        );
        assert!(
            rails(UcxTransport::Tcp, 1, "2001:db8::1")
                .unwrap_err()
                .contains("IPv6")
        );
    }
}

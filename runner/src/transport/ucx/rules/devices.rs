//! Device names in UCX's configuration. Performs no I/O.

use crds::v1alpha1::Ucx;

/// UCX's name for a device (`UCX_NET_DEVICES`): an interface name, or an RDMA device with its port. If the name of an
/// RDMA device contains no port, port 1 is added. With the transports `all`, `is_interface` decides whether the device
/// is a network interface.
pub(in crate::transport::ucx) fn ucx_name(
    spec: &Ucx,
    device: &str,
    is_interface: impl Fn(&str) -> bool,
) -> String {
    let is_rdma = spec.uses_rdma() || (spec.uses_all() && !is_interface(device));
    if is_rdma && !device.contains(':') {
        format!("{device}:1")
    } else {
        device.to_owned()
    }
}

/// Name of the interface or RDMA device that a UCX device name denotes.
pub(in crate::transport::ucx) fn kernel_name(device: &str) -> &str {
    device.split_once(':').map_or(device, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crds::v1alpha1::UcxTransport;

    #[test]
    fn adds_the_port_of_an_rdma_device() {
        let rc = Ucx::new(vec![UcxTransport::Rc], 1);
        assert_eq!(ucx_name(&rc, "mlx5_0", |_| false), "mlx5_0:1");
        assert_eq!(ucx_name(&rc, "mlx5_0:2", |_| false), "mlx5_0:2");
        let tcp = Ucx::new(vec![UcxTransport::Tcp], 1);
        assert_eq!(ucx_name(&tcp, "eth0", |_| true), "eth0");
        let all = Ucx::new(vec![UcxTransport::All], 1);
        let is_interface = |device: &str| device == "eth0";
        assert_eq!(ucx_name(&all, "eth0", is_interface), "eth0");
        assert_eq!(ucx_name(&all, "mlx5_0", is_interface), "mlx5_0:1");
        assert_eq!((kernel_name("mlx5_0:1"), kernel_name("lo")), ("mlx5_0", "lo"));
    }
}

//! Device names in UCX's configuration. Performs no I/O.

use crds::v1alpha1::Ucx;

/// UCX's name for a device (`UCX_NET_DEVICES`): an interface name, or an RDMA device with its port. If the name of an
/// RDMA device contains no port, port 1 is added.
pub(in crate::transport::ucx) fn ucx_name(spec: &Ucx, device: &str) -> String {
    if spec.uses_rdma() && !device.contains(':') {
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
        assert_eq!(ucx_name(&rc, "mlx5_0"), "mlx5_0:1");
        assert_eq!(ucx_name(&rc, "mlx5_0:2"), "mlx5_0:2");
        assert_eq!(ucx_name(&Ucx::new(vec![UcxTransport::Tcp], 1), "eth0"), "eth0");
        assert_eq!((kernel_name("mlx5_0:1"), kernel_name("lo")), ("mlx5_0", "lo"));
    }
}

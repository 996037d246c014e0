//! RDMA devices. Reads `/sys/class/infiniband`.

use std::fs;
use std::path::Path;

/// Sorted PCI addresses of the RDMA devices. Devices without a PCI address (Soft-RoCE) are listed by name.
pub(super) fn rdma_devices(sys: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(sys.join("class/infiniband")) else {
        return Vec::new();
    };
    let mut devices: Vec<_> = entries
        .flatten()
        .map(|entry| {
            let pci = fs::canonicalize(entry.path().join("device")).ok();
            let pci = pci.and_then(|path| path.file_name().map(|name| name.to_string_lossy().into_owned()));
            pci.unwrap_or_else(|| entry.file_name().to_string_lossy().into_owned())
        })
        .collect();
    devices.sort_unstable();
    devices
}

//! Classes of data paths, by the names that the libraries use for transports, providers and networks.

use crds::v1alpha1::UcxTransport;

/// Kind of path that transfers data between two processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathClass {
    /// RDMA device.
    Rdma,
    /// Kernel sockets.
    Sockets,
    /// Memory that two processes on one host share, or the memory of another GPU of the host.
    Memory,
    /// Copies within one process, which are not a path between processes.
    Local,
    /// The name does not show the class.
    Unknown,
}

/// Names of each class that are not transports in `UCX_TLS` ([`UcxTransport`]), in lowercase. A name that ends with `*` stands
/// for all names with this prefix.
const NAMES: [(PathClass, &[&str]); 4] = [
    (
        PathClass::Rdma,
        &[
            "ibext*",
            "iw",
            "roce",
            "rdma",
            "efa",
            "efa-direct",
            "verbs",
            "cxi",
            "psm",
            "psm2",
            "psm3",
            "opx",
            "srd",
            "srd_*",
            "gga",
            "gga_*",
            "barex",
        ],
    ),
    (PathClass::Sockets, &["net", "socket", "sockets", "udp"]),
    (
        PathClass::Memory,
        &[
            "shm",
            "mm",
            "rocm_ipc",
            "ze_ipc",
            "nvlink",
            "nvlink_intra",
            "musa",
            "maca",
            "hip",
        ],
    ),
    (
        PathClass::Local,
        &["self", "rocm", "rocm_copy", "ze_copy", "gaudi_gdr"],
    ),
];

/// Class of the path with this name. Only the part before `;` counts, which is the core provider in a name of
/// libfabric.
pub fn class_of(name: &str) -> PathClass {
    let name = name.trim().to_ascii_lowercase();
    let core = name.split(';').next().unwrap_or_default();
    if let Some(class) = ucx_class(core) {
        return class;
    }
    let is_named = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(prefix) => core.starts_with(prefix),
        None => core == *pattern,
    };
    let mut classes = NAMES.iter();
    let found = classes.find(|(_, names)| names.iter().any(&is_named));
    found.map_or(PathClass::Unknown, |(class, _)| *class)
}

/// Class of a transport of UCX, of an alias of several, or of a lane.
fn ucx_class(name: &str) -> Option<PathClass> {
    let transports = || {
        UcxTransport::ALL
            .into_iter()
            .filter(|one| *one != UcxTransport::All)
    };
    let named = transports().find(|transport| transport.name() == name);
    let transport = named.or_else(|| transports().find(|transport| transport.serves(name)))?;
    Some(match transport {
        UcxTransport::Tcp => PathClass::Sockets,
        UcxTransport::CudaIpc => PathClass::Memory,
        transport if transport.is_rdma() => PathClass::Rdma,
        transport if transport.may_use_shared_memory() => PathClass::Memory,
        _ => PathClass::Local,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_library_have_a_class() {
        for (name, class) in [
            ("Socket", PathClass::Sockets),
            ("tcp;ofi_rxm", PathClass::Sockets),
            ("IB", PathClass::Rdma),
            ("verbs;ofi_rxm", PathClass::Rdma),
            ("rc_mlx5", PathClass::Rdma),
            ("efa", PathClass::Rdma),
            ("sysv", PathClass::Memory),
            ("cuda_ipc", PathClass::Memory),
            ("knem", PathClass::Memory),
            ("ud_verbs", PathClass::Rdma),
            ("dc", PathClass::Rdma),
            ("srd_efa", PathClass::Rdma),
            ("gdr_copy", PathClass::Local),
            ("self", PathClass::Local),
            ("AWS Libfabric", PathClass::Unknown),
            ("libnccl-net-ofi.so", PathClass::Unknown),
            ("tcpx", PathClass::Unknown),
        ] {
            assert_eq!(class_of(name), class, "{name}");
        }
    }
}

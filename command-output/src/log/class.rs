//! Classes of data paths, by the names that the libraries use for transports, providers and networks.

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

/// Names of each class, in lowercase. A name that ends with `*` stands for all names with this prefix.
const NAMES: [(PathClass, &[&str]); 4] = [
    (
        PathClass::Rdma,
        &[
            "ib",
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
            "rc",
            "rc_*",
            "ud",
            "ud_*",
            "dc",
            "dc_*",
            "srd",
            "srd_*",
            "gga",
            "gga_*",
            "barex",
        ],
    ),
    (PathClass::Sockets, &["tcp", "net", "socket", "sockets", "udp"]),
    (
        PathClass::Memory,
        &[
            "shm",
            "sm",
            "mm",
            "posix",
            "sysv",
            "cma",
            "knem",
            "xpmem",
            "cuda_ipc",
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
        &[
            "self",
            "cuda",
            "cuda_copy",
            "rocm",
            "rocm_copy",
            "ze_copy",
            "gdr_copy",
            "gaudi_gdr",
        ],
    ),
];

/// Class of the path with this name. Only the part before `;` counts, which is the core provider in a name of
/// libfabric.
pub fn class_of(name: &str) -> PathClass {
    let name = name.trim().to_ascii_lowercase();
    let core = name.split(';').next().unwrap_or_default();
    let is_named = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(prefix) => core.starts_with(prefix),
        None => core == *pattern,
    };
    let mut classes = NAMES.iter();
    let found = classes.find(|(_, names)| names.iter().any(&is_named));
    found.map_or(PathClass::Unknown, |(class, _)| *class)
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
            ("self", PathClass::Local),
            ("AWS Libfabric", PathClass::Unknown),
            ("libnccl-net-ofi.so", PathClass::Unknown),
            ("tcpx", PathClass::Unknown),
        ] {
            assert_eq!(class_of(name), class, "{name}");
        }
    }
}

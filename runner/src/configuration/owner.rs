//! Which library the prefix of an environment variable belongs to. Performs no I/O.

/// Library that reads the variables with a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// libfabric, which lists its variables.
    Libfabric,
    /// UCX, which lists its variables.
    Ucx,
    /// Library that only contains the names of its variables.
    Named(&'static NamedLibrary),
}

/// Library that does not list its variables, but contains their names.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NamedLibrary {
    /// Name of the project.
    pub project: &'static str,
    /// Prefixes of its variables.
    pub prefixes: &'static [&'static str],
    /// Beginnings of the names of its files.
    pub files: &'static [&'static str],
}

/// Libraries whose files contain the names of all their variables as they are. Sources: `OFI_NCCL_PARAM` in
/// nccl_ofi_param.h (aws-ofi-nccl 1.7 and 1.14), `NCCL_PARAM` in param.h (NCCL 2.18), `getenv` in libnixl (NIXL 1.5),
/// config.cpp of Mooncake 0.3, and `getenv` in libibverbs and its providers (rdma-core 44).
static NAMED: [NamedLibrary; 5] = [
    NamedLibrary {
        project: "the OFI NCCL plug-in",
        prefixes: &["OFI_NCCL_"],
        files: &["libnccl-net", "libnccl-ofi", "libnccl-tuner"],
    },
    NamedLibrary {
        project: "NCCL",
        prefixes: &["NCCL_"],
        files: &["libnccl.so", "libnccl_static"],
    },
    NamedLibrary {
        project: "NIXL",
        prefixes: &["NIXL_"],
        files: &["libnixl", "libplugin_", "libtelemetry_exporter"],
    },
    NamedLibrary {
        project: "Mooncake",
        prefixes: &["MC_"],
        files: &["libtransfer_engine", "libmooncake", "transfer_engine_bench"],
    },
    NamedLibrary {
        project: "rdma-core",
        prefixes: &["RDMAV_", "IBV_", "MLX5_", "MLX4_"],
        files: &["libibverbs", "libmlx5", "libmlx4", "librdmacm", "libefa"],
    },
];

impl Owner {
    /// Owner of the variable `name`; `None` if its prefix belongs to none of the known libraries.
    pub(super) fn of_variable(name: &str) -> Option<Self> {
        if name.starts_with("FI_") {
            return Some(Self::Libfabric);
        }
        if name.starts_with("UCX_") {
            return Some(Self::Ucx);
        }
        let owns = |library: &&NamedLibrary| library.prefixes.iter().any(|prefix| name.starts_with(prefix));
        NAMED.iter().find(owns).map(Self::Named)
    }

    /// Whether the variable `name` belongs to the library.
    pub(super) fn owns(self, name: &str) -> bool {
        Self::of_variable(name) == Some(self)
    }

    /// Name of the project.
    pub(super) fn project(self) -> &'static str {
        match self {
            Self::Libfabric => "libfabric",
            Self::Ucx => "UCX",
            Self::Named(library) => library.project,
        }
    }

    /// Whether the file with the name `file_name` belongs to the library.
    pub(super) fn has_file(self, file_name: &str) -> bool {
        match self {
            Self::Libfabric => file_name.starts_with("libfabric"),
            Self::Ucx => ["libucs", "libucp", "libuct"]
                .iter()
                .any(|start| file_name.starts_with(start)),
            Self::Named(library) => library.files.iter().any(|start| file_name.starts_with(start)),
        }
    }

    /// Whether the library contains the names of all its variables as they are.
    pub(super) fn contains_names(self) -> bool {
        matches!(self, Self::Named(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_decides() {
        let project = |name| Owner::of_variable(name).map(Owner::project);
        assert_eq!(project("OFI_NCCL_PROTOCOL"), Some("the OFI NCCL plug-in"));
        assert_eq!(project("NCCL_DEBUG"), Some("NCCL"));
        assert_eq!(project("FI_PROVIDER"), Some("libfabric"));
        assert_eq!(project("UCX_TLS"), Some("UCX"));
        assert_eq!(project("MC_GID_INDEX"), Some("Mooncake"));
        assert_eq!(project("MY_APP_FI_X"), None);
        assert_eq!(project("LD_LIBRARY_PATH"), None);
    }
}

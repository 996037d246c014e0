//! Libraries that environment variables configure.

/// Library and what its variables and files are called.
#[derive(Debug, PartialEq, Eq)]
pub struct Library {
    /// Name of the project.
    pub project: &'static str,
    /// Prefixes of its environment variables.
    pub prefixes: &'static [&'static str],
    /// Beginnings of the names of its files.
    pub files: &'static [&'static str],
    /// Whether the variables only configure transports: those of a fabric library or of a layer below it. Any other
    /// variable may change the process itself.
    pub is_transport: bool,
    /// Whether the variables are recorded.
    pub is_recorded: bool,
}

/// libfabric (`fi_getinfo(3)`).
pub static LIBFABRIC: Library = Library {
    project: "libfabric",
    prefixes: &["FI_"],
    files: &["libfabric"],
    is_transport: true,
    is_recorded: true,
};

/// UCX.
pub static UCX: Library = Library {
    project: "UCX",
    prefixes: &["UCX_"],
    files: &["libucs", "libucp", "libuct"],
    is_transport: true,
    is_recorded: true,
};

/// Libraries whose files contain the names of all their variables as they are. Sources: `OFI_NCCL_PARAM` in
/// nccl_ofi_param.h (aws-ofi-nccl 1.7 and 1.14), `NCCL_PARAM` in param.h (NCCL 2.18), `getenv` in libnixl (NIXL 1.5),
/// config.cpp of Mooncake 0.3, and `getenv` in libibverbs and its providers (rdma-core 44, `mlx5dv(7)`, `rdma_cm(7)`).
pub static NAMED: [Library; 5] = [
    Library {
        project: "the OFI NCCL plug-in",
        prefixes: &["OFI_NCCL_"],
        files: &["libnccl-net", "libnccl-ofi", "libnccl-tuner"],
        is_transport: false,
        is_recorded: true,
    },
    Library {
        project: "NCCL",
        prefixes: &["NCCL_"],
        files: &["libnccl.so", "libnccl_static"],
        is_transport: false,
        is_recorded: true,
    },
    Library {
        project: "NIXL",
        prefixes: &["NIXL_"],
        files: &["libnixl", "libplugin_", "libtelemetry_exporter"],
        is_transport: true,
        is_recorded: true,
    },
    Library {
        project: "Mooncake",
        prefixes: &["MC_"],
        files: &["libtransfer_engine", "libmooncake", "transfer_engine_bench"],
        is_transport: false,
        is_recorded: false,
    },
    Library {
        project: "rdma-core",
        prefixes: &["RDMAV_", "IBV_", "MLX5_", "MLX4_"],
        files: &["libibverbs", "libmlx5", "libmlx4", "librdmacm", "libefa"],
        is_transport: true,
        is_recorded: false,
    },
];

impl Library {
    /// All libraries.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        [&LIBFABRIC, &UCX].into_iter().chain(&NAMED)
    }

    /// The library to which the variable `name` belongs; `None` if no known library has its prefix.
    pub fn of_variable(name: &str) -> Option<&'static Self> {
        let owns = |library: &&Self| library.prefixes.iter().any(|prefix| name.starts_with(prefix));
        Self::all().find(owns)
    }

    /// Whether the file with the name `file_name` belongs to the library.
    pub fn has_file(&self, file_name: &str) -> bool {
        self.files.iter().any(|start| file_name.starts_with(start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_decides() {
        let project = |name| Library::of_variable(name).map(|library| library.project);
        assert_eq!(project("OFI_NCCL_PROTOCOL"), Some("the OFI NCCL plug-in"));
        assert_eq!(project("NCCL_DEBUG"), Some("NCCL"));
        assert_eq!(project("FI_PROVIDER"), Some("libfabric"));
        assert_eq!(project("UCX_TLS"), Some("UCX"));
        assert_eq!(project("MC_GID_INDEX"), Some("Mooncake"));
        assert_eq!(project("MY_APP_FI_X"), None);
        assert_eq!(project("LD_LIBRARY_PATH"), None);
    }

    #[test]
    fn no_prefix_begins_with_another() {
        let prefixes: Vec<&str> = Library::all()
            .flat_map(|library| library.prefixes)
            .copied()
            .collect();
        for prefix in &prefixes {
            let same = prefixes.iter().filter(|other| prefix.starts_with(**other));
            assert_eq!(same.count(), 1, "{prefix}");
        }
    }
}

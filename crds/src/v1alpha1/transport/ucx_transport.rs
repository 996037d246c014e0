//! Transports that UCX may use, by their names in `UCX_TLS`.

use serde::{Deserialize, Serialize};

/// UCX transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "UCX's own names")]
pub enum UcxTransport {
    All,
    Tcp,
    Sm,
    Posix,
    Sysv,
    Xpmem,
    Knem,
    Cma,
    Ib,
    Rc,
    RcV,
    RcX,
    Ud,
    UdV,
    UdX,
    Dc,
    DcX,
    Cuda,
    CudaCopy,
    CudaIpc,
    GdrCopy,
}

impl UcxTransport {
    /// All transports.
    pub const ALL: [Self; 21] = [
        Self::All,
        Self::Tcp,
        Self::Sm,
        Self::Posix,
        Self::Sysv,
        Self::Xpmem,
        Self::Knem,
        Self::Cma,
        Self::Ib,
        Self::Rc,
        Self::RcV,
        Self::RcX,
        Self::Ud,
        Self::UdV,
        Self::UdX,
        Self::Dc,
        Self::DcX,
        Self::Cuda,
        Self::CudaCopy,
        Self::CudaIpc,
        Self::GdrCopy,
    ];

    /// Name of the transport in manifests and in `UCX_TLS`.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Tcp => "tcp",
            Self::Sm => "sm",
            Self::Posix => "posix",
            Self::Sysv => "sysv",
            Self::Xpmem => "xpmem",
            Self::Knem => "knem",
            Self::Cma => "cma",
            Self::Ib => "ib",
            Self::Rc => "rc",
            Self::RcV => "rc_v",
            Self::RcX => "rc_x",
            Self::Ud => "ud",
            Self::UdV => "ud_v",
            Self::UdX => "ud_x",
            Self::Dc => "dc",
            Self::DcX => "dc_x",
            Self::Cuda => "cuda",
            Self::CudaCopy => "cuda_copy",
            Self::CudaIpc => "cuda_ipc",
            Self::GdrCopy => "gdr_copy",
        }
    }

    /// Finds the transport with this name in `UCX_TLS`, where some transports have several names. Source: the aliases
    /// in `src/ucp/core/ucp_context.c` of UCX 1.18.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = match name {
            "shm" => "sm",
            "rc_verbs" => "rc_v",
            "rc_mlx5" => "rc_x",
            "ud_verbs" => "ud_v",
            "ud_mlx5" => "ud_x",
            "dc_mlx5" => "dc_x",
            _ => name,
        };
        Self::ALL.into_iter().find(|transport| transport.name() == name)
    }

    /// Whether `lane`, the name of a transport that an endpoint uses, belongs to this transport. Some names in
    /// `UCX_TLS` are aliases for several transports.
    pub fn serves(self, lane: &str) -> bool {
        let starts_with = |prefixes: &[&str]| prefixes.iter().any(|prefix| lane.starts_with(prefix));
        match self {
            Self::All => true,
            Self::Sm => matches!(lane, "posix" | "sysv" | "xpmem" | "knem" | "cma"),
            Self::Ib => starts_with(&["rc_", "ud_", "dc_"]),
            Self::Rc => starts_with(&["rc_"]),
            Self::RcV => lane == "rc_verbs",
            Self::RcX => lane == "rc_mlx5",
            Self::Ud => starts_with(&["ud_"]),
            Self::UdV => lane == "ud_verbs",
            Self::UdX => lane == "ud_mlx5",
            Self::Dc => starts_with(&["dc_"]),
            Self::DcX => lane == "dc_mlx5",
            Self::Cuda => matches!(lane, "cuda_copy" | "cuda_ipc" | "gdr_copy"),
            Self::Tcp
            | Self::Posix
            | Self::Sysv
            | Self::Xpmem
            | Self::Knem
            | Self::Cma
            | Self::CudaCopy
            | Self::CudaIpc
            | Self::GdrCopy => lane == self.name(),
        }
    }

    /// Whether this names a transport over RDMA devices. `all` names none.
    pub fn is_rdma(self) -> bool {
        use UcxTransport::{Dc, DcX, Ib, Rc, RcV, RcX, Ud, UdV, UdX};
        matches!(self, Ib | Rc | RcV | RcX | Ud | UdV | UdX | Dc | DcX)
    }

    /// Whether UCX may transfer data through shared memory.
    pub fn may_use_shared_memory(self) -> bool {
        use UcxTransport::{All, Cma, Knem, Posix, Sm, Sysv, Xpmem};
        matches!(self, All | Sm | Posix | Sysv | Xpmem | Knem | Cma)
    }

    /// Whether this transport uses ud lanes for connection setup.
    fn connects_with_ud(self) -> bool {
        matches!(self, Self::Rc | Self::RcV | Self::RcX)
    }
}

/// The transports whose lanes read the UCX variable `name`, such as `UCX_RC_TX_QUEUE_LEN`. `None` if it is not known that
/// only lanes of network transports read it. dc lanes also read the variables of rc and ud. Source: the tables of settings
/// in `src/uct/ib` of UCX 1.18. `UCX_TCP_CM_` configures connections by socket address, which need no tcp lane.
pub fn readers_of_variable(name: &str) -> Option<&'static [UcxTransport]> {
    use UcxTransport::{Dc, Ib, Rc, Tcp, Ud};
    let (family, rest) = name.strip_prefix("UCX_")?.split_once('_')?;
    match family {
        "TCP" if !rest.starts_with("CM_") => Some(&[Tcp]),
        "RC" => Some(&[Rc, Dc]),
        "UD" => Some(&[Ud, Dc]),
        "DC" => Some(&[Dc]),
        "IB" => Some(&[Ib]),
        _ => None,
    }
}

/// Value of `UCX_TLS` for `transports`. UCX accepts `all` only alone; it includes the transports of the same worker. They are
/// added to all other lists, because memory of the same worker is always accessible, and some releases need `self` for
/// transfers between memory types.
pub fn tls_value(transports: &[UcxTransport]) -> String {
    if transports.contains(&UcxTransport::All) {
        return UcxTransport::All.name().to_owned();
    }
    let names: Vec<_> = transports.iter().map(|transport| transport.name()).collect();
    [&names, &["self"][..]].concat().join(",")
}

/// Whether any of `lanes`, recorded as `transport/device`, transfers data through host memory.
pub fn uses_memory_lane(lanes: &[String]) -> bool {
    let mut names = lanes.iter().filter_map(|lane| lane.split('/').next());
    names.any(|name| UcxTransport::Sm.serves(name))
}

/// Returns the first of `lanes`, the names of an endpoint's transports, that none of `requested` covers. The `rc`,
/// `rc_v` and `rc_x` aliases include ud for connection setup. If one of them is requested, ud lanes are therefore
/// covered as long as there are also rc lanes.
pub fn unrequested_lane<'a>(requested: &[UcxTransport], lanes: &[&'a str]) -> Option<&'a str> {
    let with_rc = requested
        .iter()
        .any(|transport| transport.connects_with_ud() && lanes.iter().any(|lane| transport.serves(lane)));
    let is_covered = |lane: &str| {
        requested.iter().any(|transport| transport.serves(lane)) || (with_rc && UcxTransport::Ud.serves(lane))
    };
    lanes.iter().copied().find(|lane| !is_covered(lane))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_manifest_and_of_ucx() {
        for transport in UcxTransport::ALL {
            assert_eq!(UcxTransport::from_name(transport.name()), Some(transport));
            let manifest = serde_json::to_value(transport).unwrap();
            assert_eq!(manifest, transport.name());
        }
        let found = ["shm", "rc_mlx5", "ud_verbs", "dc_mlx5"].map(UcxTransport::from_name);
        let expected = [
            UcxTransport::Sm,
            UcxTransport::RcX,
            UcxTransport::UdV,
            UcxTransport::DcX,
        ];
        assert_eq!(found, expected.map(Some));
        assert_eq!(UcxTransport::from_name("rdma"), None);
    }

    #[test]
    fn all_is_a_value_of_its_own() {
        use UcxTransport::{All, RcX, Tcp};
        assert_eq!(tls_value(&[Tcp, RcX]), "tcp,rc_x,self");
        assert_eq!(tls_value(&[Tcp, All]), "all");
    }

    #[test]
    fn variables_of_network_transports_have_readers() {
        use UcxTransport::{Dc, Ib, Rc, Tcp, Ud};
        for (name, expected) in [
            ("UCX_TCP_TX_SEG_SIZE", Some(&[Tcp][..])),
            ("UCX_RC_MLX5_TX_QUEUE_LEN", Some(&[Rc, Dc])),
            ("UCX_UD_TIMEOUT", Some(&[Ud, Dc])),
            ("UCX_DC_MLX5_NUM_DCI", Some(&[Dc])),
            ("UCX_IB_SEG_SIZE", Some(&[Ib])),
            ("UCX_TCP_CM_REUSEADDR", None),
            ("UCX_CUDA_COPY_MAX_POLL", None),
            ("UCX_MM_SEG_SIZE", None),
            ("UCX_TLS", None),
            ("RC_TX_QUEUE_LEN", None),
        ] {
            assert_eq!(readers_of_variable(name), expected, "{name}");
        }
    }

    #[test]
    fn a_single_transport_covers_only_its_own_lanes() {
        use UcxTransport::{All, Posix, Rc, RcV, RcX, Sm, Tcp};
        assert_eq!(unrequested_lane(&[Posix], &["posix", "cma"]), Some("cma"));
        assert_eq!(unrequested_lane(&[Sm], &["posix", "cma"]), None);
        assert_eq!(unrequested_lane(&[All], &["posix", "tcp", "rc_mlx5"]), None);
        assert_eq!(unrequested_lane(&[RcX], &["rc_mlx5", "ud_mlx5"]), None);
        assert_eq!(unrequested_lane(&[RcX], &["rc_verbs"]), Some("rc_verbs"));
        assert_eq!(unrequested_lane(&[RcV], &["ud_verbs"]), Some("ud_verbs"));
        assert_eq!(unrequested_lane(&[Rc, Tcp], &["rc_mlx5", "tcp"]), None);
    }
}

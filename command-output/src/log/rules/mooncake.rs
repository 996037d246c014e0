//! Rules for the lines of the Mooncake Transfer Engine and its benchmark. Their lines have the form `I0306 02:45:59.641780
//! 157201 file.cpp:line] text`.

use crds::record::LogLineKind::{Error, Path, Refusal, Staging};

use super::RuleTable;
use crate::log::rule::{Names, harmless, rule};

pub(super) const TABLE: RuleTable = RuleTable {
    library: "mooncake",
    version: "Mooncake 0.3.12.post1",
    marks: &[],
    rules: &[
        rule(
            "force-tcp",
            Path,
            Names::Fixed(&["tcp"]),
            "MC_FORCE_TCP is set, using TCP transport only",
            "mooncake-transfer-engine/src/transfer_engine_impl.cpp",
        ),
        rule(
            "tcp-no-device",
            Path,
            Names::Fixed(&["tcp"]),
            "Using TCP transport",
            "mooncake-transfer-engine/src/transfer_engine_impl.cpp",
        ),
        rule(
            "tcp-host",
            Path,
            Names::Fixed(&["tcp"]),
            "Using TCP host transport",
            "mooncake-transfer-engine/src/transfer_engine_impl.cpp",
        ),
        rule(
            "tcp-listen",
            Path,
            Names::Fixed(&["tcp"]),
            "TcpTransport: listen on port",
            "mooncake-transfer-engine/src/transport/tcp_transport/tcp_transport.cpp",
        ),
        rule(
            "rdma",
            Path,
            Names::Fixed(&["rdma"]),
            "Using RDMA transport",
            "mooncake-transfer-engine/src/transfer_engine_impl.cpp",
        ),
        rule(
            "rdma-host",
            Path,
            Names::Fixed(&["rdma"]),
            "Using RDMA host transport",
            "mooncake-transfer-engine/src/transfer_engine_impl.cpp",
        ),
        rule(
            "rdma-device",
            Path,
            Names::Fixed(&["rdma"]),
            "RDMA device: ",
            "mooncake-transfer-engine/src/transport/rdma_transport/rdma_context.cpp",
        ),
        rule(
            "transport",
            Path,
            Names::Captured,
            "installTransport, type={}",
            "mooncake-transfer-engine/src/transfer_engine_impl.cpp",
        ),
        rule(
            "nvlink",
            Path,
            Names::Fixed(&["nvlink"]),
            "Using *NVLink transport",
            "mooncake-transfer-engine/src/transfer_engine_impl.cpp",
        ),
        rule(
            "no-device",
            Refusal,
            Names::Fixed(&["rdma"]),
            "No RDMA devices found",
            "mooncake-transfer-engine/src/topology.cpp",
        ),
        rule(
            "no-adapter",
            Refusal,
            Names::Fixed(&["rdma"]),
            "Topology discovery complete. Found 0 HCAs",
            "mooncake-transfer-engine/src/transfer_engine_impl.cpp",
        ),
        rule(
            "unavailable-device",
            Refusal,
            Names::Fixed(&["rdma"]),
            "Skipping unavailable device",
            "mooncake-transfer-engine/src/topology.cpp",
        ),
        rule(
            "no-active-port",
            Refusal,
            Names::Fixed(&["rdma"]),
            "has no active ports, skipping",
            "mooncake-transfer-engine/src/topology.cpp",
        ),
        harmless(
            "hip-transport",
            "Failed to install HIP transport",
            "mooncake-transfer-engine/src/transfer_engine_impl.cpp",
        ),
        rule(
            "install-type",
            Refusal,
            Names::Captured,
            "Failed to install transport, type={}",
            "mooncake-transfer-engine/src/transfer_engine_impl.cpp",
        ),
        rule(
            "install",
            Refusal,
            Names::Captured,
            "Failed to install {} transport",
            "mooncake-transfer-engine/src/transfer_engine_impl.cpp",
        ),
        rule(
            "not-compiled",
            Refusal,
            Names::Fixed(&["nvlink"]),
            "transport was requested but is not compiled in",
            "mooncake-transfer-engine/src/transfer_engine_impl.cpp",
        ),
        rule(
            "unsupported",
            Refusal,
            Names::Captured,
            "Unsupported transport {},",
            "mooncake-transfer-engine/src/multi_transport.cpp",
        ),
        rule(
            "dmabuf",
            Staging,
            Names::None,
            "DMA BUF supported required for GPU RDMA",
            "mooncake-transfer-engine/src/transport/rdma_transport/rdma_context.cpp",
        ),
        harmless(
            "ordering",
            "Relaxed ordering ",
            "mooncake-transfer-engine/src/transport/rdma_transport/rdma_transport.cpp",
        ),
        harmless(
            "dmabuf-kernel",
            "dmabuf MR registration disabled",
            "mooncake-transfer-engine/src/transport/rdma_transport/rdma_context.cpp",
        ),
        harmless(
            "dmabuf-setting",
            "HIP dmabuf disabled",
            "mooncake-transfer-engine/src/transport/rdma_transport/rdma_context.cpp",
        ),
        harmless(
            "dmabuf-managed",
            "dmabuf export skipped",
            "mooncake-transfer-engine/src/transport/rdma_transport/rdma_context.cpp",
        ),
        harmless(
            "topology-file",
            "falling back to auto-d",
            "mooncake-transfer-engine/src/transfer_engine_impl.cpp",
        ),
        harmless(
            "default-range",
            "falling back to default",
            "mooncake-transfer-engine/src/config.cpp",
        ),
        harmless(
            "metrics",
            "Metrics reporting is disabled",
            "mooncake-transfer-engine/src/transfer_engine_impl.cpp",
        ),
        harmless(
            "local-segment",
            "Local segment descriptor not found",
            "mooncake-transfer-engine/src/transfer_metadata.cpp",
        ),
        harmless(
            "machine",
            "getMachineID source=fallback",
            "mooncake-transfer-engine/tent/src/runtime/transfer_engine_impl.cpp",
        ),
        rule(
            "gid",
            Error,
            Names::None,
            "No suitable GID found",
            "mooncake-transfer-engine/src/transport/rdma_transport/rdma_context.cpp",
        ),
    ],
};

//! Rules for the lines of the OFI plug-in of NCCL. Its lines have the form of NCCL, and the texts begin with `NET/OFI`.

use crds::record::LogLineKind::{Emulation, Error, Path, Refusal, Staging};

use super::RuleTable;
use crate::log::rule::{Names, harmless, rule};

pub(super) const TABLE: RuleTable = RuleTable {
    library: "ofi-nccl",
    version: "aws-ofi-nccl at commit 2daf7d30 (August 2026)",
    marks: &["net/ofi"],
    rules: &[
        harmless(
            "tuner-not-available",
            "NCCL_OFI_TUNER is not available",
            "include/tuner/nccl_ofi_tuner_process_config.h",
        ),
        harmless(
            "tuner-internal",
            "Fall back to NCCL's tuner",
            "include/tuner/nccl_ofi_tuner_process_config.h",
        ),
        harmless(
            "tuner-fallback",
            "Falling back to NCCL's tuner",
            "src/tuner/nccl_ofi_regions.cpp",
        ),
        harmless(
            "tuner-not-loaded",
            "The tuner plugin can not be loaded",
            "src/tuner/nccl_ofi_tuner.cpp",
        ),
        rule(
            "provider",
            Path,
            Names::Captured,
            "Selected provider is {}, fabric is",
            "src/nccl_ofi_net.cpp",
        ),
        rule(
            "provider-old",
            Path,
            Names::Captured,
            "Selected provider is {} (",
            "src/nccl_ofi_net.c of aws-ofi-nccl 1.4",
        ),
        rule(
            "no-provider",
            Refusal,
            Names::None,
            "No eligible providers were found",
            "src/nccl_ofi_rdma.cpp",
        ),
        rule(
            "provider-open",
            Refusal,
            Names::None,
            "Couldn't open a fabric provider",
            "src/nccl_ofi_net.cpp",
        ),
        rule(
            "efa-version",
            Refusal,
            Names::Fixed(&["efa"]),
            "EFA provider requires at least libfabric",
            "src/nccl_ofi_net.cpp",
        ),
        rule(
            "no-protocol",
            Refusal,
            Names::None,
            "Unable to find a protocol that worked",
            "src/nccl_ofi_net.cpp",
        ),
        rule(
            "protocol-init",
            Error,
            Names::None,
            "Failed to initialize *protocol",
            "src/nccl_ofi_net.cpp",
        ),
        rule(
            "emulated-write",
            Emulation,
            Names::None,
            "FI_OPT_EFA_EMULATED_WRITE is true",
            "src/platform-aws.cpp",
        ),
        rule(
            "gpu-direct-platform",
            Staging,
            Names::None,
            "GDR disabled on GDR-supported instance",
            "src/platform-aws.cpp",
        ),
        rule(
            "gpu-direct-off",
            Staging,
            Names::None,
            "disabling GDR",
            "src/nccl_ofi_ofiutils.cpp",
        ),
        rule(
            "gpu-direct-api",
            Staging,
            Names::None,
            "without GPUDirect RDMA support",
            "src/nccl_ofi_sendrecv.cpp",
        ),
        harmless("gdrcopy", "Could not load libgdrapi", "src/nccl_ofi_gdrcopy.cpp"),
        harmless(
            "gdrcopy-handle",
            "Failed to open gdr handle",
            "src/nccl_ofi_gdrcopy.cpp",
        ),
        harmless("option", "Setting *not supported", "src/platform-aws.cpp"),
        harmless(
            "simple-protocol",
            "Need to force simple protocol",
            "src/nccl_ofi_net.cpp",
        ),
    ],
};

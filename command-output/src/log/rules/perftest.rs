//! Rules for the lines of perftest.

use crds::record::LogLineKind::{Error, Path, Staging, Time};

use super::RuleTable;
use crate::log::rule::{Names, harmless, rule};

pub(super) const TABLE: RuleTable = RuleTable {
    library: "perftest",
    version: "perftest 26.04.17",
    marks: &[],
    rules: &[
        rule(
            "transport",
            Path,
            Names::Captured,
            "Transport type : {}",
            "src/perftest_parameters.c",
        ),
        rule(
            "clock",
            Time,
            Names::None,
            "Conflicting CPU frequency values detected",
            "src/get_clock.c",
        ),
        rule(
            "moderation",
            Time,
            Names::None,
            "It can lead to inaccurate results",
            "src/perftest_parameters.c",
        ),
        rule(
            "completion",
            Error,
            Names::None,
            "Completion with error at",
            "src/perftest_resources.h",
        ),
        rule(
            "status",
            Error,
            Names::None,
            "Failed status-",
            "src/perftest_resources.h",
        ),
        rule(
            "warm-up",
            Error,
            Names::None,
            "Problems with warm up",
            "src/atomic_bw.c",
        ),
        rule(
            "memory-node",
            Error,
            Names::None,
            "Continuing without NUMA binding",
            "src/perftest_resources.c",
        ),
        rule(
            "no-data-checked",
            Error,
            Names::None,
            "- no data validated",
            "src/perftest_resources.c",
        ),
        rule(
            "dmabuf",
            Staging,
            Names::None,
            "DMA-BUF is not supported on this",
            "src/cuda_memory.c",
        ),
        harmless(
            "post-flow",
            "new post send flow is not supported, falling back to ibv_post_send",
            "src/perftest_parameters.c",
        ),
        harmless("peak", "BW peak won't be measured", "src/perftest_parameters.c"),
        harmless(
            "ordering",
            "PCIe relaxed ordering compliant",
            "src/perftest_parameters.c",
        ),
        harmless(
            "ordering-hint",
            "You should disable PCIe RO",
            "src/perftest_parameters.c",
        ),
        harmless(
            "doorbell",
            "Blueflame is not supported",
            "src/perftest_resources.c",
        ),
        harmless(
            "reorder",
            "OOO_RECV_WRS mismatch, disabling",
            "src/perftest_parameters.c",
        ),
        harmless(
            "huge-pages",
            "pages not available, trying next",
            "src/host_memory.c",
        ),
    ],
};

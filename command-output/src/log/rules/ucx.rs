//! Rules for the lines of UCX (`UCX_LOG_LEVEL`). Its lines have the form `[time] [host:pid:thread] file:line UCX  LEVEL text`.
//! The rows of protocol tables are read separately.

use crds::record::LogLineKind::{Emulation, Error, Path, Refusal};

use super::RuleTable;
use crate::log::rule::{Names, harmless, rule};

pub(super) const TABLE: RuleTable = RuleTable {
    library: "ucx",
    version: "UCX 1.23.0",
    marks: &["ucx ", "ep_cfg["],
    rules: &[
        rule(
            "unused-variable",
            Error,
            Names::None,
            "unused env*variable",
            "src/ucs/config/parser.c",
        ),
        rule(
            "emulated-access-old",
            Emulation,
            Names::Lanes,
            "ep_cfg[*rma_am({})",
            "src/ucp/core/ucp_worker.c of UCX 1.13",
        ),
        rule(
            "emulated-atomics-old",
            Emulation,
            Names::Lanes,
            "ep_cfg[*amo_am({})",
            "src/ucp/core/ucp_worker.c of UCX 1.13",
        ),
        rule(
            "lanes-old",
            Path,
            Names::Lanes,
            "ep_cfg[*]: {}",
            "src/ucp/core/ucp_worker.c of UCX 1.13",
        ),
        rule(
            "emulated-access",
            Emulation,
            Names::Lanes,
            " cfg#*rma_am({})",
            "src/ucp/core/ucp_worker.c",
        ),
        rule(
            "emulated-atomics",
            Emulation,
            Names::Lanes,
            " cfg#*amo_am({})",
            "src/ucp/core/ucp_worker.c",
        ),
        rule(
            "lanes",
            Path,
            Names::Lanes,
            " cfg#* {}",
            "src/ucp/core/ucp_worker.c",
        ),
        rule(
            "transports-not-available",
            Refusal,
            Names::Quoted,
            "transport{}not available, please use one or more of",
            "src/ucp/core/ucp_context.c",
        ),
        rule(
            "devices-not-available",
            Refusal,
            Names::Quoted,
            "device{}not available, please use one or more of",
            "src/ucp/core/ucp_context.c",
        ),
        rule(
            "no-usable-transport",
            Refusal,
            Names::None,
            "no usable transports/devices",
            "src/ucp/core/ucp_context.c",
        ),
        rule(
            "no-transport",
            Refusal,
            Names::None,
            "UCX  ERROR no *transport to",
            "src/ucp/wireup/select.c",
        ),
        rule(
            "none-selected",
            Refusal,
            Names::None,
            "No transports selected to",
            "src/ucp/wireup/select.c",
        ),
        rule(
            "no-zero-copy",
            Refusal,
            Names::None,
            "No zero-copy protocol found for",
            "src/ucp/proto/proto_reconfig.c",
        ),
        rule(
            "device-not-enabled",
            Refusal,
            Names::Captured,
            "failed: device {} is not enabled",
            "src/ucp/wireup/wireup_cm.c",
        ),
        rule(
            "address-not-reachable",
            Refusal,
            Names::None,
            "destination is unreachable",
            "src/ucp/wireup/select.c",
        ),
        harmless(
            "connection-manager",
            "failed to open CM on component",
            "src/ucp/core/ucp_worker.c",
        ),
        harmless(
            "event-channel",
            "rdma_create_event_channel failed",
            "src/uct/ib/rdmacm/rdmacm_cm.c",
        ),
        harmless(
            "connection-manager-switch",
            "client switching from",
            "src/ucp/wireup/wireup_cm.c",
        ),
        harmless(
            "maximum-lane",
            "falling back to first max bw lane",
            "src/ucp/proto/proto_multi.c",
        ),
        harmless("fork", "ibv_fork_init() was disabled", "src/uct/ib/base/ib_md.c"),
        harmless(
            "ordering",
            "relaxed order memory access is disabled",
            "src/uct/ib/base/ib_md.c",
        ),
        harmless(
            "on-demand-paging",
            "ODP is disabled because",
            "src/uct/ib/base/ib_md.c",
        ),
        harmless("timer", "using fallback timer", "src/ucs/arch/x86_64/cpu.c"),
        harmless("huge-pages", "huge pages are not supported", "src/ucs/sys/sys.c"),
        harmless(
            "channel-mode",
            "random channel mode is not supported",
            "src/tools/perf/perftest_params.c",
        ),
        harmless(
            "registration-cache",
            "could not create UCP registration cache",
            "src/ucp/core/ucp_context.c",
        ),
        harmless(
            "device-kernels",
            "GDAKI not supported",
            "src/uct/ib/mlx5/gdaki/gdaki.c",
        ),
        rule(
            "link-speed",
            Error,
            Names::None,
            "unknown active_speed on",
            "src/uct/ib/base/ib_iface.c",
        ),
        rule("error", Error, Names::None, "UCX  ERROR ", "src/ucs/debug/log.c"),
        rule("warning", Error, Names::None, "UCX  WARN ", "src/ucs/debug/log.c"),
    ],
};

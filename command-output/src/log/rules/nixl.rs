//! Rules for the lines of NIXL (`NIXL_LOG_LEVEL`) and nixlbench. Their lines have the form `W0304 09:12:11.101010 101
//! file.cpp:line] text`.

use crds::record::LogLineKind::{Error, Path, Refusal, Staging};

use super::RuleTable;
use crate::log::rule::{Names, harmless, rule};

pub(super) const TABLE: RuleTable = RuleTable {
    library: "nixl",
    version: "NIXL 1.4.0",
    marks: &[],
    rules: &[
        harmless(
            "trace-plugin",
            "Failed to load trace plugin",
            "src/core/nixl_plugin_manager.cpp",
        ),
        harmless(
            "trace-symbol",
            "Failed to find nixl_trace_plugin_init",
            "src/core/nixl_plugin_manager.cpp",
        ),
        harmless(
            "telemetry-symbol",
            "Failed to find nixl_telemetry_plugin_init",
            "src/core/nixl_plugin_manager.cpp",
        ),
        harmless(
            "telemetry",
            "NIXL telemetry is disabled",
            "src/core/nixl_agent.cpp",
        ),
        rule(
            "provider",
            Path,
            Names::Captured,
            "rails using provider={}",
            "src/utils/libfabric/libfabric_rail_manager.cpp",
        ),
        rule(
            "efa-not-used",
            Refusal,
            Names::Fixed(&["efa"]),
            "Amazon EFA(s) were detected, but the UCX backend was configured",
            "src/core/nixl_agent.cpp",
        ),
        rule(
            "ib-not-accelerated",
            Refusal,
            Names::Fixed(&["ib"]),
            "IB device(s) were detected, but accelerated IB support was not found",
            "src/plugins/ucx/ucx_utils.cpp",
        ),
        rule(
            "no-network-device",
            Refusal,
            Names::None,
            "No network devices found with any provider",
            "src/utils/libfabric/libfabric_common.cpp",
        ),
        // Plug-ins for storage need libraries of their own, and transfer nothing between nodes.
        harmless(
            "storage-gds-file",
            "Failed to load plugin from *libplugin_GDS",
            "src/core/nixl_plugin_manager.cpp",
        ),
        harmless(
            "storage-gds-name",
            "Failed to load plugin 'GDS",
            "src/core/nixl_plugin_manager.cpp",
        ),
        harmless(
            "storage-hf3fs-file",
            "Failed to load plugin from *libplugin_HF3FS",
            "src/core/nixl_plugin_manager.cpp",
        ),
        harmless(
            "storage-hf3fs-name",
            "Failed to load plugin 'HF3FS",
            "src/core/nixl_plugin_manager.cpp",
        ),
        harmless(
            "storage-obj-file",
            "Failed to load plugin from *libplugin_OBJ",
            "src/core/nixl_plugin_manager.cpp",
        ),
        harmless(
            "storage-obj-name",
            "Failed to load plugin 'OBJ",
            "src/core/nixl_plugin_manager.cpp",
        ),
        rule(
            "plugin-file",
            Refusal,
            Names::Captured,
            "Failed to load plugin from {}:",
            "src/core/nixl_plugin_manager.cpp",
        ),
        rule(
            "plugin",
            Refusal,
            Names::Captured,
            "Failed to load plugin '{}' from any directory",
            "src/core/nixl_plugin_manager.cpp",
        ),
        rule(
            "plugin-missing",
            Refusal,
            Names::Captured,
            "Plugin file does not exist: {}",
            "src/core/nixl_plugin_manager.cpp",
        ),
        rule(
            "plugin-version",
            Refusal,
            Names::Captured,
            "Plugin API version mismatch for {}:",
            "src/core/nixl_plugin_manager.cpp",
        ),
        rule(
            "plugin-init",
            Refusal,
            Names::Captured,
            "Plugin initialization failed for {}",
            "src/core/nixl_plugin_manager.cpp",
        ),
        rule(
            "plugin-symbol",
            Refusal,
            Names::Captured,
            "Failed to find nixl_plugin_init in {}:",
            "src/core/nixl_plugin_manager.cpp",
        ),
        rule(
            "backend",
            Refusal,
            Names::Captured,
            "unsupported backend '{}'",
            "src/core/nixl_agent.cpp",
        ),
        rule(
            "backend-creation",
            Refusal,
            Names::Captured,
            "backend creation failed for '{}'",
            "src/core/nixl_agent.cpp",
        ),
        rule(
            "common-backend",
            Refusal,
            Names::None,
            "could not find a common backend",
            "src/core/nixl_agent.cpp",
        ),
        rule(
            "gpu-support",
            Staging,
            Names::None,
            "NVIDIA GPU(s) were detected, but UCX CUDA support was not found",
            "src/plugins/ucx/ucx_utils.cpp",
        ),
        rule(
            "gpu-memory",
            Staging,
            Names::None,
            "VRAM memory is detected as host by UCX",
            "src/plugins/ucx/ucx_utils.cpp",
        ),
        rule(
            "ucx-version",
            Error,
            Names::None,
            "CUDA support is limited, including",
            "src/plugins/ucx/ucx_utils.cpp",
        ),
        harmless(
            "cuda-device",
            "using cudaSetDevice fallback",
            "src/plugins/libfabric/libfabric_backend.cpp",
        ),
        harmless(
            "cuda-address",
            "CUDA address workaround",
            "src/plugins/libfabric/libfabric_backend.cpp",
        ),
        harmless(
            "progress-thread",
            "Progress thread disabled",
            "src/plugins/libfabric/libfabric_backend.cpp",
        ),
        harmless(
            "rail-selection",
            "rail selection",
            "src/utils/libfabric/libfabric_rail_manager.cpp",
        ),
    ],
};

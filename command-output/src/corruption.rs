//! Lines in which a tool reports that the data that it transferred is wrong. The results of such a run are not results.

use crds::v1alpha1::CommandTool;

/// Text with which a tool reports wrong data.
struct Report {
    /// Tool that prints it.
    tool: CommandTool,
    /// Text within the line.
    text: &'static str,
}

/// Known reports. The source follows each of them.
const REPORTS: [Report; 8] = [
    // benchmark/nixlbench/src/utils/utils.cpp in nixl, checkConsistency
    report(CommandTool::Nixlbench, "Consistency check failed"),
    // fabtests/common/shared.c in libfabric, ft_check_buf and ft_check_atom_buf
    report(CommandTool::Fabtests, "Data check error"),
    // fabtests/common/shared.c in libfabric, ft_verify_bufs
    report(CommandTool::Fabtests, "Tag mismatch!"),
    // util/pingpong.c in libfabric, pp_check_buf
    report(CommandTool::Fabtests, "Error at iteration="),
    // src/tools/perf/lib/ucp_tests.h in ucx
    report(CommandTool::UcxPerftest, "data validation failed"),
    // src/perftest_resources.c in perftest
    report(CommandTool::Perftest, "VALIDATION: FAILED"),
    // src/perftest_resources.c in perftest
    report(CommandTool::Perftest, "VALIDATION: ERROR"),
    // src/common.cu in nccl-tests, debug output
    report(CommandTool::NcclTests, "ERROR: Data corruption"),
];

const fn report(tool: CommandTool, text: &'static str) -> Report {
    Report { tool, text }
}

/// Whether `line` of the output of `tool` reports wrong data.
pub fn is_reported(tool: CommandTool, line: &str) -> bool {
    let mut own = REPORTS.iter().filter(|report| report.tool == tool);
    own.any(|report| line.contains(report.text))
}

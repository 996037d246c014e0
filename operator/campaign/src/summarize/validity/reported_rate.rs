//! Checks that the bandwidth that a command's tool reports does not exceed the line rate of a worker.
//!
//! The runner does not know which rails the tool uses, so the limit is the sum of the line rates of all rails. The
//! limit is unknown in three cases: a worker has RDMA devices that are not rails, which the tool may use; the tool is
//! `Regex`, whose bandwidth may include several directions or workers; or the tool is nccl-tests, whose bus bandwidth
//! includes the links between the GPUs of a node.

use std::collections::BTreeSet;

use crds::assignment::Tool;
use crds::record::{FabricFacts, LINE_RATE_TOLERANCE, Measurement};
use crds::v1alpha1::CommandTool;

use super::case_check::Invalid;
use crate::collect::{Case, Reports};
use crate::plan::{Plan, PlannedScenario};
use crate::summarize::workers::endpoints::EndpointIndex;

/// Detects a bandwidth above the line rate of a worker.
pub(super) fn check(
    plan: &Plan,
    reports: &Reports,
    scenario: &PlannedScenario,
    case: &Case,
    measured: &Measurement,
    endpoints: &EndpointIndex<'_>,
) -> Option<Invalid> {
    let tool = scenario.assignment.workload.tool()?;
    let report = measured.initiator.posted.as_ref()?.command.as_ref()?;
    // A rounded bandwidth may exceed the line rate by its resolution.
    let least = report.bandwidth_range.map(|range| range.least);
    let reported = least.map_or(report.bytes_per_second?, |least| least) * 8.0;
    let arguments = plan.arms.get(case.arm).map(|arm| arm.arguments.as_slice());
    let directions = directions(&tool, arguments.unwrap_or_default())?;
    let lines = [case.initiator, case.target].into_iter().filter_map(|rank| {
        let nics = nic_names(reports, case, rank)?;
        worker_limit(endpoints.facts_of_case(case, rank)?, &nics)
    });
    let line = lines.min_by(f64::total_cmp)? * directions;
    (reported > line * (1.0 + LINE_RATE_TOLERANCE)).then_some(Invalid::AboveLineRate {
        measured_bits_per_second: reported as u64,
        line_bits_per_second: line as u64,
    })
}

/// Number of directions of the links whose bandwidths the tool adds up; `None` if that is unknown.
fn directions(tool: &Tool<'_>, arguments: &[String]) -> Option<f64> {
    let words = tool.client.iter().chain(arguments);
    let mut words = words.flat_map(|argument| argument.split_whitespace());
    // perftest accepts several short options in one argument.
    let is_bidirectional = |word: &str| {
        word == "--bidirectional"
            || word
                .strip_prefix('-')
                .is_some_and(|options| !options.starts_with('-') && options.contains('b'))
    };
    match tool.kind {
        CommandTool::Regex | CommandTool::NcclTests => None,
        CommandTool::Perftest if words.any(is_bidirectional) => Some(2.0),
        CommandTool::Perftest
        | CommandTool::Fabtests
        | CommandTool::UcxPerftest
        | CommandTool::Nixlbench
        | CommandTool::TransferEngineBench => Some(1.0),
    }
}

/// Names of the RDMA devices on a worker's host; `None` if the worker did not report them.
fn nic_names<'a>(reports: &'a Reports, case: &Case, rank: u32) -> Option<BTreeSet<&'a str>> {
    let nics = &reports.hello(case, rank)?.environment.hardware.nics;
    Some(nics.iter().map(|nic| nic.name.as_str()).collect())
}

/// Line rate of a worker in one direction, in bits per second; `None` if it may use links of unknown rate.
fn worker_limit(facts: &FabricFacts, nics: &BTreeSet<&str>) -> Option<f64> {
    let rails: BTreeSet<&str> = facts
        .rails
        .iter()
        .filter_map(|rail| rail.interface.as_deref())
        .collect();
    if !nics.is_subset(&rails) {
        return None;
    }
    facts.line_rate().map(|bits| bits as f64)
}

#[cfg(test)]
mod tests {

    use crds::record::RailFacts;

    use super::*;

    fn directions_of(kind: CommandTool, client: &[&str], arguments: &[&str]) -> Option<f64> {
        let owned = |words: &[&str]| -> Vec<String> { words.iter().map(|word| (*word).to_owned()).collect() };
        let tool = Tool {
            kind,
            pattern: None,
            server: &[],
            client: &owned(client),
        };
        directions(&tool, &owned(arguments))
    }

    #[test]
    fn perftest_adds_up_both_directions_if_requested() {
        let perftest_directions =
            |client: &[&str], arguments: &[&str]| directions_of(CommandTool::Perftest, client, arguments);
        assert_eq!(
            perftest_directions(&["ib_write_bw", "--bind_source_ip", "1"], &[]),
            Some(1.0)
        );
        for client in [
            &["ib_write_bw", "-b"][..],
            &["ib_write_bw", "--bidirectional"],
            &["ib_write_bw", "-ab"],
            &["sh", "-c", "ib_write_bw -b host"],
        ] {
            assert_eq!(perftest_directions(client, &[]), Some(2.0), "{client:?}");
        }
        assert_eq!(perftest_directions(&["ib_write_bw"], &["-b"]), Some(2.0));
        assert_eq!(directions_of(CommandTool::Regex, &["x"], &[]), None);
        assert_eq!(directions_of(CommandTool::NcclTests, &["x"], &[]), None);
        assert_eq!(
            directions_of(CommandTool::UcxPerftest, &["x", "-b"], &[]),
            Some(1.0)
        );
    }

    #[test]
    fn limit_is_the_total_line_rate_of_the_rails_if_no_other_device_exists() {
        let rail = |name: &str, pci: bool| RailFacts {
            interface: Some(name.to_owned()),
            pci: pci.then(|| "0000:00:06.0".to_owned()),
            line_bits_per_second: Some(100),
            ..RailFacts::default()
        };
        let facts = |rails: Vec<RailFacts>| FabricFacts {
            rails,
            ..FabricFacts::default()
        };
        let two = facts(vec![rail("a", true), rail("a", true), rail("b", true)]);
        assert_eq!(worker_limit(&two, &["a", "b"].into()), Some(200.0));
        assert_eq!(worker_limit(&two, &BTreeSet::new()), Some(200.0), "Ethernet");
        assert_eq!(worker_limit(&two, &["a", "b", "c"].into()), None);
        assert_eq!(
            worker_limit(&facts(vec![rail("lo", false)]), &BTreeSet::new()),
            None
        );
    }
}

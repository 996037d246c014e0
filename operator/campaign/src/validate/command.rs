//! Validates command scenarios: placeholders, readiness, patterns and metrics, and the variants' arguments.

use command_output::{LinePattern, check_pattern, same_size_text, template};
use crds::units::Size;
use crds::v1alpha1::{BenchmarkRunSpec, Command, CommandTool, MemoryKind, Metric, Scenario};

use super::metrics::NO_REPORTED_METRIC;
use super::reporter::Reporter;

/// Reports placeholders that have no value, servers whose readiness cannot be observed, outputs that cannot be parsed,
/// and arguments of variants that no command uses.
pub(super) fn check(spec: &BenchmarkRunSpec, report: &mut Reporter) {
    for (index, scenario) in spec.scenarios.iter().enumerate() {
        if let Some(given) = &scenario.command {
            let path = format!("spec.scenarios[{index}]");
            check_scenario(&path, scenario, given, report);
        }
    }
    let mut commands = spec
        .scenarios
        .iter()
        .filter_map(|scenario| scenario.command.as_ref());
    let uses_arguments = commands.any(uses_arguments);
    for (index, variant) in spec.variants.iter().enumerate() {
        let path = format!("spec.variants[{index}].arguments");
        if !variant.arguments.is_empty() && !uses_arguments {
            report.add(
                path.clone(),
                "no command contains {arguments}, the placeholder that these arguments replace. Add it to \
                 `server` or `client`, or remove `arguments`",
            );
        }
        check_arguments(&path, &variant.arguments, false, report);
    }
}

fn uses_arguments(given: &Command) -> bool {
    given
        .server
        .iter()
        .chain(&given.client)
        .any(|argument| argument == template::ARGUMENTS)
}

fn check_scenario(path: &str, scenario: &Scenario, given: &Command, report: &mut Reporter) {
    let field = |name: &str| format!("{path}.command.{name}");
    check_arguments(&field("server"), &given.server, true, report);
    check_arguments(&field("client"), &given.client, true, report);
    for (name, arguments) in [("server", &given.server), ("client", &given.client)] {
        if arguments
            .first()
            .is_some_and(|program| program.contains('{') || program.is_empty())
        {
            report.add(
                format!("{}[0]", field(name)),
                "the program must be a name or a path without placeholders, so that all arms run the same \
                 program",
            );
        }
    }
    if given.sizes.len() > 1 && !template::contains(&given.client, "size") {
        report.add(
            field("client"),
            "each size is measured in a separate run, so the client must contain {size}. Add it, or use one \
             size",
        );
    }
    check_sizes(&field("sizes"), given, report);
    match (&given.ready, given.server.is_empty()) {
        (Some(_), true) => report.add(
            field("ready"),
            "there is no server. Remove `ready`, or set `server`",
        ),
        (Some(ready), false) => {
            if let Err(problem) = LinePattern::new(ready) {
                report.add(field("ready"), problem.to_string());
            }
        }
        (None, false) if !template::contains(&given.server, "port") => {
            report.add(
                field("server"),
                "the client is started when the server is ready, so the server must listen on {port} or \
                 print a line. Add {port} to `server`, or set `ready`",
            );
        }
        (None, _) => {}
    }
    check_output(path, scenario, given, report);
    if scenario.memory != MemoryKind::Heap {
        report.add(
            format!("{path}.memory"),
            "a command allocates its own memory. Use `memory: Heap`, or remove `memory`",
        );
    }
}

/// Reports sizes that the tool prints alike, so that their results cannot be distinguished. With `-m`, fabtests prints sizes
/// in bytes.
fn check_sizes(path: &str, given: &Command, report: &mut Reporter) {
    if given.client.iter().any(|argument| argument == "-m") {
        return;
    }
    for (index, second) in given.sizes.iter().enumerate() {
        let mut earlier = given.sizes.iter().take(index).filter(|first| *first != second);
        let text = |first: &Size| same_size_text(given.tool, first.bytes(), second.bytes());
        if let Some((first, text)) = earlier.find_map(|first| Some((*first, text(first)?))) {
            let message = format!(
                "{tool:?} prints {} and {} bytes alike, as `{text}`, so their results cannot be \
                 distinguished. Remove one of them, or measure them in separate scenarios",
                first.bytes(),
                second.bytes(),
                tool = given.tool
            );
            report.add(format!("{path}[{index}]"), message);
        }
    }
}

/// Cause and fix if `tool` does not report `metric`.
fn other_metric(tool: CommandTool, metric: Metric) -> String {
    format!("the output of {tool:?} contains no {metric}. Use the other reported metric")
}

fn check_output(path: &str, scenario: &Scenario, given: &Command, report: &mut Reporter) {
    let metric_path = format!("{path}.primaryMetric");
    match scenario.primary_metric {
        None => report.add(metric_path.clone(), NO_REPORTED_METRIC),
        Some(Metric::ReportedLatency) if given.tool == CommandTool::TransferEngineBench => {
            let (tool, metric) = (given.tool, Metric::ReportedLatency);
            report.add(metric_path.clone(), other_metric(tool, metric));
        }
        Some(_) => {}
    }
    let pattern_path = format!("{path}.command.pattern");
    match (&given.pattern, given.tool) {
        (None, CommandTool::Regex) => report.add(
            pattern_path,
            "`tool: Regex` requires a pattern that matches the lines with results",
        ),
        (Some(_), tool) if tool != CommandTool::Regex => {
            report.add(
                pattern_path,
                format!("the output of {tool:?} is known. Remove `pattern`, or use `tool: Regex`"),
            );
        }
        (Some(pattern), _) => {
            if let Err(error) = check_pattern(pattern) {
                let path = format!("{pattern_path}.{}", error.field);
                report.add(path, error.problem.to_string());
            }
            let metric = scenario.primary_metric;
            let has_metric = match metric {
                Some(Metric::ReportedLatency) => pattern.latency_unit.is_some(),
                Some(Metric::ReportedBandwidth) => pattern.bandwidth_unit.is_some(),
                _ => true,
            };
            if let Some(metric) = metric.filter(|_| !has_metric) {
                let tool = given.tool;
                report.add(metric_path, other_metric(tool, metric));
            }
        }
        (None, _) => {}
    }
}

/// `{arguments}` must not be part of a variant's arguments, which replace it.
fn check_arguments(path: &str, arguments: &[String], may_nest: bool, report: &mut Reporter) {
    for (index, argument) in arguments.iter().enumerate() {
        let nested = argument == template::ARGUMENTS && !may_nest;
        let problem = match template::check(argument) {
            Err(error) => Some(error.to_string()),
            Ok(()) if nested => {
                Some("{arguments} cannot be part of the arguments that replace it".to_owned())
            }
            Ok(()) if argument.contains('\0') => {
                Some("an argument cannot contain a NUL character".to_owned())
            }
            Ok(()) => None,
        };
        if let Some(problem) = problem {
            report.add(format!("{path}[{index}]"), problem);
        }
    }
}

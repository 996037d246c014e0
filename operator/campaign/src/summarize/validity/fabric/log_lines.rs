//! Log lines of a command: those of a measured case's client, and those of both programs in round 0. Performs no I/O.

use std::collections::BTreeMap;

use command_output::log::meaning;
use crds::assignment::Pass;
use crds::record::{CaseResult, CommandLog, CommandProgram, CommandReport, LogLine, LogLineKind};

use super::hosts::hostname;
use super::requested::{Judgement, UsedNames, contradicting_lane, judge, used_names};
use crate::collect::{Case, Reports};
use crate::plan::Plan;

/// Maximum number of warnings about log lines. Further warnings are only counted.
const MAX_WARNINGS: usize = 24;

/// Scenario, size, arm and pair: the key of cases that execute the same command.
type Key = (usize, u64, usize, u32, u32);

fn key(case: &Case) -> Key {
    (
        case.scenario,
        case.size_bytes,
        case.arm,
        case.initiator,
        case.target,
    )
}

/// The logs of the command's executions in round 0 for the scenario, size, arm and pair of `case`.
pub(super) fn logs<'a>(reports: &'a Reports, case: &Case) -> impl Iterator<Item = &'a CommandLog> {
    checks(reports, case).map(|(_, log)| log)
}

/// The cases in round 0 for the scenario, size, arm and pair of `case`, with their logs.
fn checks<'a>(reports: &'a Reports, case: &Case) -> impl Iterator<Item = (&'a Case, &'a CommandLog)> {
    let case_key = key(case);
    let checks = reports
        .cases
        .iter()
        .filter(move |other| other.pass == Pass::Integrity && key(other) == case_key);
    checks.filter_map(|other| Some((other, checked_log(other)?)))
}

/// Log of a case in round 0.
fn checked_log(case: &Case) -> Option<&CommandLog> {
    match &case.outcome {
        CaseResult::Checked(checked) => checked.command.as_ref(),
        CaseResult::Measured(_) | CaseResult::Failed(_) => None,
    }
}

/// Reason if a log line of `case` contradicts the requested path. `report` is the client's report.
pub(super) fn contradiction(
    plan: &Plan,
    reports: &Reports,
    case: &Case,
    report: &CommandReport,
) -> Option<String> {
    let checks: Vec<_> = checks(reports, case).collect();
    let unruled = report.fallbacks.iter().chain(&report.log.fallbacks);
    let unruled = unruled
        .chain(checks.iter().flat_map(|(_, log)| &log.fallbacks))
        .next();
    if let Some(line) = unruled {
        return Some(format!(
            "an earlier runner recorded a report of a different path: {line}"
        ));
    }
    let transport = plan.transport_of(plan.arms.get(case.arm)?);
    let mut logs = checks.iter();
    if let Some(lane) = logs.find_map(|(_, log)| contradicting_lane(&log.lanes, transport)) {
        return Some(format!(
            "the transport of the arm requests RDMA devices, but an earlier runner recorded {lane} in round 0"
        ));
    }
    let own = report.log.lines.iter().map(|line| (case, line));
    let checked = checks
        .iter()
        .flat_map(|(check, log)| log.lines.iter().map(|line| (*check, line)));
    let lines: Vec<(&Case, &LogLine)> = own
        .chain(checked)
        .filter(|(_, line)| line.applies_to(case.size_bytes))
        .collect();
    let used = used_names(lines.iter().map(|(_, line)| *line));
    let mut contradicting = lines
        .iter()
        .filter(|(_, line)| judge(line, transport, &used) == Judgement::Contradicts);
    let (from, line) = contradicting.next()?;
    Some(format!(
        "{} contradicts the requested {} {}",
        origin(reports, from, line),
        transport.library(),
        quote(line)
    ))
}

/// Worker, round, stream and number of a line.
fn origin(reports: &Reports, case: &Case, line: &LogLine) -> String {
    let rank = match line.program {
        Some(CommandProgram::Server) => case.target,
        Some(CommandProgram::Client) | None => case.initiator,
    };
    let program = line.program.map_or("command", CommandProgram::name);
    let stream = line.stream.map_or("output", |stream| stream.name());
    format!(
        "line {} of the {stream} of the {program} on rank {rank} ({}) in round {}",
        line.line,
        hostname(reports, case, rank),
        case.round
    )
}

/// What a line shows, the rule that recognizes it, and its text.
fn quote(line: &LogLine) -> String {
    let rule = line
        .rule
        .as_deref()
        .map_or_else(String::new, |rule| format!("; rule {rule}"));
    format!("({}{rule}): \"{}\"", meaning(line.kind, &line.names), line.text)
}

/// Arm, kind, rule, names and text of a line: the key of lines that have one warning. The text is empty if a rule
/// recognizes the line, because lines with the same rule may differ in numbers.
type WarningKey<'a> = (usize, LogLineKind, &'a str, &'a [String], &'a str);

/// A warning about lines of one arm.
struct LineWarning<'a> {
    key: WarningKey<'a>,
    first: (&'a Case, &'a LogLine),
    lines: u64,
    contradicts: bool,
}

/// Warnings about the log lines of commands: lines that do not agree with the requested path, and lines that make the
/// values doubtful.
pub(in crate::summarize) fn warnings(plan: &Plan, reports: &Reports) -> Vec<String> {
    let warnings = line_warnings(plan, reports);
    let described = warnings.iter().take(MAX_WARNINGS).map(|warning| {
        let (case, line) = warning.first;
        let others = match warning.lines {
            0 | 1 => String::new(),
            lines => format!(", and {} more such lines", lines - 1),
        };
        let contradicts = if warning.contradicts {
            " contradicts the requested path"
        } else {
            ""
        };
        format!(
            "arm \"{}\": {}{others}{contradicts} {}",
            plan.arm_name(warning.key.0),
            origin(reports, case, line),
            quote(line)
        )
    });
    let more = warnings.len().saturating_sub(MAX_WARNINGS);
    let more = (more > 0)
        .then(|| format!("{more} more warnings about log lines of commands are only in the records"));
    described.chain(more).chain(omissions(plan, reports)).collect()
}

fn line_warnings<'a>(plan: &Plan, reports: &'a Reports) -> Vec<LineWarning<'a>> {
    let applying = |case: &Case, log: &'a CommandLog| {
        let size = case.size_bytes;
        log.lines.iter().filter(move |line| line.applies_to(size))
    };
    let mut used_in_checks: BTreeMap<Key, UsedNames<'_>> = BTreeMap::new();
    for (case, log) in all_logs(reports).filter(|(case, _)| case.pass == Pass::Integrity) {
        let used = used_names(applying(case, log));
        used_in_checks.entry(key(case)).or_default().extend(used);
    }
    let mut warnings: Vec<LineWarning<'_>> = Vec::new();
    let mut positions: BTreeMap<WarningKey<'_>, usize> = BTreeMap::new();
    for (case, log) in all_logs(reports) {
        let Some(arm) = plan.arms.get(case.arm) else {
            continue;
        };
        let mut used = used_names(applying(case, log));
        used.extend(used_in_checks.get(&key(case)).into_iter().flatten());
        for line in applying(case, log) {
            let judgement = judge(line, plan.transport_of(arm), &used);
            // The log of a control is the same as that of its variant.
            let is_repeated = arm.control.is_some() && judgement != Judgement::Contradicts;
            if judgement == Judgement::Agrees || is_repeated {
                continue;
            }
            let (rule, text) = match &line.rule {
                Some(rule) => (rule.as_str(), ""),
                None => ("", line.text.as_str()),
            };
            let key = (case.arm, line.kind, rule, line.names.as_slice(), text);
            let position = *positions.entry(key).or_insert_with(|| {
                warnings.push(LineWarning {
                    key,
                    first: (case, line),
                    lines: 0,
                    contradicts: false,
                });
                warnings.len() - 1
            });
            if let Some(warning) = warnings.get_mut(position) {
                warning.lines += 1;
                warning.contradicts |= judgement == Judgement::Contradicts;
            }
        }
    }
    warnings
}

/// Warnings about lines that the records omit, for each arm with the largest numbers of a case.
fn omissions(plan: &Plan, reports: &Reports) -> Vec<String> {
    let mut omitted: BTreeMap<usize, [u64; 2]> = BTreeMap::new();
    for (case, log) in all_logs(reports) {
        let is_unknown = |line: &&LogLine| line.kind == LogLineKind::Unknown;
        let listed = log.lines.iter().filter(is_unknown).count() as u64;
        let [recognized, unknown] = omitted.entry(case.arm).or_default();
        *recognized = (*recognized).max(log.omitted);
        *unknown = (*unknown).max(log.unrecognized.saturating_sub(listed));
    }
    let described = omitted.into_iter().flat_map(|(arm, [recognized, unknown])| {
        let name = plan.arm_name(arm);
        let describe = move |count: u64, what: &str| {
            (count > 0)
                .then(|| format!("arm \"{name}\": the records of a case omit {count} more log lines {what}"))
        };
        let recognized = describe(recognized, "that a rule recognizes");
        let unknown = describe(unknown, "that may report a fallback, and that no rule recognizes");
        recognized.into_iter().chain(unknown).collect::<Vec<_>>()
    });
    described.collect()
}

/// The logs of all cases: of the clients of measured cases, and of both programs in round 0.
fn all_logs(reports: &Reports) -> impl Iterator<Item = (&Case, &CommandLog)> {
    reports.cases.iter().filter_map(|case| {
        let log = match &case.outcome {
            CaseResult::Checked(_) => checked_log(case)?,
            CaseResult::Measured(measured) => &measured.initiator.posted.as_ref()?.command.as_ref()?.log,
            CaseResult::Failed(_) => return None,
        };
        Some((case, log))
    })
}

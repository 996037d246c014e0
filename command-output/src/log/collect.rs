//! Collects the evidence in log lines, up to limits.

use crds::record::{CommandLog, CommandProgram, LogLine, LogLineKind, LogStream};

use super::setting::is_setting;
use super::{Names, glog, rules, ucx};
use crate::lines;

/// Maximum number of stored lines. The logs of two programs fit in one line of a record.
const MAX_LINES: usize = 12;
/// Maximum number of stored lines that no rule recognizes. Further lines are only counted.
const MAX_UNKNOWN: usize = 3;
/// Maximum number of distinct lines. Further lines are ignored, so that a long log does not take much memory.
const MAX_DISTINCT: usize = 1000;
/// Maximum length of a stored text, in bytes.
const MAX_TEXT_BYTES: usize = 200;
/// Maximum number of names of a line.
const MAX_NAMES: usize = 6;
/// Maximum length of a name, in bytes.
const MAX_NAME_BYTES: usize = 32;
/// Maximum length of the part of a line that is read, in bytes.
const MAX_READ_BYTES: usize = 2048;
/// Texts in lines that may report a fallback, in lowercase.
const RESEMBLING: [&str; 24] = [
    "fallback",
    "fall back",
    "falling back",
    "fell back",
    "falls back",
    "not available",
    "unavailable",
    "unsupported",
    "not supported",
    "not support",
    "no support",
    "emulat",
    "disabled",
    "disabling",
    "failed",
    "failure",
    "cannot",
    "can't",
    "unable",
    "could not",
    "couldn't",
    "not found",
    "no device",
    "no such device",
];

/// Evidence in the lines that have been read.
#[derive(Default)]
pub(super) struct Lines {
    lines: Vec<LogLine>,
    omitted: u64,
    unrecognized: u64,
    fallbacks: Vec<String>,
}

impl Lines {
    /// Reads the lines in `text`. `origin` is the program and its stream; `None` for an existing log.
    pub(super) fn read(&mut self, text: &str, origin: Option<(CommandProgram, LogStream)>) {
        for line in lines::Lines::read(text).lines {
            let part = line.text.floor_char_boundary(MAX_READ_BYTES);
            if let Some(mut found) = evidence(&line.text[..part]) {
                found.program = origin.map(|(program, _)| program);
                found.stream = origin.map(|(_, stream)| stream);
                found.line = line.number as u64;
                self.add(found);
            }
        }
    }

    /// Adds the lines of `log`.
    pub(super) fn add_log(&mut self, log: CommandLog) {
        let CommandLog {
            lines,
            omitted,
            unrecognized,
            fallbacks,
            lanes: _,
        } = log;
        let stored_unknown = lines
            .iter()
            .filter(|line| line.kind == LogLineKind::Unknown)
            .count() as u64;
        self.omitted += omitted;
        self.unrecognized += unrecognized.saturating_sub(stored_unknown);
        self.fallbacks.extend(fallbacks);
        for line in lines {
            self.add(line);
        }
    }

    /// Adds a line, unless it repeats a line of the same program.
    fn add(&mut self, line: LogLine) {
        let is_same = |known: &LogLine| is_repetition(known, &line);
        if self.lines.len() < MAX_DISTINCT && !self.lines.iter().any(is_same) {
            self.lines.push(line);
        }
    }

    /// The log within its limits. Each kind of line keeps its first lines, and no kind takes the room of another.
    pub(super) fn finish(self) -> CommandLog {
        let unknown = self
            .lines
            .iter()
            .filter(|line| line.kind == LogLineKind::Unknown)
            .count() as u64;
        // The rank of a line within its kind: with too many lines, the first ones of each kind are retained.
        let mut seen = std::collections::BTreeMap::new();
        let mut ranked: Vec<(usize, usize, LogLine)> = Vec::new();
        for (position, line) in self.lines.into_iter().enumerate() {
            let rank = seen.entry((line.kind, line.program)).or_insert(0_usize);
            ranked.push((*rank, position, line));
            *rank += 1;
        }
        ranked.sort_by_key(|(rank, position, _)| (*rank, *position));
        let mut kept: Vec<(usize, LogLine)> = Vec::new();
        let mut kept_unknown = 0;
        let mut omitted = self.omitted;
        for (_, position, line) in ranked {
            let is_unknown = line.kind == LogLineKind::Unknown;
            if kept.len() < MAX_LINES && (!is_unknown || kept_unknown < MAX_UNKNOWN) {
                kept_unknown += usize::from(is_unknown);
                kept.push((position, line));
            } else {
                omitted += u64::from(!is_unknown);
            }
        }
        kept.sort_by_key(|(position, _)| *position);
        CommandLog {
            lines: kept.into_iter().map(|(_, line)| line).collect(),
            omitted,
            unrecognized: self.unrecognized + unknown,
            fallbacks: self.fallbacks,
            lanes: Vec::new(),
        }
    }
}

/// Whether `line` shows the same as `known`, an earlier line. A library prints the same text for each of its devices and
/// channels.
fn is_repetition(known: &LogLine, line: &LogLine) -> bool {
    let key = |line: &LogLine| (line.program, line.kind, line.from_bytes, line.to_bytes);
    let has_text = matches!(line.kind, LogLineKind::Error | LogLineKind::Unknown);
    let same_text = known.text == line.text || !has_text;
    key(known) == key(line) && known.rule == line.rule && known.names == line.names && same_text
}

/// Whether `line` is evidence, or a rule knows that it is unimportant.
pub(super) fn is_recognized(line: &str) -> bool {
    let part = &line[..line.floor_char_boundary(MAX_READ_BYTES)];
    evidence(part).is_some() || rules::find(part, &part.to_ascii_lowercase()).is_some()
}

/// Evidence in `line`.
fn evidence(line: &str) -> Option<LogLine> {
    let lower = line.to_ascii_lowercase();
    if let Some(row) = ucx::row(line) {
        return Some(LogLine {
            names: row.transports,
            from_bytes: row.from_bytes,
            to_bytes: row.to_bytes,
            ..log_line(line, Some("ucx/protocol"), row.kind)
        });
    }
    if let Some((library, rule, captured)) = rules::find(line, &lower) {
        let mut names = rule.names.read(captured);
        names.truncate(MAX_NAMES);
        names
            .iter_mut()
            .for_each(|name| *name = printable(name, MAX_NAME_BYTES));
        if matches!(rule.names, Names::Lanes) && names.is_empty() {
            return None;
        }
        let name = format!("{library}/{}", rule.name);
        return Some(LogLine {
            names,
            ..log_line(line, Some(&name), rule.kind?)
        });
    }
    let resembles = RESEMBLING.iter().any(|text| lower.contains(text)) && !is_setting(line, &lower);
    if resembles {
        return Some(log_line(line, None, LogLineKind::Unknown));
    }
    // The other libraries mark their warnings with a text, for which their tables have a rule.
    let is_warning = glog::read(line).is_some_and(|found| found.is_warning);
    is_warning.then(|| log_line(line, Some("glog/warning"), LogLineKind::Error))
}

fn log_line(line: &str, rule: Option<&str>, kind: LogLineKind) -> LogLine {
    LogLine {
        rule: rule.map(str::to_owned),
        kind,
        names: Vec::new(),
        from_bytes: None,
        to_bytes: None,
        text: printable(message(line), MAX_TEXT_BYTES),
        program: None,
        stream: None,
        line: 0,
    }
}

/// The part of a line after the prefix with time, host and process, which differs between executions.
fn message(line: &str) -> &str {
    let starts = ["NCCL WARN", "NCCL INFO", "UCX  ", "libfabric:"];
    let start = starts.iter().filter_map(|text| line.find(text)).min();
    if let Some(start) = start {
        let message = &line[start..];
        // libfabric:PID:TIME::PROVIDER:SUBSYSTEM:FUNCTION
        return match message.strip_prefix("libfabric:") {
            Some(rest) => rest.split_once("::").map_or(message, |(_, rest)| rest),
            None => message,
        };
    }
    // UCX prints tables with a prefix.
    if let Some(table) = line.find("| ").filter(|_| line.trim_end().ends_with('|')) {
        return &line[table..];
    }
    glog::read(line).map_or(line, |found| &line[found.file..])
}

/// `text` without surrounding spaces, with spaces instead of control characters, and with at most `max` bytes.
fn printable(text: &str, max: usize) -> String {
    let clean: String = text.trim().chars().map(crate::printable).collect();
    match clean.len() <= max {
        true => clean,
        false => format!("{}…", &clean[..clean.floor_char_boundary(max)]),
    }
}

#[cfg(test)]
mod tests;

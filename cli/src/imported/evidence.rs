//! Log lines of an imported log that name the data path, or that make the values doubtful. Performs no I/O.
//!
//! It is unknown which path the user requested. A line that names kernel sockets is therefore a warning: if the user
//! requested another path, the values do not show it.

use command_output::log::{PathClass, class_of, meaning};
use crds::record::{CommandLog, LogLine, LogLineKind};

use super::StoredLog;

/// Lines that name the data path.
pub(super) fn paths(stored: &StoredLog, log: &CommandLog) -> impl Iterator<Item = String> {
    let lines = log.lines.iter().filter(|line| line.kind == LogLineKind::Path);
    lines.map(|line| format!("{} ({}): {}", stored.variant, place(stored, line), line.text))
}

/// Warnings about lines that name kernel sockets, and about all lines that do not name the data path.
pub(super) fn warnings(stored: &StoredLog, log: &CommandLog) -> Vec<String> {
    let variant = &stored.variant;
    let is_doubtful = |line: &&LogLine| line.kind != LogLineKind::Path || names_sockets(line);
    let lines = log.lines.iter().filter(is_doubtful).map(|line| {
        let shown = match line.kind {
            LogLineKind::Path | LogLineKind::Emulation if names_sockets(line) => {
                format!("{}, which are kernel sockets", meaning(line.kind, &line.names))
            }
            kind => meaning(kind, &line.names),
        };
        let rule = line
            .rule
            .as_deref()
            .map_or_else(String::new, |rule| format!("; rule {rule}"));
        format!(
            "{variant}: {} ({shown}{rule}): {}",
            place(stored, line),
            line.text
        )
    });
    let unlisted = log
        .lines
        .iter()
        .filter(|line| line.kind == LogLineKind::Unknown)
        .count() as u64;
    let unlisted = log.unrecognized.saturating_sub(unlisted);
    let more = [
        (log.omitted, "that a rule recognizes"),
        (
            unlisted,
            "that may report a fallback, and that no rule recognizes",
        ),
    ];
    let more = more
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| {
            format!(
                "{variant}: {} contains {count} more log lines {what}",
                stored.source
            )
        });
    lines.chain(more).collect()
}

/// File and line number.
fn place(stored: &StoredLog, line: &LogLine) -> String {
    format!("{}, line {}", stored.source, line.line)
}

fn names_sockets(line: &LogLine) -> bool {
    line.names.iter().any(|name| class_of(name) == PathClass::Sockets)
}

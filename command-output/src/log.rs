//! Finds evidence in the lines that a tool and its libraries print: which path the data used, what was refused, and
//! what makes the printed values doubtful.
//!
//! A line is evidence only if a rule recognizes it ([`rules`]). A line that merely resembles a report of a fallback is
//! evidence of an unknown kind. A line that prints a setting is not evidence.

mod class;
mod collect;
pub(crate) mod glog;
mod pattern;
mod rule;
mod rules;
mod setting;
mod ucx;

use crds::record::{CommandLog, CommandProgram, LogLineKind, LogStream};
use crds::v1alpha1::CommandTool;

pub use class::{PathClass, class_of};
pub use rule::{Names, Rule};
pub use rules::{RuleTable, TABLES};

use collect::Lines;

/// Environment variables that make the library of `tool` log its data path.
pub fn variables(tool: CommandTool) -> &'static [(&'static str, &'static str)] {
    match tool {
        CommandTool::UcxPerftest | CommandTool::Nixlbench => &[("UCX_LOG_LEVEL", "info")],
        CommandTool::NcclTests => &[("NCCL_DEBUG", "INFO"), ("NCCL_DEBUG_SUBSYS", "INIT,NET")],
        CommandTool::Perftest
        | CommandTool::Fabtests
        | CommandTool::TransferEngineBench
        | CommandTool::Regex => &[],
    }
}

/// Whether the library of `tool` logs its data path if [`variables`] are set.
pub fn is_read(tool: CommandTool) -> bool {
    !variables(tool).is_empty()
}

/// Reads the log lines in an existing log.
pub fn read(log: &str) -> CommandLog {
    let mut lines = Lines::default();
    lines.read(log, None);
    lines.finish()
}

/// Reads the log lines that `program` printed to its two streams.
pub fn read_streams(program: CommandProgram, stdout: &str, stderr: &str) -> CommandLog {
    let mut lines = Lines::default();
    lines.read(stdout, Some((program, LogStream::Stdout)));
    lines.read(stderr, Some((program, LogStream::Stderr)));
    lines.finish()
}

/// Whether `line`, without the prefixes of launchers, is a log line that [`read`] reports or knows to be unimportant.
pub fn is_recognized(line: &str) -> bool {
    collect::is_recognized(line)
}

/// Combines the logs of several programs, and applies the limits again.
pub fn combine(first: CommandLog, second: CommandLog) -> CommandLog {
    let mut lines = Lines::default();
    lines.add_log(first);
    lines.add_log(second);
    lines.finish()
}

/// Describes what a line of this kind shows. `names` are the names in the line.
pub fn meaning(kind: LogLineKind, names: &[String]) -> String {
    let named = |text: &str| match names {
        [] => text.to_owned(),
        names => format!("{text}: {}", names.join(", ")),
    };
    match kind {
        LogLineKind::Path => named("the data path"),
        LogLineKind::Refusal => named("not available or refused"),
        LogLineKind::Emulation => named("emulated in software"),
        LogLineKind::Staging => "no direct access to GPU memory".to_owned(),
        LogLineKind::Time => "the printed times may be wrong".to_owned(),
        LogLineKind::Error => "an error or a warning".to_owned(),
        LogLineKind::Unknown => "a possible fallback that no rule recognizes".to_owned(),
    }
}

//! Problems of commands.

use crds::units::Size;
use crds::v1alpha1::{CommandTool, Metric};
use snafu::Snafu;

/// Cause and fix of a problem.
#[derive(Clone, Debug, PartialEq, Snafu)]
pub enum CommandProblem {
    /// The metric of a command is missing, or is neither `ReportedLatency` nor `ReportedBandwidth`.
    #[snafu(display(
        "a command has only the metrics that its tool reports. Use ReportedLatency or ReportedBandwidth"
    ))]
    NoMetricOfCommand,
    /// The tool does not report the metric.
    #[snafu(display("the output of {tool:?} contains no {metric}. Use the other reported metric"))]
    MetricOfTool {
        /// The tool.
        tool: CommandTool,
        /// The metric.
        metric: Metric,
    },
    /// A variant's arguments are not used.
    #[snafu(display(
        "no command contains {{arguments}}, the placeholder that these arguments replace. Add it to `server` or \
         `client`, or remove `arguments`"
    ))]
    ArgumentsWithoutCommand,
    /// An argument of a command is invalid, for example because of an unknown placeholder.
    #[snafu(display("{problem}"))]
    Placeholder {
        /// Cause and fix.
        problem: String,
    },
    /// A command's program contains a placeholder.
    #[snafu(display(
        "the program must be a name or a path without placeholders, so that all arms run the same program"
    ))]
    CommandProgramPlaceholder,
    /// A command has several sizes, but no placeholder for the size.
    #[snafu(display(
        "each size is measured in a separate run, so the client must contain {{size}}. Add it, or use one size"
    ))]
    SizesWithoutPlaceholder,
    /// The tool prints two sizes alike.
    #[snafu(display(
        "{tool:?} prints {} and {} bytes alike, as `{text}`, so their results cannot be distinguished. Remove one of them, \
         or measure them in separate scenarios", first.bytes(), second.bytes()
    ))]
    SizesPrintedAlike {
        /// Tool that prints the sizes.
        tool: CommandTool,
        /// First size.
        first: Size,
        /// Second size.
        second: Size,
        /// Text that the tool prints for both.
        text: String,
    },
    /// A command has a pattern for server readiness, but no server.
    #[snafu(display("there is no server. Remove `ready`, or set `server`"))]
    ReadyWithoutServer,
    /// Server readiness cannot be observed.
    #[snafu(display(
        "the client is started when the server is ready, so the server must listen on {{port}} or print a line. Add \
         {{port}} to `server`, or set `ready`"
    ))]
    NoReadiness,
    /// A regular expression of a command is invalid.
    #[snafu(display("{problem}"))]
    CommandPattern {
        /// Cause and fix.
        problem: String,
    },
    /// The `Regex` tool has no pattern.
    #[snafu(display("`tool: Regex` requires a pattern that matches the lines with results"))]
    RegexWithoutPattern,
    /// A pattern is given for a tool whose output is known.
    #[snafu(display("the output of {tool:?} is known. Remove `pattern`, or use `tool: Regex`"))]
    PatternWithoutRegex {
        /// The tool.
        tool: CommandTool,
    },
    /// A command scenario sets a memory kind, which has no effect on the command.
    #[snafu(display("a command allocates its own memory. Use `memory: Heap`, or remove `memory`"))]
    CommandMemory,
}

//! Reads the log of a tool that was run without fabricbench. The results become values of a report, so reading fails if
//! the log may be incomplete, contains several runs, or was written by another tool.

use crds::record::CommandLog;
use crds::v1alpha1::{CommandPattern, CommandTool};
use snafu::{ResultExt, Snafu, ensure};

use crate::found::{Setting, UnknownLines, shown};
use crate::lines::Lines;
use crate::{OutputOrigin, ParseError, Row, complete, find, has_marker, log};

/// Maximum length of a log, in bytes. A log may contain the log lines of a library on many nodes.
pub const MAX_LOG_BYTES: usize = 16 << 20;

/// Results of one run of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    /// Results, each for a different size.
    pub rows: Vec<Row>,
    /// Name of the test, such as `RDMA_Write BW Test`; `None` if the tool does not print it.
    pub test: Option<String>,
    /// Settings that the tool printed.
    pub settings: Vec<Setting>,
    /// How often the process measured each size.
    pub cycles: usize,
    /// Contradictions in the log that do not affect the results.
    pub notes: Vec<String>,
    /// Lines that were neither used nor are known to be unimportant.
    pub unknown: UnknownLines,
    /// Log lines that are evidence of the data path, or make the values doubtful.
    pub evidence: CommandLog,
}

/// Reason that a log cannot be imported, with a fix.
#[derive(Clone, Debug, PartialEq, Eq, Snafu)]
pub enum ImportError {
    /// The log is empty.
    #[snafu(display("the file is empty. Specify the file to which the output of the tool was written"))]
    Empty,
    /// The log is too long.
    #[snafu(display(
        "the file is longer than {} MiB. Remove the log lines of libraries, and keep the header, the results and all \
         lines after the results",
        MAX_LOG_BYTES >> 20
    ))]
    TooLong,
    /// The log is not text.
    #[snafu(display(
        "the file is not text: byte {offset} is not UTF-8, or is 0. Specify the output of the tool; decompress it, or \
         convert it to UTF-8 if necessary"
    ))]
    NotText {
        /// Position of the first byte that is 0 or not UTF-8.
        offset: usize,
    },
    /// The last line is incomplete: it does not end with a line break.
    #[snafu(display(
        "the file ends within the line `{line}`, so values may be cut off. Specify the complete log; if this line is \
         complete, end it with a line break"
    ))]
    CutLine {
        /// The last line.
        line: String,
    },
    /// Another tool wrote the log.
    #[snafu(display("the log was written by {actual:?}, not by {tool:?}. Specify --tool {actual:?}"))]
    OtherTool {
        /// Tool that was specified.
        tool: CommandTool,
        /// Tool whose results the log contains.
        actual: CommandTool,
    },
    /// The log contains the results of several tools.
    #[snafu(display(
        "the log contains results of {tool:?} and of {other:?}. Write the output of each run to a separate file"
    ))]
    SeveralTools {
        /// Tool that was specified.
        tool: CommandTool,
        /// Another tool.
        other: CommandTool,
    },
    /// The log has no usable result.
    #[snafu(display("{}", source.explained(OutputOrigin::Log)))]
    Parse {
        /// Parser error.
        source: ParseError,
    },
    /// Every value is 0.
    #[snafu(display(
        "every value is 0: the true values are below the resolution of the tool. Repeat the run with a larger \
         size or more iterations"
    ))]
    NoValue,
}

/// Reads the log of one run of `tool`. `pattern` is the pattern for the `Regex` tool.
///
/// # Errors
/// Returns an error if the log does not come from exactly one complete run of `tool`, or contains no result.
pub fn read(tool: CommandTool, pattern: Option<&CommandPattern>, bytes: &[u8]) -> Result<Log, ImportError> {
    ensure!(bytes.len() <= MAX_LOG_BYTES, TooLongSnafu);
    let text = text(bytes)?;
    let lines = Lines::read(text);
    let others = other_tools(tool, text, &lines);
    let found =
        find(tool, pattern, text, &lines).map_err(|source| match (others.first().copied(), source) {
            (Some(actual), ParseError::NoResult { .. } | ParseError::OnlyHeader { .. }) => {
                ImportError::OtherTool { tool, actual }
            }
            // The parser found output of its own tool, and failed on the output of the other tool.
            (Some(other), _) => ImportError::SeveralTools { tool, other },
            (None, source) => ImportError::Parse { source },
        })?;
    if let Some(other) = others.first().copied() {
        return SeveralToolsSnafu { tool, other }.fail();
    }
    complete::check(tool, &found).context(ParseSnafu)?;
    let has_value = |row: &Row| row.latency_nanos().is_some() || row.bytes_per_second().is_some();
    ensure!(found.rows.iter().any(has_value), NoValueSnafu);
    Ok(Log {
        rows: found.rows,
        test: found.tests.into_iter().next(),
        settings: found.settings,
        cycles: found.cycles.max(1),
        notes: found.notes,
        unknown: found.unknown,
        evidence: log::read(text),
    })
}

/// Name of the program that wrote the log, if `tool` prints it in every log, and with it in a log whose results cannot be
/// read. `None` if the log does not contain it.
pub fn program(tool: CommandTool, bytes: &[u8]) -> Option<String> {
    let text = text(bytes).ok()?;
    let lines = Lines::read(text).lines;
    let mut texts = lines.iter().map(|line| line.text.trim());
    let name = match tool {
        CommandTool::NcclTests => texts.find_map(|text| text.strip_prefix("# Collective test starting: "))?,
        CommandTool::Fabtests => {
            texts.find(|text| *text == "---")?;
            let words = texts.next()?.strip_suffix(':')?;
            words.split_whitespace().next()?.rsplit('/').next()?
        }
        _ => return None,
    };
    Some(shown(name))
}

/// Returns the log as text that ends with a line break.
fn text(bytes: &[u8]) -> Result<&str, ImportError> {
    let zero = bytes.iter().position(|byte| *byte == 0);
    let text = match (std::str::from_utf8(bytes), zero) {
        (Ok(text), None) => text,
        (Ok(_), Some(offset)) => return NotTextSnafu { offset }.fail(),
        (Err(error), zero) => {
            let offset = error.valid_up_to();
            let offset = zero.map_or(offset, |zero| zero.min(offset));
            return NotTextSnafu { offset }.fail();
        }
    };
    ensure!(!text.trim().is_empty(), EmptySnafu);
    if !text.ends_with('\n') {
        let line = shown(text.lines().last().unwrap_or_default());
        return CutLineSnafu { line }.fail();
    }
    Ok(text)
}

/// Other tools whose results `text` contains. Any line can be a result of the `Regex` tool, so `Regex` is not
/// considered.
fn other_tools(tool: CommandTool, text: &str, lines: &Lines<'_>) -> Vec<CommandTool> {
    let others = CommandTool::ALL
        .into_iter()
        .filter(|other| *other != tool && tool != CommandTool::Regex && *other != CommandTool::Regex);
    // Only an output with the marker of a tool can contain its results, so its parser need not read the other ones.
    others
        .filter(|other| has_marker(*other, lines) && find(*other, None, text, lines).is_ok())
        .collect()
}

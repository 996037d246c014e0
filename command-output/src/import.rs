//! Reads the log of a tool that was run without fabricbench. The results become values of a report, so reading fails if
//! the log may be incomplete, contains several runs, or was written by another tool.

use crds::record::CommandLog;
use crds::v1alpha1::{CommandPattern, CommandTool};
use snafu::{Snafu, ensure};

use crate::found::ParsedOutput;
use crate::{ParseError, Row, end_of, find, log};

/// Maximum length of a log, in bytes. A log may contain the log lines of a library on many nodes.
pub const MAX_LOG_BYTES: usize = 16 << 20;
/// Maximum length of a line in an error, in characters.
const MAX_CHARACTERS: usize = 200;

/// Results of one run of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    /// Results, each for a different size.
    pub rows: Vec<Row>,
    /// Name of the test, such as `RDMA_Write BW Test`; `None` if the tool does not print it.
    pub test: Option<String>,
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
    #[snafu(display("{source}"))]
    Parse {
        /// Parser error.
        source: ParseError,
    },
    /// There is a header but no result.
    #[snafu(display(
        "the log has the header of a table but no result of {tool:?}, so it is incomplete or the tool failed; it \
         ends with: {last}. Specify the complete log of a successful run"
    ))]
    OnlyHeader {
        /// Tool that was specified.
        tool: CommandTool,
        /// End of the log.
        last: String,
    },
    /// A line of a table has different columns than its header.
    #[snafu(display(
        "the line `{line}` starts like a result, but its columns differ from those of the header. Specify the \
         complete log of one process; lines of several processes must not be mixed"
    ))]
    OtherColumns {
        /// The line.
        line: String,
    },
    /// The tables have different columns or units.
    #[snafu(display(
        "the tables in the log have different columns or units: `{first}` and `{second}`. Write the output of each \
         run to a separate file"
    ))]
    SeveralTables {
        /// First header.
        first: String,
        /// Second header.
        second: String,
    },
    /// The end of the log is missing.
    #[snafu(display(
        "the log is incomplete: {expected} does not follow the last result. Specify the complete log of a run \
         that completed"
    ))]
    NoEnd {
        /// Text that the tool prints after its results.
        expected: &'static str,
    },
    /// Several results have the same size.
    #[snafu(display(
        "the log has several results {size}, so it contains several runs. Write the output of each run \
         to a separate file, and specify all of these files"
    ))]
    Repeated {
        /// Description of the size.
        size: String,
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
    let others = other_tools(tool, text);
    let found = find(tool, pattern, text).map_err(|source| match (others.first().copied(), source) {
        (Some(actual), ParseError::NoResult { .. }) => ImportError::OtherTool { tool, actual },
        // The parser found output of its own tool, and failed on the output of the other tool.
        (Some(other), _) => ImportError::SeveralTools { tool, other },
        (None, source) => no_result(tool, text, source),
    })?;
    if let Some(other) = others.first().copied() {
        return SeveralToolsSnafu { tool, other }.fail();
    }
    check(tool, &found)?;
    Ok(Log {
        rows: found.rows,
        test: test_name(tool, text),
        evidence: log::read(text),
    })
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
        let line = clip(text.lines().last().unwrap_or_default());
        return CutLineSnafu { line }.fail();
    }
    Ok(text)
}

/// Other tools whose results `text` contains. Any line can be a result of the `Regex` tool, so `Regex` is not
/// considered.
fn other_tools(tool: CommandTool, text: &str) -> Vec<CommandTool> {
    let others = CommandTool::ALL
        .into_iter()
        .filter(|other| *other != tool && tool != CommandTool::Regex && *other != CommandTool::Regex);
    others.filter(|other| find(*other, None, text).is_ok()).collect()
}

/// Returns the error for a log without results.
fn no_result(tool: CommandTool, text: &str, source: ParseError) -> ImportError {
    match source {
        ParseError::NoResult { .. } if has_header(tool, text) => ImportError::OnlyHeader {
            tool,
            last: end_of(text),
        },
        source => ImportError::Parse { source },
    }
}

/// Whether `text` contains a table header of `tool`.
fn has_header(tool: CommandTool, text: &str) -> bool {
    let marker = match tool {
        CommandTool::NcclTests => "busbw",
        CommandTool::Perftest => "#bytes",
        CommandTool::Fabtests => "usec/xfer",
        CommandTool::UcxPerftest => "(usec)",
        CommandTool::Nixlbench => "Block Size (B)",
        CommandTool::TransferEngineBench | CommandTool::Regex => return false,
    };
    text.lines().any(|line| line.contains(marker))
}

fn check(tool: CommandTool, found: &ParsedOutput) -> Result<(), ImportError> {
    if let [first, second, ..] = found.headers.as_slice() {
        let (first, second) = (clip(first), clip(second));
        return SeveralTablesSnafu { first, second }.fail();
    }
    if let Some(line) = &found.unread {
        let line = clip(line);
        return OtherColumnsSnafu { line }.fail();
    }
    check_unique_sizes(&found.rows)?;
    let expected = match tool {
        CommandTool::NcclTests => "the line `# Avg bus bandwidth`",
        CommandTool::Perftest => "a line of hyphens",
        _ => "the end of the output",
    };
    ensure!(found.has_end != Some(false), NoEndSnafu { expected });
    let has_value = |row: &Row| row.latency_nanos().is_some() || row.bytes_per_second().is_some();
    ensure!(found.rows.iter().any(has_value), NoValueSnafu);
    Ok(())
}

/// Fails if two results have the same size.
fn check_unique_sizes(rows: &[Row]) -> Result<(), ImportError> {
    let mut sizes: Vec<Option<u64>> = rows.iter().map(|row| row.size.map(|size| size.bytes)).collect();
    sizes.sort_unstable();
    let pair = sizes.windows(2).find(|pair| pair.first() == pair.last());
    let size = match pair.and_then(|pair| pair.first()) {
        None => return Ok(()),
        Some(Some(bytes)) => format!("of {bytes} bytes"),
        Some(None) => "without a size".to_owned(),
    };
    RepeatedSnafu { size }.fail()
}

/// Finds the name of the test, which perftest prints above its settings.
fn test_name(tool: CommandTool, text: &str) -> Option<String> {
    let mut lines = text.lines().map(str::trim);
    let title = lines.find(|line| line.ends_with(" Test") && !line.contains(':'));
    title
        .filter(|_| tool == CommandTool::Perftest)
        .map(|title| clip(title).split_whitespace().collect::<Vec<_>>().join(" "))
}

fn clip(line: &str) -> String {
    let characters = line.trim().chars().map(crate::printable);
    characters.take(MAX_CHARACTERS).collect()
}

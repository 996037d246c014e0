//! Standard output and standard error of the commands, which may be a terminal. All text passes through here, because
//! text from files, records, logs and other machines may contain characters that a terminal obeys. Performs I/O.

use std::io::{self, IsTerminal, Write};

use crds::printable::{printable, printable_json, printable_on_one_line, printable_with_styles};
use serde::Serialize;

/// Writes `text` to standard output. Hidden characters are escaped, apart from line feeds and tabs.
///
/// # Errors
/// Returns an error if standard output cannot be written.
pub fn print(text: &str) -> io::Result<()> {
    write_output(&printable(text))
}

/// Writes a report to standard output, like [`print`], but keeps its styles. The values in the report are printable already.
///
/// # Errors
/// Returns an error if standard output cannot be written.
pub fn print_styled(report: &str) -> io::Result<()> {
    write_output(&printable_with_styles(report))
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the place that they are reserved for"
)]
fn write_output(printable: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(printable.as_bytes())?;
    out.flush()
}

/// Writes `value` to standard output as indented JSON with a final line feed.
///
/// # Errors
/// Returns an error if `value` cannot be serialized, or standard output cannot be written.
pub fn print_json(value: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    print(&format!("{}\n", printable_json(&text)))
}

/// Writes a line to standard error. A failed write is ignored: it cannot be reported, and must not stop a measurement.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the place that they are reserved for"
)]
pub fn print_error(line: &str) {
    let _ = writeln!(io::stderr(), "{}", printable(line));
}

/// Whether standard input and standard output are a terminal, so that a user can answer questions.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the place that they are reserved for"
)]
pub fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Whether standard error is a terminal.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the place that they are reserved for"
)]
pub fn is_error_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Writer of log lines to standard error. The values of their fields may quote anything.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LogWriter {
    /// Lines of text.
    Text,
    /// Lines that are JSON objects.
    Json,
}

impl Write for LogWriter {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the place that they are reserved for"
    )]
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let printable = match self {
            Self::Text => format!("{}\n", printable_on_one_line(text.trim_end())),
            Self::Json => printable_json(&text).into_owned(),
        };
        io::stderr().write_all(printable.as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

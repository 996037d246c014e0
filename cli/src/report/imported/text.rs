//! Text report of an imported run.

use comfy_table::{ContentArrangement, LineStyle, TableStyle};
use crds::printable::printable;

use crate::imported::{ImportedRun, NOT_CONTROLLED};
use crate::report::text::{MIN_WIDTH, TextOptions, push_line, push_wrapped};

/// Table style with only a line under the header.
pub(super) const PLAIN: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));
/// Maximum number of logs listed. The JSON report lists all of them.
const MAX_SOURCES: usize = 20;

/// Renders the report as text with a final newline.
pub fn render(run: &ImportedRun, options: &TextOptions<'_>) -> String {
    let width = options.width.max(MIN_WIDTH);
    let mut text = String::new();
    let name = format!("{}   ", run.manifest.name);
    push_wrapped(&mut text, &name, &super::title(run), width);
    let state = {
        let status = run.manifest.status;
        format!("{:?}, {:?}: {NOT_CONTROLLED}", status.state, status.reason)
    };
    push_line(&mut text, "state", &state, width);
    push_line(&mut text, "fabric", "unknown: no byte counters were read", width);
    push_line(&mut text, "noise", "unknown: there is no control arm", width);
    push_line(&mut text, "verdict", "none: not controlled", width);
    for table in super::tables(run) {
        text.push('\n');
        push_line(&mut text, "values", &table.title, width);
        text.push_str(&lines(&table.columns, &table.rows, width));
    }
    text.push('\n');
    for line in &run.reported {
        push_line(&mut text, "reported", line, width);
    }
    let sources = super::log_lines(run);
    for line in sources.iter().take(MAX_SOURCES) {
        push_line(&mut text, "log", line, width);
    }
    if let Some(more) = sources.len().checked_sub(MAX_SOURCES).filter(|more| *more > 0) {
        push_line(
            &mut text,
            "log",
            &format!("{more} more in the JSON report"),
            width,
        );
    }
    for warning in &run.warnings {
        push_line(&mut text, "warning", warning, width);
    }
    if let Some(path) = options.full_report {
        push_line(&mut text, "report", path, width);
    }
    printable(&text).into_owned()
}

/// Formats a table as indented lines.
pub(super) fn lines(columns: &[String], rows: &[Vec<String>], width: u16) -> String {
    let mut table = comfy_table::Table::new();
    table
        .load_style(PLAIN)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width.saturating_sub(2))
        .force_no_tty()
        .set_header(columns);
    for row in rows {
        table.add_row(row);
    }
    let lines = table.lines().map(|line| format!("  {}\n", line.trim_end()));
    lines.collect()
}

//! Output formats, and the options of text output.

use clap::ValueEnum;
use console::Term;

use crate::report::text::TextOptions;

/// Output format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ReportFormat {
    /// Human-readable text for a terminal.
    Text,
    /// JSON with all values.
    Json,
    /// CSV with one row per scenario, size, arm and metric.
    Csv,
    /// Self-contained HTML page.
    Html,
    /// OpenMetrics text with the metrics that the operator serves for the run.
    Openmetrics,
    /// Markdown for a comment on a pull request.
    Markdown,
    /// JUnit XML with a test for each expectation, each variant, and each call and memory test.
    Junit,
}

/// Output format of a comparison.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum ComparisonFormat {
    /// Human-readable text.
    Text,
    /// JSON.
    Json,
}

/// Output format of a plan.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum PlanFormat {
    /// Human-readable text.
    Text,
    /// JSON with every block.
    Json,
}

/// Returns the text options for this terminal: its width and colors. Output to a file or a pipe has no colors and a
/// fixed width. `NO_COLOR` is respected.
pub(super) fn text_options(to_file: bool) -> TextOptions<'static> {
    let terminal = Term::stdout();
    let default = TextOptions::default();
    match terminal.is_term() && !to_file {
        true => TextOptions {
            width: terminal
                .size_checked()
                .map_or(default.width, |(_, columns)| columns),
            color: console::colors_enabled(),
            ..default
        },
        false => default,
    }
}

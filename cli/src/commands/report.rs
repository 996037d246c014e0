//! `fabricbench report`: reports of a run, computed from its records.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use console::Term;

use super::imported;
use super::source::Source;
use super::state_summary::state_summary;
use super::stored::StoredRun;
use super::{Exit, Failure};
use crate::report::text::TextOptions;
use crate::report::{self, csv, html, json, junit, markdown, openmetrics, text};

/// Show the report of a run, computed from its records or, if it is imported, from its logs.
#[derive(Debug, Args)]
#[command(after_help = "Example: fabricbench report results/demo-tcp --format html --output report.html")]
pub(super) struct Report {
    /// Output directory of the run, or NAMESPACE/NAME of a run in the current kubeconfig context.
    #[arg(value_name = "RUN")]
    source: Source,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Output file. Defaults to standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
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
    /// JUnit XML with one test per expectation.
    Junit,
}

impl Report {
    pub(super) fn execute(self) -> Result<Exit, Failure> {
        if let Some(run) = imported::load(&self.source)? {
            let rendered = imported::render(&run, self.format, self.output.is_some())?;
            write(self.output.as_deref(), &rendered)?;
            return Ok(Exit::Untrusted);
        }
        let stored = StoredRun::load(&self.source)?;
        let summary = state_summary(&stored.run);
        let report = report::Report {
            plan: &stored.plan,
            evaluation: &stored.evaluation,
        };
        let rendered = match self.format {
            Format::Text => {
                let options = TextOptions {
                    state_summary: summary.as_deref(),
                    ..text_options(self.output.is_some())
                };
                text::render(&report, &options)
            }
            Format::Json => json::render(&report).map_err(Failure::incomplete)?,
            Format::Csv => csv::render(&report).map_err(Failure::incomplete)?,
            Format::Html => html::render(&report).map_err(Failure::incomplete)?,
            Format::Openmetrics => openmetrics::render(&stored.run, &report).map_err(Failure::incomplete)?,
            Format::Markdown => markdown::render(&report),
            Format::Junit => junit::render(&report).map_err(Failure::incomplete)?,
        };
        write(self.output.as_deref(), &rendered)?;
        match stored.integrity_warning {
            Some(warning) => Err(Failure::incomplete(warning)),
            None => Ok(stored.evaluation.outcome().into()),
        }
    }
}

/// Writes a report to `file`, or to standard output.
fn write(file: Option<&Path>, rendered: &str) -> Result<(), Failure> {
    match file {
        Some(file) => fs::write(file, rendered)
            .map_err(|error| Failure::incomplete(format!("{}: {error}", file.display()))),
        None => Ok(std::io::stdout().lock().write_all(rendered.as_bytes())?),
    }
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

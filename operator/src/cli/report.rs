//! `fabricbench report`: everything again from the records of a finished run.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use console::Term;

use super::source::Source;
use super::standing::standing;
use super::stored::StoredRun;
use super::{Exit, Failure};
use crate::report::text::TextOptions;
use crate::report::{self, csv, html, json, junit, markdown, openmetrics, text};

/// Show what a finished run says, computed anew from its records.
#[derive(Debug, Args)]
#[command(after_help = "Example: fabricbench report results/demo-tcp --format html --output report.html")]
pub(super) struct Report {
    /// Output folder of the run, or NAMESPACE/NAME of a run in the cluster of KUBECONFIG.
    #[arg(value_name = "RUN")]
    source: Source,
    /// How it is shown.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// File to write instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people at a terminal.
    Text,
    /// Everything, for programs.
    Json,
    /// A row for each scenario, size, arm and metric.
    Csv,
    /// For people at a browser: one file.
    Html,
    /// The metrics that an operator serves of the run, for Prometheus and what reads its formats.
    Openmetrics,
    /// For a comment on a change.
    Markdown,
    /// For what gates a change: a test for each expectation.
    Junit,
}

impl Report {
    pub(super) fn execute(self) -> Result<Exit, Failure> {
        let stored = StoredRun::load(&self.source)?;
        let standing = standing(&stored.run);
        let report = report::Report {
            plan: &stored.plan,
            plan_hash: &stored.plan_hash,
            evaluation: &stored.evaluation,
        };
        let rendered = match self.format {
            Format::Text => {
                let options = TextOptions {
                    state_summary: standing.as_deref(),
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
        match self.output {
            Some(file) => fs::write(&file, rendered)
                .map_err(|error| Failure::incomplete(format!("{}: {error}", file.display())))?,
            None => std::io::stdout().lock().write_all(rendered.as_bytes())?,
        }
        match stored.doubt {
            Some(doubt) => Err(Failure::incomplete(doubt)),
            None => Ok(stored.evaluation.overall().into()),
        }
    }
}

/// Width and colours of this terminal; plain text of a fixed width for a file or a pipe. `NO_COLOR` is respected.
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

//! Registry of the report formats. A new format is a row of [`Format::ALL`] and a file that renders a document.

use clap::ValueEnum;
use clap::builder::PossibleValue;
use snafu::Snafu;

use super::document::Document;
use super::text::TextOptions;
use super::{html, junit, markdown, text};

/// Something that is reported.
pub trait Subject {
    /// Creates the document, which most formats render.
    fn document(&self) -> Document;

    /// Renders JSON with a final newline.
    ///
    /// # Errors
    /// Returns an error if serialization fails, which does not happen when writing to memory.
    fn json(&self) -> Result<String, RenderError>;

    /// Renders CSV with a header row.
    ///
    /// # Errors
    /// Returns an error if there is no such report of the subject, or the writer fails.
    fn csv(&self) -> Result<String, RenderError>;

    /// Renders OpenMetrics text.
    ///
    /// # Errors
    /// Returns an error if there is no such report of the subject, or formatting fails.
    fn openmetrics(&self) -> Result<String, RenderError>;
}

/// Error rendering a report.
#[derive(Debug, Snafu)]
pub enum RenderError {
    /// The subject has no report in the format.
    #[snafu(display("{reason}. Use another --format"))]
    NoSuchReport {
        /// Why there is none.
        reason: &'static str,
    },
    /// A writer failed.
    #[snafu(display("cannot render the report: {reason}"))]
    Failed {
        /// Error of the writer.
        reason: String,
    },
}

impl RenderError {
    /// There is no CSV of a comparison.
    pub(super) const CSV_OF_COMPARISON: Self = Self::NoSuchReport {
        reason: "a comparison of two runs has no CSV report",
    };
    /// There are no metrics of a comparison.
    pub(super) const METRICS_OF_COMPARISON: Self = Self::NoSuchReport {
        reason: "a comparison of two runs has no metrics",
    };

    /// A writer failed.
    pub(super) fn failed(error: impl std::error::Error) -> Self {
        Self::Failed {
            reason: error.to_string(),
        }
    }
}

/// Renders a subject. Only text has options.
type Render = fn(&dyn Subject, &TextOptions<'_>) -> Result<String, RenderError>;

/// A report format.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    name: &'static str,
    help: &'static str,
    extensions: &'static [&'static str],
    omission: Option<&'static str>,
    render: Render,
}

/// Why text and Markdown do not contain every quantity.
const SUMMARY: &str = "it shows the values that a reader compares; JSON, CSV and HTML contain every quantity";

impl Format {
    /// Text for a terminal.
    pub const TEXT: Self = Self::ALL[0];

    /// All formats.
    const ALL: &'static [Self] = &[
        Self {
            name: "text",
            help: "Human-readable text for a terminal",
            // Special files such as /dev/stdout have no extension.
            extensions: &["txt", "text", "log", ""],
            omission: Some(SUMMARY),
            render: |subject, options| Ok(text::render(&subject.document(), options)),
        },
        Self {
            name: "json",
            help: "JSON with all values",
            extensions: &["json"],
            omission: None,
            render: |subject, _| subject.json(),
        },
        Self {
            name: "csv",
            help: "CSV with one row per scenario, size, arm and metric",
            extensions: &["csv"],
            omission: None,
            render: |subject, _| subject.csv(),
        },
        Self {
            name: "html",
            help: "Self-contained HTML page",
            extensions: &["html", "htm"],
            omission: None,
            render: |subject, _| Ok(html::render(&subject.document())),
        },
        Self {
            name: "openmetrics",
            help: "OpenMetrics text with the metrics that the operator serves for the run",
            extensions: &["prom", "om"],
            omission: None,
            render: |subject, _| subject.openmetrics(),
        },
        Self {
            name: "markdown",
            help: "Markdown for a comment on a pull request",
            extensions: &["md", "markdown"],
            omission: Some(SUMMARY),
            render: |subject, _| Ok(markdown::render(&subject.document())),
        },
        Self {
            name: "junit",
            help: "JUnit XML with a test for each expectation, each variant, and each call and memory test",
            extensions: &["xml"],
            omission: Some("JUnit contains the outcomes of tests, and no values"),
            render: |subject, _| junit::render(&subject.document()).map_err(RenderError::failed),
        },
    ];

    /// Returns all formats.
    pub fn all() -> &'static [Self] {
        Self::ALL
    }

    /// Returns the name, which is also the value of `--format`.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Returns why the format does not contain every quantity of the catalogue; `None` if it does.
    pub fn omission(self) -> Option<&'static str> {
        self.omission
    }

    /// Returns the format of files with this extension, in lowercase.
    pub fn of_extension(extension: &str) -> Option<Self> {
        let mut formats = Self::ALL.iter().copied();
        formats.find(|format| format.extensions.contains(&extension))
    }

    /// Returns the names of all formats, separated by commas.
    pub fn names() -> String {
        let names: Vec<&str> = Self::ALL.iter().map(|format| format.name).collect();
        names.join(", ")
    }

    /// Renders the report of `subject`. `options` apply to text.
    ///
    /// # Errors
    /// Returns an error if the subject has no report in this format, or a writer fails.
    pub fn render(self, subject: &dyn Subject, options: &TextOptions<'_>) -> Result<String, RenderError> {
        (self.render)(subject, options)
    }
}

impl ValueEnum for Format {
    fn value_variants<'a>() -> &'a [Self] {
        Self::all()
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name).help(self.help))
    }
}

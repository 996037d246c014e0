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
    render: Render,
}

impl Format {
    /// Text for a terminal.
    pub const TEXT: Self = Self::ALL[0];

    /// All formats.
    const ALL: [Self; 7] = [
        Self {
            name: "text",
            help: "Human-readable text for a terminal",
            // Special files such as /dev/stdout have no extension.
            extensions: &["txt", "text", "log", ""],
            render: |subject, options| Ok(text::render(&subject.document(), options)),
        },
        Self {
            name: "json",
            help: "JSON with all values",
            extensions: &["json"],
            render: |subject, _| subject.json(),
        },
        Self {
            name: "csv",
            help: "CSV with one row per scenario, size, arm and metric",
            extensions: &["csv"],
            render: |subject, _| subject.csv(),
        },
        Self {
            name: "html",
            help: "Self-contained HTML page",
            extensions: &["html", "htm"],
            render: |subject, _| Ok(html::render(&subject.document())),
        },
        Self {
            name: "openmetrics",
            help: "OpenMetrics text with the metrics that the operator serves for the run",
            extensions: &["prom", "om"],
            render: |subject, _| subject.openmetrics(),
        },
        Self {
            name: "markdown",
            help: "Markdown for a comment on a pull request",
            extensions: &["md", "markdown"],
            render: |subject, _| Ok(markdown::render(&subject.document())),
        },
        Self {
            name: "junit",
            help: "JUnit XML with a test for each expectation, each variant, and each call and memory test",
            extensions: &["xml"],
            render: |subject, _| junit::render(&subject.document()).map_err(RenderError::failed),
        },
    ];

    /// Returns the format of files with this extension, in lowercase.
    pub fn of_extension(extension: &str) -> Option<Self> {
        let mut formats = Self::ALL.into_iter();
        formats.find(|format| format.extensions.contains(&extension))
    }

    /// Returns the names of all formats, separated by commas.
    pub fn names() -> String {
        Self::ALL.map(|format| format.name).join(", ")
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
        const { &Self::ALL }
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name).help(self.help))
    }
}

//! Output formats, and the options of text output.

use std::path::Path;

use clap::ValueEnum;
use console::Term;

use super::Failure;
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

impl ReportFormat {
    /// Returns the format of a file, from its extension.
    ///
    /// # Errors
    /// Returns an error if no format has this extension.
    pub(super) fn of_file(file: &Path) -> Result<Self, Failure> {
        let extension = file
            .extension()
            .unwrap_or_default()
            .to_string_lossy()
            .to_lowercase();
        Ok(match extension.as_str() {
            "html" | "htm" => Self::Html,
            "json" => Self::Json,
            "csv" => Self::Csv,
            "md" | "markdown" => Self::Markdown,
            "xml" => Self::Junit,
            "prom" | "om" => Self::Openmetrics,
            // Also special files such as /dev/stdout.
            "txt" | "text" | "log" | "" => Self::Text,
            other => {
                return Err(Failure::invalid_input(format!(
                    "{}: the extension .{other} belongs to no report format. Set --format to text, json, csv, html, \
                     openmetrics, markdown or junit",
                    file.display()
                )));
            }
        })
    }
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

/// Returns the text options for this terminal: its width and colors. Output to a file or a pipe has no colors. A pipe has
/// the width in `COLUMNS`, if that is set, and a file a fixed one. `NO_COLOR` is respected.
pub(super) fn text_options(to_file: bool) -> TextOptions<'static> {
    let terminal = Term::stdout();
    let default = TextOptions::default();
    if to_file {
        return default;
    }
    match terminal.is_term() {
        true => TextOptions {
            width: terminal
                .size_checked()
                .map_or(default.width, |(_, columns)| columns),
            color: console::colors_enabled(),
            ..default
        },
        false => TextOptions {
            width: piped_width(std::env::var("COLUMNS").ok().as_deref()).unwrap_or(default.width),
            ..default
        },
    }
}

/// Width of piped output, in columns, if `columns`, the value of `COLUMNS`, is a positive number.
fn piped_width(columns: Option<&str>) -> Option<u16> {
    columns?.trim().parse().ok().filter(|width| *width > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn piped_output_has_the_width_in_columns() {
        assert_eq!(piped_width(Some("90")), Some(90));
        for unusable in [None, Some(""), Some("wide"), Some("0"), Some("-5")] {
            assert_eq!(piped_width(unusable), None);
        }
    }

    #[test]
    fn the_extension_of_a_file_determines_its_format() {
        let format = |name: &str| ReportFormat::of_file(Path::new(name));
        for (name, expected) in [
            ("x.html", ReportFormat::Html),
            ("a/b.JSON", ReportFormat::Json),
            ("x.md", ReportFormat::Markdown),
            ("junit.xml", ReportFormat::Junit),
            ("x.prom", ReportFormat::Openmetrics),
            ("x.csv", ReportFormat::Csv),
            ("x.txt", ReportFormat::Text),
            ("/dev/stdout", ReportFormat::Text),
        ] {
            assert_eq!(format(name).unwrap(), expected, "{name}");
        }
        let error = format("x.pdf").unwrap_err().to_string();
        assert!(
            error.contains("x.pdf: the extension .pdf belongs to no report format"),
            "{error}"
        );
    }
}

//! Output formats, and the options of text output.

use std::path::Path;

use clap::ValueEnum;
use console::Term;

use super::Failure;
use crate::report::text::TextOptions;
use crate::report::{Format, RenderError, Subject};

/// Returns the report format of a file, from its extension.
///
/// # Errors
/// Returns an error if no format has this extension.
pub(super) fn format_of(file: &Path) -> Result<Format, Failure> {
    let extension = file
        .extension()
        .unwrap_or_default()
        .to_string_lossy()
        .to_lowercase();
    Format::of_extension(&extension).ok_or_else(|| {
        Failure::invalid_input(format!(
            "{}: the extension .{extension} belongs to no report format. Set --format to one of {}",
            file.display(),
            Format::names()
        ))
    })
}

/// Renders the report of `subject` to a terminal, or to a file.
///
/// # Errors
/// Returns an error if the subject has no report in this format.
pub(super) fn render(subject: &dyn Subject, format: Format, to_file: bool) -> Result<String, Failure> {
    format
        .render(subject, &text_options(to_file))
        .map_err(|error| match error {
            RenderError::NoSuchReport { .. } => Failure::invalid_input(error),
            RenderError::Failed { .. } => Failure::incomplete(error),
        })
}

/// Output format of a plan.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum PlanFormat {
    /// Human-readable text.
    Text,
    /// JSON with every block.
    Json,
    /// Markdown for a comment on a pull request.
    Markdown,
    /// Self-contained HTML page.
    Html,
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
        let format = |name: &str| {
            let value = format_of(Path::new(name)).map(|format| format.to_possible_value());
            value.map(|value| value.unwrap().get_name().to_owned())
        };
        for (name, expected) in [
            ("x.html", "html"),
            ("a/b.JSON", "json"),
            ("x.md", "markdown"),
            ("junit.xml", "junit"),
            ("x.prom", "openmetrics"),
            ("x.csv", "csv"),
            ("x.txt", "text"),
            ("/dev/stdout", "text"),
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

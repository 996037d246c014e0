//! What the terminal can show. Looks at standard output and `NO_COLOR`.

use console::Term;

use crate::report::text::{DEFAULT_WIDTH, TextOptions};

/// Width and colour of standard output: its own on a terminal, the defaults elsewhere.
pub(super) fn text_options(full_report: Option<&str>) -> TextOptions<'_> {
    let terminal = Term::stdout();
    let is_terminal = terminal.is_term();
    let width = terminal
        .size_checked()
        .filter(|_| is_terminal)
        .map_or(DEFAULT_WIDTH, |(_, columns)| columns);
    let colour_refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    TextOptions {
        width,
        color: is_terminal && !colour_refused,
        full_report,
    }
}

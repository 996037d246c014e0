//! Markdown report of an imported run.

use crds::printable::printable;

use crate::imported::{ImportedRun, NOT_CONTROLLED};
use crate::report::markdown::{escape, line, row};

/// Renders the report as Markdown with a final newline.
pub fn render(run: &ImportedRun) -> String {
    let mut text = String::new();
    let name = escape(&run.manifest.name);
    line(&mut text, &format!("### {name}: no verdict, not controlled\n"));
    line(&mut text, &format!("- {}", escape(&super::title(run))));
    line(
        &mut text,
        &format!("- **not controlled**: {}", escape(NOT_CONTROLLED)),
    );
    for table in super::tables(run) {
        line(&mut text, &format!("\n{}\n", escape(&table.title)));
        row(&mut text, table.columns.iter().cloned());
        row(&mut text, table.columns.iter().map(|_| "---".to_owned()));
        for cells in table.rows {
            row(&mut text, cells.into_iter());
        }
    }
    line(&mut text, "");
    for reported in &run.reported {
        line(&mut text, &format!("- reported by {}", escape(reported)));
    }
    for warning in &run.warnings {
        line(&mut text, &format!("- warning: {}", escape(warning)));
    }
    for source in super::log_lines(run) {
        line(&mut text, &format!("- log of {}", escape(&source)));
    }
    printable(&text).into_owned()
}

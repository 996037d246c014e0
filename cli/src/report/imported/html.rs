//! HTML report of an imported run: a single file without scripts or external resources.

use crds::printable::printable;
use maud::{DOCTYPE, Markup, html};

use super::Table;
use crate::imported::{ImportedRun, NOT_CONTROLLED};
use crate::report::html::head;

/// Renders the report as one HTML file.
pub fn render(run: &ImportedRun) -> String {
    let name = &run.manifest.name;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&format!("{name} (imported, not controlled): fabricbench")))
            body {
                a.skip href="#values" { "Skip to the values" }
                header {
                    h1 { (name) }
                    p.settings { (super::title(run)) }
                    p class="overall invalid" { "Not controlled: " (NOT_CONTROLLED) "." }
                    dl {
                        dt { "State" } dd { (format!("{:?}: {:?}", run.manifest.status.state, run.manifest.status.reason)) }
                        dt { "Verdict" } dd { "none: not controlled" }
                        dt { "Fabric" } dd { "unknown: no byte counters were read" }
                        dt { "Noise floor" } dd { "unknown: there is no control arm" }
                    }
                }
                main {
                    section #values aria-labelledby="values-title" {
                        h2 #values-title { "Values" }
                        @for table in super::tables(run) { (values_table(&table)) }
                    }
                    (list("warnings", "Warnings", &run.warnings))
                    (list("reported", "Reported by libraries", &run.reported))
                    (list("logs", "Logs", &super::log_lines(run)))
                    p.note { "Imported by fabricbench " (run.manifest.version) }
                }
            }
        }
    };
    printable(&page.into_string()).into_owned()
}

fn values_table(table: &Table) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(table.title) {
            table.numbers {
                caption { (table.title) }
                thead { tr { @for column in &table.columns { th scope="col" { (column) } } } }
                tbody {
                    @for row in &table.rows {
                        tr {
                            @for (index, cell) in row.iter().enumerate() {
                                @if index == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn list(id: &str, title: &str, lines: &[String]) -> Markup {
    html! {
        section id=(id) {
            h2 { (title) }
            @if lines.is_empty() {
                p { "None." }
            } @else {
                ul { @for line in lines { li { (line) } } }
            }
        }
    }
}

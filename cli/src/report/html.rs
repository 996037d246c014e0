//! A page for a browser: a single file with embedded styles and SVG plots, without scripts or external resources. The
//! template escapes all text that comes from a run.

mod svg;

use crds::printable::printable;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::document::{
    Block, Cell, Detail, Document, Layout, List, Note, ResultClass, ResultText, Section, Table,
};
use super::plot::PlotArm;

const STYLE: &str = include_str!("html/style.css");

/// Renders `document` as one HTML file.
pub fn render(document: &Document) -> String {
    let shown: Vec<(usize, &Section)> = document
        .sections
        .iter()
        .enumerate()
        .filter(|(_, section)| section.shown_blocks(Detail::Full).next().is_some())
        .collect();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (document.name) ": fabricbench" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#results" { "Skip to the results" }
                (header(document, &shown))
                main #results {
                    (overview(&shown))
                    @for (index, section) in shown.iter().filter(|(_, section)| section.is_overview) {
                        (section_markup(document, *index, section))
                    }
                    @for (index, section) in shown.iter().filter(|(_, section)| !section.is_overview) {
                        (section_markup(document, *index, section))
                    }
                }
            }
        }
    };
    printable(&page.into_string()).into_owned()
}

fn header(document: &Document, shown: &[(usize, &Section)]) -> Markup {
    html! {
        header {
            h1 { (document.name) }
            p.settings { (document.description) }
            @for banner in &document.banners {
                p class={ "overall " (css_class(banner.class)) } { (banner.text) }
            }
            dl {
                @for fact in &document.facts { dt { (capitalized(fact.heading)) } dd { (fact.text) } }
            }
            nav aria-label="Sections" {
                @for (index, section) in shown {
                    a href={ "#section-" (index) } { (section.heading) }
                }
            }
        }
    }
}

/// The tables of results of all sections, before the details.
fn overview(shown: &[(usize, &Section)]) -> Markup {
    let tables = || {
        shown.iter().flat_map(|(index, section)| {
            let tables = section.blocks.iter().filter_map(overview_table);
            tables.map(move |table| (index, section, table))
        })
    };
    html! {
        @if tables().next().is_some() {
            section #verdicts aria-labelledby="verdicts-title" {
                h2 #verdicts-title { "Verdicts" }
                @for (index, section, table) in tables() {
                    h3 { a href={ "#section-" (index) } { (section.heading) } }
                    p.note { (capitalized(&section.description)) }
                    (table_markup(&format!("Verdicts of {}", section.heading), table))
                }
            }
        }
    }
}

/// The table in `block` if it is a table of results, which the page shows before the details.
fn overview_table(block: &Block) -> Option<&Table> {
    match block {
        Block::Table(table) if table.layout == Layout::Matrix => Some(table),
        _ => None,
    }
}

fn section_markup(document: &Document, index: usize, section: &Section) -> Markup {
    let has_plots = section
        .blocks
        .iter()
        .any(|block| matches!(block, Block::Plots(plots) if !plots.is_empty()));
    let blocks = section.shown_blocks(Detail::Full);
    html! {
        section id={ "section-" (index) } aria-labelledby={ "title-" (index) } {
            h2 id={ "title-" (index) } { (section.heading) }
            @if !section.description.is_empty() { p.note { (capitalized(&section.description)) } }
            @if has_plots { (legend(document)) }
            @for block in blocks.filter(|block| overview_table(block).is_none()) {
                @match block {
                    Block::Table(table) => (titled_table(section, table)),
                    Block::List(list) => (list_markup(list)),
                    Block::Note(note) => (note_markup(note)),
                    Block::Plots(plots) => div.plots {
                        @for plot in plots {
                            figure { figcaption { (plot.caption) } (svg::render(plot)) }
                        }
                    },
                }
            }
        }
    }
}

/// Table with its title. Tables that only pages show are folded.
fn titled_table(section: &Section, table: &Table) -> Markup {
    let label = match table.title.as_str() {
        "" => section.heading.clone(),
        title => format!("{} of {}", capitalized(title), section.heading),
    };
    let content = html! {
        (table_markup(&label, table))
        @for note in table.shown_notes(Detail::Full) { (note_markup(note)) }
    };
    html! {
        @if table.title.is_empty() {
            (content)
        } @else if table.detail == Detail::Full {
            details { summary { (capitalized(&table.title)) } (content) }
        } @else {
            h3 { (capitalized(&table.title)) }
            (content)
        }
    }
}

fn table_markup(label: &str, table: &Table) -> Markup {
    let columns: Vec<_> = table.shown_columns(Detail::Full).collect();
    let class = match table.layout {
        Layout::Matrix => "matrix",
        Layout::Columns | Layout::Lines => "numbers",
    };
    html! {
        div.scroll tabindex="0" role="region" aria-label=(label) {
            table class=(class) {
                thead { tr { @for (_, column) in &columns { th scope="col" { (column.title) } } } }
                tbody {
                    @for row in table.shown_rows(Detail::Full) {
                        tr {
                            @for (index, column) in &columns {
                                @if let Some(cell) = row.cells.get(*index) {
                                    (cell_markup(cell, *index == 0, column.has_sentences))
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn cell_markup(cell: &Cell, is_first: bool, has_sentences: bool) -> Markup {
    match cell {
        Cell::Text(text) if is_first => html! { th scope="row" { (text) } },
        Cell::Text(text) if has_sentences => html! { td.text { (text) } },
        Cell::Text(text) => html! { td { (text) } },
        Cell::Values(values) => html! {
            td.text[has_sentences] { @for value in values { div { (value) } } }
        },
        Cell::Result(result) => result_markup(result),
    }
}

/// Cell with the label, change and reason of a result.
fn result_markup(result: &ResultText) -> Markup {
    html! {
        td class=(css_class(result.class)) {
            @if result.label.is_empty() {
                @if let Some(value) = &result.change { (value) }
            } @else {
                span.label { (result.label) }
                @if let Some(change) = &result.change { " " span.change { (change) } }
            }
            @if let Some(reason) = &result.reason { " " span.reason { (reason) } }
        }
    }
}

fn list_markup(list: &List) -> Markup {
    html! {
        ul { @for item in &list.items { li { (item) } } }
    }
}

fn note_markup(note: &Note) -> Markup {
    html! { p.note { (capitalized(&note.line())) } }
}

/// Legend of the arms.
fn legend(document: &Document) -> Markup {
    let arms = || {
        document
            .arms
            .iter()
            .enumerate()
            .map(|(index, (name, is_control))| {
                let arm = PlotArm {
                    index,
                    is_control: *is_control,
                };
                (name, arm)
            })
    };
    html! {
        ul.legend aria-label="Arms" {
            @for (name, arm) in arms() { li { span class=(svg::marker_class(arm)) {} (name) } }
        }
        @if arms().any(|(_, arm)| arm.shares_color()) {
            p.note { "Arms with a square marker have dashed lines." }
        }
    }
}

fn css_class(class: ResultClass) -> &'static str {
    match class {
        ResultClass::Improved => "better",
        ResultClass::Regressed => "worse",
        ResultClass::NoChange => "same",
        ResultClass::Inconclusive => "open",
        ResultClass::NotApplicable => "na",
        ResultClass::NotEngaged => "not-engaged",
        ResultClass::Suspect => "suspect",
        ResultClass::Invalid => "invalid",
    }
}

/// Returns `text` with its first letter in uppercase.
fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next();
    first
        .into_iter()
        .flat_map(char::to_uppercase)
        .chain(characters)
        .collect()
}

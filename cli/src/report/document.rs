//! A report, independent of its format: facts, and sections of tables, lists and notes. It is built once for a run, an
//! imported run or a comparison, and each format renders it.

mod result;
mod table;

pub(super) use result::{ResultClass, ResultText};
pub(super) use table::{Cell, Column, Layout, Row, Table};

use super::plot::Plot;

/// A report.
#[derive(Debug, Default)]
pub struct Document {
    /// Title, such as the name of the run.
    pub name: String,
    /// What was measured, in one line.
    pub description: String,
    /// What the reader must know first. Formats with facts only state it among the facts.
    pub banners: Vec<Banner>,
    /// Facts about the whole subject.
    pub facts: Vec<Fact>,
    /// Names of the arms by index, and whether each is a control arm, for the legend of the plots.
    pub arms: Vec<(String, bool)>,
    /// Sections, in reading order.
    pub sections: Vec<Section>,
    /// Properties for formats that report tests.
    pub properties: Vec<(&'static str, String)>,
    /// Tests that a gate evaluates.
    pub tests: Vec<Test>,
}

/// A sentence at the top of a page, with a color.
#[derive(Debug)]
pub struct Banner {
    /// Class that determines the color.
    pub class: ResultClass,
    /// The sentence.
    pub text: String,
}

/// How much a format shows: everything up to its own level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// The results, short enough for a comment on a pull request.
    #[default]
    Brief,
    /// Also the evidence and the observations, for a terminal.
    Detailed,
    /// Everything, for a page.
    Full,
}

/// A fact about the whole subject.
#[derive(Debug)]
pub struct Fact {
    /// Heading, one word in lowercase.
    pub heading: &'static str,
    /// The fact.
    pub text: String,
    /// Formats that show it.
    pub detail: Detail,
    /// Whether the fact puts the results in doubt.
    pub is_doubt: bool,
}

/// A section. A format omits it if it shows none of its blocks.
#[derive(Debug, Default)]
pub struct Section {
    /// Heading, such as the name of a scenario.
    pub heading: String,
    /// What the section contains, in lowercase; may be empty.
    pub description: String,
    /// Whether a page shows the section before the details.
    pub is_overview: bool,
    /// Content, in reading order.
    pub blocks: Vec<Block>,
}

/// Part of a section.
#[derive(Debug)]
pub enum Block {
    /// A table.
    Table(Table),
    /// Items of equal kind.
    List(List),
    /// A sentence.
    Note(Note),
    /// Plots, for a page. The arms have the colors and markers of the legend.
    Plots(Vec<Plot>),
}

/// Items of equal kind.
#[derive(Debug)]
pub struct List {
    /// What one item is, one word in lowercase.
    pub heading: &'static str,
    /// The items.
    pub items: Vec<String>,
    /// Formats that show the list.
    pub detail: Detail,
}

/// A sentence.
#[derive(Debug)]
pub struct Note {
    /// Heading, one word in lowercase; may be empty.
    pub heading: &'static str,
    /// The sentence.
    pub text: String,
    /// Formats that show it.
    pub detail: Detail,
}

/// A test that a gate evaluates.
#[derive(Debug)]
pub struct Test {
    /// Name.
    pub name: String,
    /// Outcome.
    pub outcome: TestOutcome,
}

/// Outcome of a test.
#[derive(Debug)]
pub enum TestOutcome {
    /// The results rule out what the test looks for.
    Passed,
    /// The results show what the test looks for: a summary, and details.
    Failed(String, String),
    /// There is no trustworthy result: a summary, and details.
    Error(String, String),
    /// The results are not decisive: a summary, and details, which may be empty.
    Skipped(String, String),
}

impl Document {
    /// Warnings of all sections.
    pub fn warnings(&self) -> impl Iterator<Item = &str> {
        let blocks = self.sections.iter().flat_map(|section| &section.blocks);
        blocks.flat_map(|block| match block {
            Block::List(list) if list.heading == WARNING => list.items.iter().map(String::as_str),
            _ => [].iter().map(String::as_str),
        })
    }
}

/// Name of the test that tells whether the results are complete and trustworthy.
pub(super) const VALIDITY: &str = "complete and trustworthy";
/// Heading of the lists of warnings.
const WARNING: &str = "warning";

impl Fact {
    /// A fact that every format states.
    pub fn new(heading: &'static str, text: impl Into<String>) -> Self {
        Self {
            heading,
            text: text.into(),
            detail: Detail::Brief,
            is_doubt: false,
        }
    }

    /// A fact that puts the results in doubt.
    pub fn doubt(heading: &'static str, text: impl Into<String>) -> Self {
        Self {
            is_doubt: true,
            ..Self::new(heading, text)
        }
    }

    /// The same fact for formats that show this much.
    pub fn detail(self, detail: Detail) -> Self {
        Self { detail, ..self }
    }
}

impl Section {
    /// The section of the warnings, which a page shows even if there are none.
    pub fn warnings(items: &[String]) -> Self {
        let items = items.to_vec();
        let none = items.is_empty().then(|| Block::note("", "None.", Detail::Full));
        let list = Block::List(List {
            heading: WARNING,
            items,
            detail: Detail::Brief,
        });
        Self {
            heading: "Warnings".to_owned(),
            is_overview: true,
            blocks: none.into_iter().chain([list]).collect(),
            ..Self::default()
        }
    }

    /// Blocks that a format with this level of `detail` shows.
    pub fn shown_blocks(&self, detail: Detail) -> impl Iterator<Item = &Block> {
        self.blocks.iter().filter(move |block| block.is_shown(detail))
    }
}

impl Block {
    /// A sentence after `heading`.
    pub fn note(heading: &'static str, text: impl Into<String>, detail: Detail) -> Self {
        Self::Note(Note::new(heading, text, detail))
    }

    fn is_shown(&self, shown: Detail) -> bool {
        match self {
            Self::Table(table) => table.detail <= shown && table.shown_rows(shown).next().is_some(),
            Self::List(list) => list.detail <= shown && !list.items.is_empty(),
            Self::Note(note) => note.detail <= shown,
            Self::Plots(plots) => shown == Detail::Full && !plots.is_empty(),
        }
    }
}

impl Note {
    /// A sentence after `heading`.
    pub fn new(heading: &'static str, text: impl Into<String>, detail: Detail) -> Self {
        Self {
            heading,
            text: text.into(),
            detail,
        }
    }

    /// The heading, followed by a colon if there is one, and the sentence.
    pub fn line(&self) -> String {
        match self.heading {
            "" => self.text.clone(),
            heading => format!("{heading}: {}", self.text),
        }
    }
}

impl From<Table> for Block {
    fn from(table: Table) -> Self {
        Self::Table(table)
    }
}

//! A report, independent of its format: facts, and sections of tables, lists and notes. It is built once for a run, an
//! imported run or a comparison, and each format renders it.

mod result;

pub(super) use result::{ResultClass, ResultText};

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

/// A table.
#[derive(Debug, Default)]
pub struct Table {
    /// Title, in lowercase. Empty if the description of the section is the title.
    pub title: String,
    /// Columns.
    pub columns: Vec<Column>,
    /// Rows.
    pub rows: Vec<Row>,
    /// Explanations that follow the table.
    pub notes: Vec<Note>,
    /// Formats that show the table.
    pub detail: Detail,
    /// Layout.
    pub layout: Layout,
}

/// Layout of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Columns with numbers and text.
    #[default]
    Columns,
    /// Results at each size: the first column is the size, the second the baseline, and each other column an arm.
    Matrix,
    /// A terminal shows the line of each row in the place of columns.
    Lines,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// Title.
    pub title: String,
    /// Formats that show it.
    pub detail: Detail,
    /// Whether its cells are sentences, which may be long.
    pub has_sentences: bool,
}

/// A row of a table.
#[derive(Debug, Default)]
pub struct Row {
    /// A cell for each column.
    pub cells: Vec<Cell>,
    /// The row as one line after a heading, for [`Layout::Lines`].
    pub line: Option<(&'static str, String)>,
    /// Formats that show it.
    pub detail: Detail,
}

/// A cell of a table.
#[derive(Clone, Debug)]
pub enum Cell {
    /// Text.
    Text(String),
    /// Several values.
    Values(Vec<String>),
    /// A result.
    Result(ResultText),
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

impl Table {
    /// A table that every format shows, in columns and without notes.
    pub fn new(title: impl Into<String>, columns: Vec<Column>, rows: impl IntoIterator<Item = Row>) -> Self {
        Self {
            title: title.into(),
            columns,
            rows: rows.into_iter().collect(),
            ..Self::default()
        }
    }

    /// The same table for formats that show this much.
    pub fn detail(self, detail: Detail) -> Self {
        Self { detail, ..self }
    }

    /// The same table with another layout.
    pub fn layout(self, layout: Layout) -> Self {
        Self { layout, ..self }
    }

    /// The same table followed by these notes.
    pub fn notes(self, notes: impl IntoIterator<Item = Note>) -> Self {
        Self {
            notes: notes.into_iter().collect(),
            ..self
        }
    }

    /// Columns that a format with this level of `detail` shows, with their indexes.
    pub fn shown_columns(&self, detail: Detail) -> impl Iterator<Item = (usize, &Column)> {
        let columns = self.columns.iter().enumerate();
        columns.filter(move |(_, column)| column.detail <= detail)
    }

    /// Rows that a format with this level of `detail` shows.
    pub fn shown_rows(&self, detail: Detail) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.detail <= detail)
    }

    /// Notes that a format with this level of `detail` shows.
    pub fn shown_notes(&self, detail: Detail) -> impl Iterator<Item = &Note> {
        self.notes.iter().filter(move |note| note.detail <= detail)
    }
}

impl Column {
    /// Columns with these titles that every format shows.
    pub fn all<T: Into<String>>(titles: impl IntoIterator<Item = T>) -> Vec<Self> {
        titles.into_iter().map(Self::new).collect()
    }

    /// A column that every format shows.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            detail: Detail::Brief,
            has_sentences: false,
        }
    }

    /// A column of sentences.
    pub fn sentences(title: impl Into<String>) -> Self {
        Self {
            has_sentences: true,
            ..Self::new(title)
        }
    }

    /// The same column for formats that show this much.
    pub fn detail(self, detail: Detail) -> Self {
        Self { detail, ..self }
    }
}

impl Row {
    /// A row of text.
    pub fn new<T: Into<Cell>>(cells: impl IntoIterator<Item = T>) -> Self {
        Self {
            cells: cells.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// The same row for formats that show this much.
    pub fn detail(self, detail: Detail) -> Self {
        Self { detail, ..self }
    }

    /// The same row as a line after `heading`, one word in lowercase.
    pub fn line(self, heading: &'static str, line: impl Into<String>) -> Self {
        Self {
            line: Some((heading, line.into())),
            ..self
        }
    }
}

impl From<Table> for Block {
    fn from(table: Table) -> Self {
        Self::Table(table)
    }
}

impl Cell {
    /// The content as one line.
    pub fn line(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Values(values) => values.join("; "),
            Self::Result(result) => result.line(),
        }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Vec<String>> for Cell {
    fn from(values: Vec<String>) -> Self {
        Self::Values(values)
    }
}

impl From<ResultText> for Cell {
    fn from(result: ResultText) -> Self {
        Self::Result(result)
    }
}

//! Tables of a document.

use super::{Detail, Note, ResultText};

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

//! A table of text cells, which every report format for human readers renders.

/// A table of text cells.
#[derive(Debug, PartialEq, Eq)]
pub struct ResultTable {
    /// Title, in lowercase.
    pub title: String,
    /// Title of each column.
    pub columns: Vec<&'static str>,
    /// Cells of each row, in the order of the columns.
    pub rows: Vec<Vec<String>>,
    /// Whether the last column contains sentences, which may be long.
    pub ends_with_sentences: bool,
    /// Explanations that follow the table.
    pub notes: Vec<String>,
}

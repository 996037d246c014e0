//! What could not be done when a look at a run failed: a closed set of words for the metric and for events.

/// What could not be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// The API server did not take or answer a request for a child of the run.
    RequestFailed,
    /// The API server refuses an object.
    RequestRejected,
    /// An object with the name of a child belongs to somebody else.
    NameCollision,
    /// Pods could not be listed.
    ListFailed,
    /// The run was changed while it was looked at.
    Conflict,
    /// A status was not written.
    StatusWriteFailed,
    /// The API server refuses the status.
    StatusRejected,
    /// A run or its status could not be turned into JSON or back.
    EncodingFailed,
    /// Records could not be read or written.
    RecordsRequestFailed,
    /// Another replica wrote records meanwhile.
    RecordsConflict,
    /// Records that were kept do not prove themselves.
    RecordsCorrupted,
    /// Records cannot be evaluated.
    EvaluationFailed,
}

impl Category {
    /// Each of them, in the order of the documentation.
    pub const ALL: [Self; 12] = [
        Self::RequestFailed,
        Self::RequestRejected,
        Self::NameCollision,
        Self::ListFailed,
        Self::Conflict,
        Self::StatusWriteFailed,
        Self::StatusRejected,
        Self::EncodingFailed,
        Self::RecordsRequestFailed,
        Self::RecordsConflict,
        Self::RecordsCorrupted,
        Self::EvaluationFailed,
    ];

    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RequestFailed => "RequestFailed",
            Self::RequestRejected => "RequestRejected",
            Self::NameCollision => "NameCollision",
            Self::ListFailed => "ListFailed",
            Self::Conflict => "Conflict",
            Self::StatusWriteFailed => "StatusWriteFailed",
            Self::StatusRejected => "StatusRejected",
            Self::EncodingFailed => "EncodingFailed",
            Self::RecordsRequestFailed => "RecordsRequestFailed",
            Self::RecordsConflict => "RecordsConflict",
            Self::RecordsCorrupted => "RecordsCorrupted",
            Self::EvaluationFailed => "EvaluationFailed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Category;

    #[test]
    fn every_category_is_documented() {
        let document = include_str!("../../../docs/troubleshooting.md");
        let (_, section) = document.split_once("## What the operator could not do").unwrap();
        let (section, _) = section.split_once("\n## ").unwrap();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
        let documented: Vec<&str> = rows.filter_map(|row| row.split('`').next()).collect();
        assert_eq!(Category::ALL.map(Category::as_str).as_slice(), documented);
    }
}

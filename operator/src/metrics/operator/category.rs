//! Categories of failed reconciliations, for the metric and for events.

/// Category of a failed reconciliation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Category {
    /// A request for a child object of the run failed.
    RequestFailed,
    /// The API server rejected an object.
    RequestRejected,
    /// An object that has a child object's name has a different owner.
    NameCollision,
    /// Pods could not be listed.
    ListFailed,
    /// The run changed during the reconciliation.
    Conflict,
    /// The status could not be written.
    StatusWriteFailed,
    /// The API server rejected the status.
    StatusRejected,
    /// A run or its status could not be serialized or deserialized.
    EncodingFailed,
    /// Records could not be read or written.
    RecordsRequestFailed,
    /// Another replica wrote records concurrently.
    RecordsConflict,
    /// Stored records failed verification.
    RecordsCorrupted,
    /// Records could not be evaluated.
    EvaluationFailed,
}

impl Category {
    /// All categories, in documentation order.
    pub(crate) const ALL: [Self; 12] = [
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

    /// Returns the label value and event reason.
    pub(crate) const fn as_str(self) -> &'static str {
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
        let document = include_str!("../../../../docs/troubleshooting.md");
        let (_, section) = document.split_once("## Operator errors").unwrap();
        let (section, _) = section.split_once("\n## ").unwrap();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
        let documented: Vec<&str> = rows.filter_map(|row| row.split('`').next()).collect();
        assert_eq!(Category::ALL.map(Category::as_str).as_slice(), documented);
    }
}

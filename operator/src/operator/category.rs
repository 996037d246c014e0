//! What could not be done when a look at a run failed: a closed set of words for the metric and for events.

/// What could not be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// The API server did not take or answer a request for a child of the run.
    Apply,
    /// The API server refuses an object.
    Refused,
    /// An object with the name of a child belongs to somebody else.
    Foreign,
    /// Pods could not be listed.
    List,
    /// The run was changed while it was looked at.
    Conflict,
    /// A status was not written.
    StatusWrite,
    /// The API server refuses the status.
    StatusInvalid,
    /// A run or its status could not be turned into JSON or back.
    Encode,
    /// Records could not be read or written.
    RecordsApi,
    /// Another replica wrote records meanwhile.
    RecordsChanged,
    /// Records that were kept do not prove themselves.
    RecordsChain,
    /// Records cannot be evaluated.
    Evaluate,
}

impl Category {
    /// Each of them, in the order of the documentation.
    pub const ALL: [Self; 12] = [
        Self::Apply,
        Self::Refused,
        Self::Foreign,
        Self::List,
        Self::Conflict,
        Self::StatusWrite,
        Self::StatusInvalid,
        Self::Encode,
        Self::RecordsApi,
        Self::RecordsChanged,
        Self::RecordsChain,
        Self::Evaluate,
    ];

    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Refused => "Refused",
            Self::Foreign => "Foreign",
            Self::List => "List",
            Self::Conflict => "Conflict",
            Self::StatusWrite => "StatusWrite",
            Self::StatusInvalid => "StatusInvalid",
            Self::Encode => "Encode",
            Self::RecordsApi => "RecordsApi",
            Self::RecordsChanged => "RecordsChanged",
            Self::RecordsChain => "RecordsChain",
            Self::Evaluate => "Evaluate",
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

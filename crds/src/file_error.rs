//! Describes errors of the operating system about files: the cause, and what to do. Performs no I/O.

use std::io::{self, ErrorKind};

/// Cause of an error in the words of the operating system, without its number.
pub fn cause(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text
        .rsplit_once(" (os error ")
        .map_or(text.as_str(), |(text, _)| text);
    let mut rest = text.chars();
    match (error.raw_os_error(), rest.next()) {
        (Some(_), Some(first)) => format!("{}{}", first.to_lowercase(), rest.as_str()),
        _ => text.to_owned(),
    }
}

/// What to do about an error; `None` if that depends on more than its kind.
fn remedy(error: &io::Error) -> Option<&'static str> {
    match error.kind() {
        ErrorKind::NotFound => Some("Check the path"),
        ErrorKind::PermissionDenied => Some("Change the permissions, or use another path"),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Some("Free space, or use another disk"),
        ErrorKind::ReadOnlyFilesystem => Some("Use another path"),
        ErrorKind::IsADirectory => Some("Use the path of a file"),
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => Some("Use another path"),
        ErrorKind::FileTooLarge => Some("Raise the limit, or use another disk"),
        ErrorKind::InvalidFilename => Some("Use another name"),
        _ => None,
    }
}

/// Cause of an error and what to do about it.
pub fn with_remedy(error: &io::Error) -> String {
    let cause = cause(error);
    match remedy(error) {
        Some(remedy) => format!("{cause}. {remedy}"),
        None => cause,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_cause_and_the_remedy() {
        for (number, expected) in [
            (2, "no such file or directory. Check the path"),
            (
                13,
                "permission denied. Change the permissions, or use another path",
            ),
            (28, "no space left on device. Free space, or use another disk"),
            (21, "is a directory. Use the path of a file"),
            (5, "input/output error"),
        ] {
            assert_eq!(with_remedy(&io::Error::from_raw_os_error(number)), expected);
        }
        assert_eq!(
            with_remedy(&io::Error::other("the file is locked")),
            "the file is locked"
        );
    }
}

//! Words of a shell command.

use std::borrow::Cow;

/// Quotes `text` for a shell if necessary.
pub(crate) fn word(text: &str) -> Cow<'_, str> {
    // A path or an argument cannot contain the NUL character, which is the only one that cannot be quoted.
    shlex::try_quote(text).unwrap_or(Cow::Borrowed(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_paths_for_a_shell() {
        let path = "it's \"mine\"/run.json";
        assert_eq!(shlex::split(&word(path)).unwrap(), [path]);
        assert_eq!(word("out/run.json"), "out/run.json");
    }
}

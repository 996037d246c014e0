//! Patterns of log lines. Performs no I/O.

/// Pattern that a line contains: texts that follow each other in the line, separated by `*` (any text) or by `{}` (any
/// text, which is returned).
///
/// Returns the text of `{}`, without surrounding spaces; an empty text if the pattern has no `{}`, and `None` if the
/// line does not contain the pattern. `pattern` and `lower`, which is `line`, are in ASCII lowercase.
pub(super) fn capture<'a>(pattern: &str, line: &'a str, lower: &str) -> Option<&'a str> {
    let mut position = 0;
    let mut start = None;
    let mut captured = "";
    let mut rest = pattern;
    loop {
        let end = rest.find(['*', '{']).unwrap_or(rest.len());
        let (text, after) = rest.split_at(end);
        if !text.is_empty() {
            let found = lower.get(position..)?.find(text)? + position;
            if let Some(start) = start.take() {
                captured = line.get(start..found)?;
            }
            position = found + text.len();
        }
        match after.strip_prefix("{}") {
            Some(after) => {
                start = Some(position);
                rest = after;
            }
            None => match after.strip_prefix('*') {
                Some(after) => rest = after,
                None => break,
            },
        }
    }
    if let Some(start) = start {
        captured = line.get(start..)?;
    }
    Some(captured.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'a>(pattern: &str, line: &'a str) -> Option<&'a str> {
        capture(&pattern.to_ascii_lowercase(), line, &line.to_ascii_lowercase())
    }

    #[test]
    fn texts_must_follow_each_other() {
        assert_eq!(
            found("provider is {}, fabric", "Selected Provider is tcp, fabric is x"),
            Some("tcp")
        );
        assert_eq!(found("provider is {}, fabric", "fabric: provider is tcp"), None);
        assert_eq!(
            found("using network {}", "NCCL INFO Using network IB "),
            Some("IB")
        );
        assert_eq!(found("A*C", "a b c"), Some(""));
        assert_eq!(found("A*C", "c b a"), None);
        assert_eq!(found("x {}.", "É x y."), Some("y"));
    }
}

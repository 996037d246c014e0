//! Numbers in the record of a case that no runner measures. Performs no I/O.

use crds::record::{CaseFailure, CaseRecord, CaseResult, FailureReason};

/// Largest number of digits of an integer in the record of a case: 10^15 ns are eleven days, and 10^15 bytes are a petabyte.
/// The sum of 18,000 such integers fits into 64 bits.
const MAX_DIGITS: usize = 15;

/// Makes a case fail whose record, the line `json`, contains a larger integer than a runner measures. Its sum with others
/// could otherwise wrap around and look like a measurement.
pub(super) fn refuse(case: &mut CaseRecord, json: &str) {
    let Some(number) = oversized_integer(json) else {
        return;
    };
    case.result = CaseResult::Failed(CaseFailure {
        reason: FailureReason::Internal,
        message: format!(
            "the record contains the number {number}, but integers have at most {MAX_DIGITS} digits: it is damaged or forged"
        ),
    });
    case.started_nanos = 0;
    case.span_nanos = None;
}

/// Returns the integer part of the first number in `json` with more than [`MAX_DIGITS`] digits, clipped.
fn oversized_integer(json: &str) -> Option<&str> {
    let mut rest = json;
    loop {
        let start = rest.find(|c: char| c == '"' || c.is_ascii_digit())?;
        let (_, found) = rest.split_at(start);
        rest = match found.strip_prefix('"') {
            Some(text) => after_string(text),
            None => {
                let end = found.find(|c: char| !c.is_ascii_digit()).unwrap_or(found.len());
                if end > MAX_DIGITS {
                    return found.get(..end.min(2 * MAX_DIGITS));
                }
                // A fraction and an exponent are not part of the integer.
                let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-');
                found.trim_start_matches(is_number)
            }
        };
    }
}

/// Returns what follows the string whose content `text` starts with.
fn after_string(text: &str) -> &str {
    let mut is_escaped = false;
    let end = text.find(|c: char| {
        let is_end = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end
    });
    end.and_then(|end| text.get(end + 1..)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_integers_outside_strings_are_found() {
        let long = "1".repeat(16);
        for json in [
            r#"{"seq":1,"chain":"00112233445566778899","a":[999999999999999,-1]}"#,
            r#"{"a":0.3000000000000000444,"b":1e300,"c":"\"1234567890123456"}"#,
            "",
            "\"1234567890123456",
        ] {
            assert_eq!(oversized_integer(json), None, "{json}");
        }
        for json in [
            format!(r#"{{"a":"\\","b":{long}}}"#),
            format!("[0.5,-{long}]"),
            format!("[{long}.5]"),
            long.clone(),
        ] {
            assert_eq!(oversized_integer(&json), Some(&*long), "{json}");
        }
        assert_eq!(oversized_integer(&"9".repeat(1000)).map(str::len), Some(30));
    }
}

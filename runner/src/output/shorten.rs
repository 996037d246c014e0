//! Shortens texts and records to their limits and marks omissions. Pure.

mod case;

use crds::record::{CaseFailure, CaseResult, ChainWriter, FailureReason, LineError, MAX_LINE_BYTES, Record};

use super::MAX_MESSAGE_BYTES;

/// Space reserved for the mark of a shortened text, in bytes.
const MARK_BYTES: usize = 40;

/// Replaces control characters other than line feeds by spaces (each would take six bytes in JSON) and shortens `text` to
/// at most `max` bytes. A shortened text ends with the number of omitted bytes.
pub fn bounded(text: &str, max: usize) -> String {
    let clean: String = text
        .chars()
        .map(|char| {
            if char.is_control() && char != '\n' {
                ' '
            } else {
                char
            }
        })
        .collect();
    if clean.len() <= max {
        return clean;
    }
    let keep = clean.floor_char_boundary(max.saturating_sub(MARK_BYTES));
    format!("{} [{} bytes omitted]", &clean[..keep], clean.len() - keep)
}

/// Shortens every message in `record`.
pub(super) fn messages(record: &mut Record) {
    match record {
        Record::Case(case) => {
            if let CaseResult::Failed(failure) = &mut case.result {
                message(failure);
            }
        }
        Record::Endpoints(endpoints) => endpoints.failure.iter_mut().for_each(message),
        Record::End(end) => end.failure.iter_mut().for_each(message),
        Record::Warning(warning) => warning.message = bounded(&warning.message, MAX_MESSAGE_BYTES),
        Record::Hello(_) | Record::Cold(_) | Record::Block(_) => {}
    }
}

fn message(failure: &mut CaseFailure) {
    failure.message = bounded(&failure.message, MAX_MESSAGE_BYTES);
}

/// Encodes `record` as a line, shortened as far as needed. Also returns a description of each reduction.
///
/// # Errors
/// If the record is too long even when shortened, or cannot be serialized.
pub(super) fn fit(chain: &mut ChainWriter, mut record: Record) -> Result<(String, Vec<String>), LineError> {
    let mut reductions = Vec::new();
    let mut line = chain.line(&record);
    for step in case::STEPS {
        let (Err(LineError::TooLong { .. }), Record::Case(case)) = (&line, &mut record) else {
            break;
        };
        if let Some(reduction) = case::shorten(case, step) {
            reductions.push(reduction);
            line = chain.line(&record);
        }
    }
    if let Err(LineError::TooLong { length, .. }) = line {
        line = chain.line(&replacement(record, length));
    }
    Ok((line?, reductions))
}

/// A record of the same case or arm that fits a line, in place of one of `length` bytes. Records of other kinds are
/// bounded by construction and returned unchanged.
fn replacement(mut record: Record, length: usize) -> Record {
    match &mut record {
        Record::Case(case) => {
            case.result = CaseResult::Failed(CaseFailure {
                reason: FailureReason::Internal,
                message: format!(
                    "the record of this case has {length} bytes, which exceeds the line limit of {MAX_LINE_BYTES}, and \
                     was dropped; this is a bug in the runner, please report it"
                ),
            });
        }
        Record::Endpoints(endpoints) => {
            if let Some(fabric) = &mut endpoints.fabric {
                let names = fabric.variables.len();
                fabric.variables.clear();
                let note = format!("{names} variables omitted: the record had {length} bytes");
                fabric.variables.insert("[omitted]".into(), note);
                for rail in &mut fabric.rails {
                    rail.address = "[omitted]".into();
                }
            }
        }
        _ => {}
    }
    record
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bounded_text_fits_the_limit(text: String, max in 64usize..200) {
            let short = bounded(&text, max);
            prop_assert!(short.len() <= max);
            prop_assert!(!short.chars().any(|char| char.is_control() && char != '\n'));
        }
    }

    #[test]
    fn keeps_short_text() {
        assert_eq!(bounded("line\nline\t", 64), "line\nline ");
    }
}

//! Makes texts and records fit their limits, and says where something is missing. Pure.

mod case;

use crds::record::{CaseFailure, CaseResult, ChainWriter, FailureReason, LineError, MAX_LINE_BYTES, Record};

use super::MAX_MESSAGE_BYTES;

/// Room for the mark of a shortened text.
const MARK_BYTES: usize = 40;

/// `text` without control characters other than line ends (each would take six bytes in JSON), at most `max` bytes
/// long; a shortened text ends with how much is missing.
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
    format!("{} [{} bytes left out]", &clean[..keep], clean.len() - keep)
}

/// Bounds every message in `record`.
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

/// The line of `record`, shortened as far as it must be, and what was done to it, in words.
///
/// # Errors
/// When it does not fit even so.
pub(super) fn fit(chain: &mut ChainWriter, mut record: Record) -> Result<(String, Vec<String>), LineError> {
    let mut said = Vec::new();
    let mut line = chain.line(&record);
    for step in case::STEPS {
        let (Err(LineError::TooLong { .. }), Record::Case(case)) = (&line, &mut record) else {
            break;
        };
        if let Some(done) = case::shorten(case, step) {
            said.push(done);
            line = chain.line(&record);
        }
    }
    if let Err(LineError::TooLong { length, .. }) = line {
        line = chain.line(&whole(record, length));
    }
    Ok((line?, said))
}

/// A record of the same case or arm that fits a line, in place of one of `length` bytes. Kinds that are bounded by
/// their construction come back as they are.
fn whole(mut record: Record, length: usize) -> Record {
    match &mut record {
        Record::Case(case) => {
            case.result = CaseResult::Failed(CaseFailure {
                reason: FailureReason::Internal,
                message: format!(
                    "the record of this case has {length} bytes, more than a line of {MAX_LINE_BYTES}; \
                     its numbers are lost. This is a fault of the runner: please report it"
                ),
            });
        }
        Record::Endpoints(endpoints) => {
            if let Some(fabric) = &mut endpoints.fabric {
                let names = fabric.variables.len();
                fabric.variables.clear();
                let left_out = format!("{names} variables: the record had {length} bytes");
                fabric.variables.insert("[left out]".into(), left_out);
                for rail in &mut fabric.rails {
                    rail.address = "[left out]".into();
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
        fn every_text_fits(text: String, max in 64usize..200) {
            let short = bounded(&text, max);
            prop_assert!(short.len() <= max);
            prop_assert!(!short.chars().any(|char| char.is_control() && char != '\n'));
        }
    }

    #[test]
    fn a_short_text_stays() {
        assert_eq!(bounded("line\nline\t", 64), "line\nline ");
    }
}

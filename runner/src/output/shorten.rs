//! Shortens messages and records to their limits and marks omissions. Performs no I/O.

mod case;

use crds::record::{CaseFailure, CaseResult, ChainWriter, FailureReason, LineError, MAX_LINE_BYTES, Record};

use super::MAX_MESSAGE_BYTES;

/// Number of bytes reserved for the omission mark at the end of a shortened string.
const MARK_BYTES: usize = 40;

/// Maximum length of a rail's domain name in an oversized record, in bytes.
const MAX_DOMAIN_BYTES: usize = 64;

/// Maximum number of protocols in a record. Those with the largest counts are retained.
const MAX_PROTOCOLS: usize = 24;
/// Maximum length of each text that describes a protocol, in bytes. 24 protocols of maximum length fit in a record
/// line.
const MAX_PROTOCOL_TEXT_BYTES: usize = 160;

/// Shortens `text` to at most `max` bytes and replaces control characters other than line feeds with spaces, because
/// each of them would take six bytes in JSON.
///
/// A shortened string ends with the number of omitted bytes.
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
pub(super) fn shorten_messages(record: &mut Record) {
    match record {
        Record::Case(case) => {
            if let CaseResult::Failed(failure) = &mut case.result {
                shorten_message(failure);
            }
        }
        Record::Endpoints(endpoints) => endpoints.failure.iter_mut().for_each(shorten_message),
        Record::End(end) => end.failure.iter_mut().for_each(shorten_message),
        Record::Warning(warning) => warning.message = bounded(&warning.message, MAX_MESSAGE_BYTES),
        Record::Protocols(record) => {
            for protocol in &mut record.protocols {
                for text in [
                    &mut protocol.function,
                    &mut protocol.description,
                    &mut protocol.lanes,
                ] {
                    *text = bounded(text, MAX_PROTOCOL_TEXT_BYTES);
                }
            }
            record
                .protocols
                .sort_by_key(|protocol| std::cmp::Reverse(protocol.count));
            let omitted = record.protocols.len().saturating_sub(MAX_PROTOCOLS);
            record.omitted += omitted as u64;
            record.protocols.truncate(MAX_PROTOCOLS);
        }
        // The worker limits the texts of a configuration.
        // Workers write no claim records.
        Record::Hello(_)
        | Record::Cold(_)
        | Record::Configuration(_)
        | Record::Claim(_)
        | Record::Block(_) => {}
    }
}

fn shorten_message(failure: &mut CaseFailure) {
    failure.message = bounded(&failure.message, MAX_MESSAGE_BYTES);
}

/// Encodes `record` as a line, shortened to the line limit if necessary. Also returns a description of each reduction.
///
/// # Errors
/// Returns an error if the record cannot be shortened to the line limit or cannot be serialized.
pub(super) fn encode_within_limit(
    chain: &mut ChainWriter,
    mut record: Record,
) -> Result<(String, Vec<String>), LineError> {
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
        line = chain.line(&replace_oversized(record, length));
    }
    Ok((line?, reductions))
}

/// Replaces a record whose line is `length` bytes long with a record of the same case or arm that fits within the line
/// limit. Records of other kinds never exceed the limit and are returned unchanged.
fn replace_oversized(mut record: Record, length: usize) -> Record {
    match &mut record {
        Record::Case(case) => {
            case.result = CaseResult::Failed(CaseFailure {
                reason: FailureReason::Internal,
                message: format!(
                    "the record of this case was dropped because its {length} bytes exceed the line limit of \
                     {MAX_LINE_BYTES} bytes; this is a bug in the runner, please report it"
                ),
            });
        }
        Record::Endpoints(endpoints) => {
            if let Some(fabric) = &mut endpoints.fabric {
                let count = fabric.variables.len();
                fabric.variables.clear();
                let note = format!("{count} variables omitted because the record was {length} bytes long");
                fabric.variables.insert("[omitted]".into(), note);
                // The configuration hash covers the settings.
                if !fabric.settings.is_empty() {
                    let note = format!("{} settings omitted", fabric.settings.len());
                    fabric.settings = [("[omitted]".into(), note)].into();
                }
                for rail in &mut fabric.rails {
                    rail.address.clear();
                    rail.domain = bounded(&rail.domain, MAX_DOMAIN_BYTES);
                    if !rail.lanes.is_empty() {
                        rail.lanes = vec![format!("[{} lanes omitted]", rail.lanes.len())];
                    }
                }
            }
        }
        _ => {}
    }
    record
}

#[cfg(test)]
mod tests {
    use crds::record::{
        Chain, EndpointsRecord, FabricFacts, Locality, ProtocolUse, ProtocolsRecord, RailFacts,
    };
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bounded_strings_do_not_exceed_the_limit(text: String, max in 64usize..200) {
            let short = bounded(&text, max);
            prop_assert!(short.len() <= max);
            prop_assert!(!short.chars().any(|char| char.is_control() && char != '\n'));
        }
    }

    #[test]
    fn endpoints_of_64_rails_do_not_exceed_the_limit() {
        let nic = "rdmap999s999";
        let rail = RailFacts {
            domain: format!("{nic}-rdm"),
            interface: Some(nic.to_owned()),
            pci: Some("0000:ff:00.0".to_owned()),
            lanes: vec!["rc_mlx5/rdmap999s999:1".to_owned(); 4],
            address: "fi_addr_efa://[fe80::8a2:ffff:fe00:1234]:65535:4294967295".to_owned(),
            line_bits_per_second: Some(400_000_000_000),
            numa_node: Some(1),
            gpu: Some("0000:fe:00.0".to_owned()),
            memory_numa_node: Some(1),
            locality: Some(Locality::NumaNode),
        };
        let record = Record::Endpoints(Box::new(EndpointsRecord {
            round: 1,
            restart: 0,
            rank: 63,
            arm: "a".repeat(40),
            fabric: Some(FabricFacts {
                provider: "efa".to_owned(),
                fabric: "efa-direct".to_owned(),
                rails: vec![rail; 64],
                ..FabricFacts::default()
            }),
            failure: None,
        }));
        let (line, _) = encode_within_limit(&mut ChainWriter::default(), record).unwrap();
        let Record::Endpoints(endpoints) = Chain::default().read(line.trim_end()).unwrap() else {
            panic!("{line}");
        };
        let rails = endpoints.fabric.unwrap().rails;
        assert_eq!(rails.len(), 64);
        assert!(rails.iter().all(|rail| rail.interface.as_deref() == Some(nic)));
    }

    #[test]
    fn the_number_of_omitted_protocols_is_recorded() {
        let protocol = |count| ProtocolUse {
            function: "ucp_get".to_owned(),
            from_bytes: count,
            to_bytes: Some(count),
            memory: None,
            description: "zero-copy".to_owned(),
            lanes: "rc_mlx5/mlx5_0:1".to_owned(),
            count,
            steps: None,
        };
        let shortened = |protocols: u64| {
            let mut record = Record::Protocols(Box::new(ProtocolsRecord {
                round: 0,
                restart: 0,
                rank: 0,
                arm: "a".to_owned(),
                protocols: (1..=protocols).map(protocol).collect(),
                omitted: 0,
            }));
            shorten_messages(&mut record);
            let Record::Protocols(record) = record else {
                panic!("{record:?}");
            };
            (
                record.protocols.len(),
                record.protocols.last().map(|last| last.count),
                record.omitted,
            )
        };
        assert_eq!(shortened(24), (24, Some(1), 0));
        assert_eq!(shortened(30), (24, Some(7), 6));
    }

    #[test]
    fn does_not_truncate_short_strings() {
        assert_eq!(bounded("line\nline\t", 64), "line\nline ");
    }
}

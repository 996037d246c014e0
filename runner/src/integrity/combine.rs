//! Combines two integrity reports of one case, from several threads or from both sides. Performs no I/O.

use command_output::log;
use crds::record::IntegrityReport;

/// Combines two reports. The checksums cover the bytes of `first`, followed by the bytes of `second`.
pub fn combine(first: IntegrityReport, second: IntegrityReport) -> IntegrityReport {
    if first.command.is_some() || second.command.is_some() {
        return IntegrityReport {
            command: Some(log::combine(
                first.command.unwrap_or_default(),
                second.command.unwrap_or_default(),
            )),
            ..IntegrityReport::default()
        };
    }
    if second.bytes == 0 && second.duplicated_chunks == 0 {
        return first;
    }
    if first.bytes == 0 && first.duplicated_chunks == 0 {
        return second;
    }
    let checksum = |of_first: &str, of_second: &str| {
        let parse = |text: &str| u32::from_str_radix(text, 16).unwrap_or_default();
        let combined = crc32c::crc32c_combine(parse(of_first), parse(of_second), second.bytes as usize);
        format!("{combined:08x}")
    };
    IntegrityReport {
        transfers: first.transfers + second.transfers,
        bytes: first.bytes + second.bytes,
        crc32c_expected: checksum(&first.crc32c_expected, &second.crc32c_expected),
        crc32c_found: checksum(&first.crc32c_found, &second.crc32c_found),
        first_mismatch: first.first_mismatch.or(second.first_mismatch),
        torn_chunks: first.torn_chunks + second.torn_chunks,
        duplicated_chunks: first.duplicated_chunks + second.duplicated_chunks,
        command: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(bytes: &[u8]) -> IntegrityReport {
        let checksum = format!("{:08x}", crc32c::crc32c(bytes));
        IntegrityReport {
            transfers: 1,
            bytes: bytes.len() as u64,
            crc32c_expected: checksum.clone(),
            crc32c_found: checksum,
            ..IntegrityReport::default()
        }
    }

    #[test]
    fn combined_checksums_cover_all_bytes() {
        let combined = combine(report(b"first bytes"), report(b"and the others"));
        let expected = IntegrityReport {
            transfers: 2,
            ..report(b"first bytesand the others")
        };
        assert_eq!(combined, expected);
    }

    #[test]
    fn combining_with_an_empty_report_changes_nothing() {
        let one = report(b"bytes");
        assert_eq!(combine(one.clone(), IntegrityReport::default()), one);
        assert_eq!(combine(IntegrityReport::default(), one.clone()), one);
    }
}

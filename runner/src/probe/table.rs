//! Formats the findings as a table. Performs no I/O.

use comfy_table::{ContentArrangement, Table, presets};

use super::Finding;

/// Width of the table in columns if the output is not a terminal. Paths fit in one line, so that they can be searched for.
const PLAIN_WIDTH: u16 = 400;

/// Formats `findings` as a table.
pub fn format_table(findings: &[Finding]) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(["", "name", "available", "description, or reason and fix"]);
    if !table.is_tty() {
        table.set_width(PLAIN_WIDTH);
    }
    for finding in findings {
        let (available, text) = match &finding.result {
            Ok(text) => ("yes".to_owned(), text.as_str()),
            Err(failure) => (format!("no: {:?}", failure.reason), failure.message.as_str()),
        };
        table.add_row([finding.what.as_str(), &finding.name, &available, text]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use crds::record::{CaseFailure, FailureReason};

    use super::*;

    #[test]
    fn shows_why_a_transport_is_unavailable() {
        let finding = Finding {
            what: "transport".into(),
            name: "libfabric efa".into(),
            result: Err(CaseFailure {
                reason: FailureReason::NoDevice,
                message: "no EFA device".into(),
            }),
        };
        let text = format_table(&[finding]);
        assert!(
            text.contains("no: NoDevice") && text.contains("no EFA device"),
            "{text}"
        );
    }
}

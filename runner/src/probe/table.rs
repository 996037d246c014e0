//! The findings as a table. Pure.

use comfy_table::{ContentArrangement, Table, presets};

use super::Finding;

/// Columns where there is no terminal that has a width.
const PLAIN_WIDTH: u16 = 120;

/// The findings for people.
pub fn table(findings: &[Finding]) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(["", "name", "available", "what it is, or why not and what to do"]);
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
    fn what_is_missing_says_why() {
        let finding = Finding {
            what: "transport".into(),
            name: "libfabric efa".into(),
            result: Err(CaseFailure {
                reason: FailureReason::NoDevice,
                message: "no EFA device".into(),
            }),
        };
        let text = table(&[finding]);
        assert!(
            text.contains("no: NoDevice") && text.contains("no EFA device"),
            "{text}"
        );
    }
}

//! Whether an output comes from exactly one complete run of a tool. An imported log and the output of a command are checked
//! alike.

use crds::v1alpha1::CommandTool;
use snafu::ensure;

use crate::error::{
    MissingSnafu, NoEndSnafu, NoOperationsSnafu, RepeatedSnafu, SeveralRunsSnafu, SeveralTablesSnafu,
};
use crate::found::{ParsedOutput, Setting, shown};
use crate::{ParseError, Row};

/// Fails unless `found` comes from exactly one complete run.
///
/// # Errors
/// Returns an error if a result is missing, repeated or not whole, or if the output contains several runs.
pub fn check(tool: CommandTool, found: &ParsedOutput) -> Result<(), ParseError> {
    check_one_run(found)?;
    if let Some(line) = &found.unread {
        return Err(ParseError::not_whole(line, found.columns));
    }
    if found.cycles <= 1 {
        check_unique_sizes(&found.rows)?;
    }
    let expected = match tool {
        CommandTool::NcclTests => "the line `# Avg bus bandwidth`",
        CommandTool::Perftest => "a line of hyphens",
        _ => "the end of the output",
    };
    ensure!(found.has_end != Some(false), NoEndSnafu { expected });
    if let Some(what) = &found.missing {
        return MissingSnafu { what }.fail();
    }
    match found.rows.iter().find(|row| row.operations == Some(0)) {
        Some(row) => NoOperationsSnafu { size: of_size(row) }.fail(),
        None => Ok(()),
    }
}

/// Fails if `found` contains headers, titles or settings of several runs.
fn check_one_run(found: &ParsedOutput) -> Result<(), ParseError> {
    if let [first, second, ..] = found.headers.as_slice() {
        let (first, second) = (shown(first), shown(second));
        if first != second {
            return SeveralTablesSnafu { first, second }.fail();
        }
        let what = format!("it has the header `{first}` more than once");
        return SeveralRunsSnafu { what }.fail();
    }
    if let [first, second, ..] = found.tests.as_slice() {
        let what = format!("it has the titles `{}` and `{}`", shown(first), shown(second));
        return SeveralRunsSnafu { what }.fail();
    }
    let is_ambiguous = |setting: &&Setting| {
        let other = |other: &Setting| other.name == setting.name && other.value != setting.value;
        setting.identifies_test && found.settings.iter().any(other)
    };
    let Some(setting) = found.settings.iter().find(is_ambiguous) else {
        return Ok(());
    };
    let values = found.settings.iter().filter(|other| other.name == setting.name);
    let values: Vec<String> = values.map(|other| format!("`{}`", other.value)).take(4).collect();
    let what = format!("the results have the {} {}", setting.name, values.join(", "));
    SeveralRunsSnafu { what }.fail()
}

/// Fails if two results have the same size.
fn check_unique_sizes(rows: &[Row]) -> Result<(), ParseError> {
    let mut sorted: Vec<&Row> = rows.iter().collect();
    let bytes = |row: &Row| row.size.map(|size| size.bytes);
    sorted.sort_by_key(|row| bytes(row));
    let repeated = sorted.windows(2).find_map(|pair| match pair {
        [first, second] if bytes(first) == bytes(second) => Some(*first),
        _ => None,
    });
    match repeated {
        Some(row) => RepeatedSnafu { size: of_size(row) }.fail(),
        None => Ok(()),
    }
}

/// Describes the size of a result.
fn of_size(row: &Row) -> String {
    match row.size {
        Some(size) => format!("of {} bytes", size.bytes),
        None => "without a size".to_owned(),
    }
}

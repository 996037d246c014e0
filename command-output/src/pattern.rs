//! Parses the output of an arbitrary program with a user-supplied regular expression.

use crds::v1alpha1::CommandPattern;
use regex_lite::{Captures, Regex, RegexBuilder};
use snafu::{Snafu, ensure};

use crate::error::{PartOfNumberSnafu, SeveralMatchesSnafu};
use crate::found::{UnknownLines, shown};
use crate::lines::Lines;
use crate::row::PrintedSize;
use crate::table::{number, whole_number};
use crate::{ParseError, ParsedOutput, Row};

/// Maximum size of a compiled regular expression, in bytes.
const MAX_COMPILED_BYTES: usize = 1 << 20;
/// Maximum number of bytes of a line that are matched against a regular expression. The rest of a longer line is
/// ignored.
const MAX_LINE_BYTES: usize = 4096;
/// Names of the groups.
const GROUPS: [&str; 3] = ["size", "latency", "bandwidth"];

/// Problem with a pattern, and the field that causes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    /// Name of the pattern field.
    pub field: &'static str,
    /// Description of the problem.
    pub problem: PatternProblem,
}

/// Reason that a pattern is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Snafu)]
pub enum PatternProblem {
    /// The regular expression has a syntax error.
    #[snafu(display("the regular expression is invalid: {reason}"))]
    Syntax {
        /// Description of the error.
        reason: String,
    },
    /// A group has an unknown name.
    #[snafu(display("the group `{name}` is unknown; the groups are size, latency and bandwidth"))]
    UnknownGroup {
        /// Name of the group.
        name: String,
    },
    /// The regular expression has no group for a result.
    #[snafu(display(
        "the regular expression needs a latency or bandwidth group, such as (?<latency>[0-9.]+)"
    ))]
    NoResult,
    /// A group has no unit.
    #[snafu(display("the {group} group needs a unit"))]
    NoUnit {
        /// Name of the group.
        group: &'static str,
    },
    /// A unit has no group.
    #[snafu(display("the regular expression has no {group} group"))]
    NoGroup {
        /// Name of the group.
        group: &'static str,
    },
}

/// Compiles a regular expression.
fn compile(expression: &str) -> Result<Regex, PatternProblem> {
    let compiled = RegexBuilder::new(expression)
        .size_limit(MAX_COMPILED_BYTES)
        .build();
    compiled.map_err(|error| PatternProblem::Syntax {
        reason: error.to_string(),
    })
}

/// A compiled regular expression that is searched for in single lines.
#[derive(Clone, Debug)]
pub struct LinePattern(Regex);

impl LinePattern {
    /// Compiles `expression`.
    ///
    /// # Errors
    /// Returns an error if the expression is invalid.
    pub fn new(expression: &str) -> Result<Self, PatternProblem> {
        compile(expression).map(Self)
    }

    /// Whether the expression matches any part of `line`.
    pub fn is_match(&self, line: &str) -> bool {
        self.0.is_match(limit_length(line))
    }

    /// Lines that the expression does not match, neither with nor without the prefixes of a launcher.
    pub(crate) fn unmatched(&self, lines: &Lines<'_>) -> UnknownLines {
        let mut unknown = UnknownLines::default();
        for line in &lines.lines {
            let is_empty = line.text.trim().is_empty();
            if !is_empty && !self.is_match(line.raw) && !self.is_match(&line.text) {
                unknown.add(line);
            }
        }
        unknown
    }
}

/// Checks a pattern.
///
/// # Errors
/// Returns an error if the regular expression is invalid, has an unknown group, or its groups do not match the units.
pub fn check(pattern: &CommandPattern) -> Result<(), PatternError> {
    let at = |field| move |problem| PatternError { field, problem };
    let regex = compile(&pattern.expression).map_err(at("expression"))?;
    let names: Vec<&str> = regex.capture_names().flatten().collect();
    if let Some(name) = names.iter().find(|name| !GROUPS.contains(name)) {
        let name = (*name).to_owned();
        return Err(at("expression")(PatternProblem::UnknownGroup { name }));
    }
    if !names.contains(&"latency") && !names.contains(&"bandwidth") {
        return Err(at("expression")(PatternProblem::NoResult));
    }
    let units = [
        ("latency", "latencyUnit", pattern.latency_unit.is_some()),
        ("bandwidth", "bandwidthUnit", pattern.bandwidth_unit.is_some()),
    ];
    for (group, field, has_unit) in units {
        match (names.contains(&group), has_unit) {
            (true, false) => return Err(at(field)(PatternProblem::NoUnit { group })),
            (false, true) => return Err(at(field)(PatternProblem::NoGroup { group })),
            _ => {}
        }
    }
    Ok(())
}

/// Reads all lines that the pattern matches.
pub fn parse(pattern: &CommandPattern, output: &str, lines: &Lines<'_>) -> Result<ParsedOutput, ParseError> {
    let regex = compile(&pattern.expression).map_err(|problem| ParseError::Pattern {
        problem: problem.to_string(),
    })?;
    let raw = output.lines().map(str::to_owned);
    let mut found = rows(pattern, &regex, raw)?;
    if found.rows.is_empty() {
        // The expression may describe the lines as the program prints them, without the prefixes of a launcher.
        let texts = lines.lines.iter().map(|line| line.text.clone().into_owned());
        found = rows(pattern, &regex, texts)?;
    }
    Ok(found)
}

/// Reads the matches in `lines`.
fn rows(
    pattern: &CommandPattern,
    regex: &Regex,
    lines: impl Iterator<Item = String>,
) -> Result<ParsedOutput, ParseError> {
    let mut found = ParsedOutput::default();
    for line in lines {
        let line = limit_length(&line);
        let mut matches = regex.captures_iter(line);
        let Some(captures) = matches.next() else {
            continue;
        };
        let has_another = matches.any(|captures| captures.get(0).is_some_and(|found| !found.is_empty()));
        ensure!(!has_another, SeveralMatchesSnafu { line: shown(line) });
        found.rows.push(row(pattern, &captures, line)?);
    }
    Ok(found)
}

/// Reads the result in `captures`.
fn row(pattern: &CommandPattern, captures: &Captures<'_>, line: &str) -> Result<Row, ParseError> {
    let text = |group: &str| {
        let found = captures.name(group)?;
        let is_part = continues(&line[found.end()..]) || precedes(&line[..found.start()]);
        Some(match is_part {
            true => PartOfNumberSnafu {
                text: found.as_str(),
                line: shown(line),
            }
            .fail(),
            false => Ok(found.as_str()),
        })
    };
    let value = |group: &str, unit: Option<f64>| {
        let printed = text(group)
            .map(|text| number(&normalized(text?), line))
            .transpose()?;
        Ok(printed.and_then(|value| Some(value.scaled(unit?))))
    };
    let size = text("size").map(|text| whole_number(text?, line)).transpose()?;
    Ok(Row {
        size: size.map(PrintedSize::exact),
        implied_size: None,
        latency: value("latency", pattern.latency_unit.map(|unit| unit.nanos()))?,
        bandwidth: value(
            "bandwidth",
            pattern.bandwidth_unit.map(|unit| unit.bytes_per_second()),
        )?,
        operations: None,
        payload_bytes: None,
    })
}

/// Whether `rest`, the text after a number, is a part of the number, such as `.5`, `e+03` or `,000`.
fn continues(rest: &str) -> bool {
    let mut characters = rest.chars();
    let is_digit = |character: Option<char>| character.is_some_and(|character| character.is_ascii_digit());
    match characters.next() {
        Some('0'..='9') => true,
        Some('.' | ',') => is_digit(characters.next()),
        Some('e' | 'E') => {
            let exponent = rest[1..].trim_start_matches(['+', '-']);
            is_digit(exponent.chars().next())
        }
        _ => false,
    }
}

/// Whether `before`, the text before a number, is a part of the number: digits, or a minus sign that no word precedes.
fn precedes(before: &str) -> bool {
    let mut characters = before.chars().rev();
    match (characters.next(), characters.next()) {
        (Some('0'..='9'), _) => true,
        (Some('.' | ','), Some('0'..='9')) => true,
        (Some('-'), previous) => {
            previous.is_none_or(|previous| previous.is_whitespace() || "=:(".contains(previous))
        }
        _ => false,
    }
}

/// Converts a number in the notation of another language, such as `.5`, `5.`, `+5` or `005`, to the notation of `printf`.
fn normalized(text: &str) -> String {
    let text = text.trim().trim_start_matches('+');
    let text = text.strip_suffix('.').unwrap_or(text);
    let digits = text.trim_start_matches('0');
    match digits.chars().next() {
        Some(first) if first.is_ascii_digit() => digits.to_owned(),
        _ if digits.len() < text.len() || text.starts_with('.') => format!("0{digits}"),
        _ => text.to_owned(),
    }
}

fn limit_length(line: &str) -> &str {
    let mut end = line.len().min(MAX_LINE_BYTES);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    &line[..end]
}

#[cfg(test)]
mod tests {
    use crds::v1alpha1::{RateUnit, TimeUnit};

    use super::*;

    fn pattern(expression: &str, latency: bool, bandwidth: bool) -> CommandPattern {
        CommandPattern {
            expression: expression.to_owned(),
            latency_unit: latency.then_some(TimeUnit::Ms),
            bandwidth_unit: bandwidth.then_some(RateUnit::Gb),
        }
    }

    #[test]
    fn groups_and_units_must_match() {
        let problem = |expression, latency, bandwidth| {
            let error = check(&pattern(expression, latency, bandwidth)).unwrap_err();
            format!("{}: {}", error.field, error.problem)
        };
        assert!(problem("(", true, false).starts_with("expression: the regular expression is invalid"));
        assert!(problem("(?<rate>.*)", true, false).contains("`rate` is unknown"));
        assert!(problem("(?<size>.*)", false, false).contains("needs a latency or bandwidth group"));
        assert_eq!(
            problem("(?<latency>.*)", false, false),
            "latencyUnit: the latency group needs a unit"
        );
        assert_eq!(
            problem("(?<latency>.*)", true, true),
            "bandwidthUnit: the regular expression has no bandwidth group"
        );
        assert_eq!(
            check(&pattern("(?<latency>.*) (?<bandwidth>.*)", true, true)),
            Ok(())
        );
    }

    #[test]
    fn values_are_converted() {
        let pattern = pattern(
            r"^(?<size>\d+) took (?<latency>[0-9.]+) at (?<bandwidth>[0-9.]+)",
            true,
            true,
        );
        let rows = parse(
            &pattern,
            "hello\n64 took 1.5 at 8\n128 took 0 at 16\n",
            &Lines::default(),
        )
        .unwrap()
        .rows;
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].latency_nanos(), Some(1.5e6));
        assert_eq!(rows[0].bytes_per_second(), Some(1e9));
        assert!(rows[0].matches_size(64) && !rows[0].matches_size(128));
        assert_eq!(rows[1].latency_nanos(), None, "0 is below the resolution");
    }

    #[test]
    fn a_group_must_match_a_whole_number() {
        let pattern = pattern(r"lat (?<latency>[0-9.]+)", true, false);
        let value = |line: &str| parse(&pattern, line, &Lines::read(line)).map(|found| found.rows[0].latency);
        assert_eq!(value("lat 1.5 ms\n").unwrap().unwrap().value, 1.5e6);
        assert_eq!(
            value("2026-03-04T09:12:00Z lat .5\n").unwrap().unwrap().value,
            5e5
        );
        for line in ["lat 1.5e+03 ms\n", "lat 1,500 ms\n"] {
            let error = value(line).unwrap_err();
            assert!(
                matches!(error, ParseError::PartOfNumber { .. }),
                "{line}: {error}"
            );
        }
        let error = value("lat 1.5 ms lat 1.6 ms\n").unwrap_err();
        assert!(matches!(error, ParseError::SeveralMatches { .. }), "{error}");
        let exponent = super::tests::pattern(r"lat (?<latency>[0-9.e+-]+)", true, false);
        let printed = parse(&exponent, "lat 1.5e+03 ms\n", &Lines::default())
            .unwrap()
            .rows[0]
            .latency
            .unwrap();
        assert_eq!(
            (printed.value, printed.least, printed.most),
            (1.5e9, 1.45e9, 1.55e9)
        );
    }

    #[test]
    fn long_lines_are_truncated() {
        let ready = LinePattern::new("rea.y").unwrap();
        assert!(!ready.is_match(&format!("{}ready", "é".repeat(MAX_LINE_BYTES))));
        assert!(ready.is_match("now ready"));
    }
}

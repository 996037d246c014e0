//! Parses the output of an arbitrary program with a user-supplied regular expression.

use crds::v1alpha1::CommandPattern;
use regex_lite::{Regex, RegexBuilder};
use snafu::Snafu;

use crate::row::PrintedSize;
use crate::table::{number, whole_number};
use crate::{ParseError, ParsedOutput, Printed, Row};

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
pub fn parse(pattern: &CommandPattern, output: &str) -> Result<ParsedOutput, ParseError> {
    let regex = compile(&pattern.expression).map_err(|problem| ParseError::Pattern {
        problem: problem.to_string(),
    })?;
    let lines = output.lines().map(limit_length);
    let matches = lines.filter_map(|line| Some((line, regex.captures(line)?)));
    let rows = matches.map(|(line, captures)| {
        let value = |group: &str| {
            let text = captures.name(group).map(|group| group.as_str());
            text.map(|text| number(&normalized(text), line)).transpose()
        };
        let (latency, bandwidth) = (value("latency")?, value("bandwidth")?);
        let latency_unit = pattern.latency_unit.map(|unit| unit.nanos());
        let bandwidth_unit = pattern.bandwidth_unit.map(|unit| unit.bytes_per_second());
        let scaled = |value: Option<Printed>, unit: Option<f64>| Some(value?.scaled(unit?));
        Ok(Row {
            size: captures
                .name("size")
                .map(|group| whole_number(group.as_str(), line).map(PrintedSize::exact))
                .transpose()?,
            latency: scaled(latency, latency_unit),
            bandwidth: scaled(bandwidth, bandwidth_unit),
            operations: None,
            payload_bytes: None,
        })
    });
    let rows: Result<_, _> = rows.collect();
    Ok(ParsedOutput::from_rows(rows?))
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
        let rows = parse(&pattern, "hello\n64 took 1.5 at 8\n128 took 0 at 16\n")
            .unwrap()
            .rows;
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].latency_nanos(), Some(1.5e6));
        assert_eq!(rows[0].bytes_per_second(), Some(1e9));
        assert!(rows[0].matches_size(64) && !rows[0].matches_size(128));
        assert_eq!(rows[1].latency_nanos(), None, "0 is below the resolution");
    }

    #[test]
    fn long_lines_are_truncated() {
        let ready = LinePattern::new("rea.y").unwrap();
        assert!(!ready.is_match(&format!("{}ready", "é".repeat(MAX_LINE_BYTES))));
        assert!(ready.is_match("now ready"));
    }
}

//! Table of successful calls, and the fastest calls.

use campaign::format;
use campaign::summarize::CellSummary;
use crds::v1alpha1::{CallSection, RpcChannel, RpcPayload};
use serde::Serialize;

use super::Test;
use crate::report::document::{Column, Detail, Note, Row, Table};

/// Successful calls with the smallest mean.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Fastest<'a> {
    /// Name of the scenario.
    pub scenario_name: &'a str,
    /// Payload of the calls.
    pub payload: RpcPayload,
    /// Name of the arm.
    pub arm_name: &'a str,
    /// Mean in nanoseconds.
    pub mean_nanos: f64,
}

impl Fastest<'_> {
    /// Formats the test and its mean.
    pub(super) fn line(&self, with_scenario: bool) -> String {
        let scenario = match with_scenario {
            true => format!(" in scenario {}", self.scenario_name),
            false => String::new(),
        };
        format!(
            "{} over {}{scenario}, mean {}",
            self.payload.name(),
            self.arm_name,
            format::nanos(self.mean_nanos)
        )
    }
}

/// Returns the fastest of `tests`. Calls that are not successful do not count, even if some of their cases were measured,
/// and neither do those of an open loop, whose times depend on the rate, and those below the clock.
pub(super) fn fastest<'a>(tests: &[Test<'a>]) -> Option<Fastest<'a>> {
    let successful = tests
        .iter()
        .filter(|test| test.section == CallSection::Successful);
    let measured = successful.filter_map(|test| {
        let call = test.cell.call.as_ref()?;
        Some(Fastest {
            scenario_name: test.scenario,
            payload: call.payload,
            arm_name: &test.arm.name,
            mean_nanos: call.moments_of_calls()?.mean_nanos,
        })
    });
    measured.min_by(|one, other| one.mean_nanos.total_cmp(&other.mean_nanos))
}

/// Returns the table of a scenario's successful `tests`. Columns that do not apply to any test are omitted.
pub(super) fn table(title: String, tests: &[&Test<'_>]) -> Table {
    let has_hops = tests.iter().any(|test| {
        test.cell
            .call
            .as_ref()
            .is_some_and(|call| call.hops > 1 && call.moments_of_calls().is_some())
    });
    let has_local = tests.iter().any(|test| local_mean(tests, test).is_some());
    let mut columns = vec!["test", "arm", "mean", "std dev", "min", "max", "samples"];
    if has_hops {
        columns.extend(["hops", "per hop"]);
    }
    if has_local {
        columns.push("x local");
    }
    let rows = tests.iter().filter_map(|test| {
        let call = test.cell.call.as_ref()?;
        let moments = call.moments?;
        let nanos = |nanos: Option<f64>| nanos.map_or_else(|| "n/a".to_owned(), format::nanos);
        let deviation = moments
            .deviation_nanos
            .filter(|_| !call.is_below_clock(moments.mean_nanos));
        let extreme = |nanos: Option<u64>| {
            let nanos = nanos.map(|nanos| nanos as f64);
            nanos.filter(|nanos| !call.is_below_clock(*nanos))
        };
        let mut row = vec![
            test.subject(),
            test.arm.name.clone(),
            time(test.cell, moments.mean_nanos),
            nanos(deviation),
            nanos(extreme(test.cell.min_nanos)),
            nanos(extreme(test.cell.max_nanos)),
            moments.samples.to_string(),
        ];
        if has_hops {
            row.extend([call.hops.to_string(), nanos(call.hop_nanos())]);
        }
        if has_local {
            let ratio = call.moments_of_calls().zip(local_mean(tests, test));
            let ratio = ratio.map(|(moments, local)| format::ratio(moments.mean_nanos / local));
            row.push(ratio.unwrap_or_else(|| "n/a".to_owned()));
        }
        Some(Row::new(row))
    });
    Table::new(title, Column::all(columns), rows).notes(notes(tests))
}

/// Formats `nanos` nanoseconds of `cell`. If they are the time of calls that are below the clock, returns the time of one
/// reading of the clock instead.
pub(crate) fn time(cell: &CellSummary, nanos: f64) -> String {
    let below = cell.call.as_ref().filter(|call| call.is_below_clock(nanos));
    match below.and_then(|call| call.clock_nanos) {
        Some(clock_nanos) => format!("below the clock ({})", format::nanos(clock_nanos)),
        None => format::nanos(nanos),
    }
}

/// Explains calls that are below the clock, if there are any.
fn notes(tests: &[&Test<'_>]) -> Option<Note> {
    let mut calls = tests.iter().filter_map(|test| test.cell.call.as_ref());
    let explanation = "Calls that take less time than one reading of the clock are below the clock. Their samples consist \
                       mainly of the reading. They have no time for each hop, no other calls are \
                       compared with them, and they are never the fastest. Other values below the clock are n/a.";
    calls
        .any(|call| call.below_clock)
        .then(|| Note::new("", explanation, Detail::Brief))
}

/// Returns the mean of the first local arm with the payload of `test`, in nanoseconds; `None` if there is none, the mean is
/// 0, the scenario is an open loop, or the local calls are below the clock.
fn local_mean(tests: &[&Test<'_>], test: &Test<'_>) -> Option<f64> {
    let mut local = tests.iter().filter(|other| {
        other.arm.channel == RpcChannel::Local && other.cell.size_bytes == test.cell.size_bytes
    });
    let moments = local.next()?.cell.call.as_ref()?.moments_of_calls()?;
    Some(moments.mean_nanos).filter(|mean| *mean > 0.0)
}

//! One side's report of a measured case, from the parts of its threads. Pure.

use std::collections::BTreeSet;

use crds::record::{CaseFailure, FailureReason, Posted, SideReport};

use super::case::Case;
use super::case_protocol::ThreadReport;
use super::engine::failure;
use crate::measure::recorder::Recorder;
use crate::posting::{counters, evidence};

/// The side's report.
///
/// # Errors
/// When thread 0 has no part, which would be ours.
pub(super) fn side(case: &Case<'_>, threads: Vec<ThreadReport>) -> Result<SideReport, CaseFailure> {
    let mut side = None;
    let mut posted: Option<Posted> = None;
    let (mut first_post, mut last_completion) = (u64::MAX, 0);
    let mut recorders = Vec::new();
    let mut migrations = 0;
    for thread in threads {
        side = side.or(thread.side);
        migrations += u64::from(thread.migrated);
        let Some((done, counted)) = thread.done else {
            continue;
        };
        let posted = posted.get_or_insert_with(|| Posted {
            counters: counters::fresh(counted.bytes_per_rail.len()),
            ..Posted::default()
        });
        posted.operations += done.operations;
        counters::add(&mut posted.counters, &counted);
        first_post = first_post.min(done.first_post);
        last_completion = last_completion.max(done.last_completion);
        recorders.push(done.recorder);
    }
    let Some(mut side) = side else {
        let message = "the conducting thread has no report".to_owned();
        return Err(failure(FailureReason::Internal, message));
    };
    side.migrations = migrations;
    side.posted = posted.map(|posted| {
        let latency = Recorder::finish(recorders);
        Posted {
            payload_bytes: posted.operations * case.size_bytes,
            elapsed_nanos: last_completion.saturating_sub(first_post),
            latency: latency.histogram,
            min_nanos: latency.min_nanos,
            max_nanos: latency.max_nanos,
            exclusive_quantiles: latency.exclusive_quantiles,
            ..posted
        }
    });
    Ok(side)
}

/// Evidence lines that were not given out before for this size; remembers them in `given`.
pub(super) fn new_evidence(
    given: &mut BTreeSet<(u64, String)>,
    case: &Case<'_>,
    side: &SideReport,
    rails: usize,
) -> Vec<String> {
    let Some(posted) = &side.posted else {
        return Vec::new();
    };
    let lines = evidence::lines(&posted.counters, case.arm.striping, case.size_bytes, rails as u64);
    let is_new = |line: &String| given.insert((case.size_bytes, line.clone()));
    lines.into_iter().filter(is_new).collect()
}

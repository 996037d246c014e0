//! Workers whose control messages an interface can carry while cases run.

use std::collections::BTreeMap;

use super::hosts::host;
use crate::collect::{Case, Reports};

/// Leg, attempt, block, arm and start of cases that the coordinator starts together.
type StartKey = (u32, u32, u32, usize, u64);

/// Sides of the cases that start together. Worker 0 coordinates them, so all of them exchange control messages with its host.
#[derive(Debug)]
pub(super) struct ControlSides {
    by_start: BTreeMap<StartKey, u64>,
}

impl ControlSides {
    /// Counts the sides of all cases, measured or not.
    pub(super) fn new(reports: &Reports) -> Self {
        let mut by_start = BTreeMap::new();
        for case in &reports.cases {
            *by_start.entry(start_key(case)).or_default() += 2;
        }
        Self { by_start }
    }

    /// Sides of the cases that start together with `case`, if `of_host` is the coordinator's host; 0 otherwise.
    pub(super) fn on_host(&self, reports: &Reports, case: &Case, of_host: &str) -> u64 {
        if host(reports, case, 0) != of_host {
            return 0;
        }
        self.by_start.get(&start_key(case)).copied().unwrap_or_default()
    }
}

fn start_key(case: &Case) -> StartKey {
    (case.leg, case.attempt, case.block, case.arm, case.started_nanos)
}

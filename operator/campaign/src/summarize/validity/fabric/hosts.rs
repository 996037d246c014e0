//! Hosts of the workers of a case.

use crate::collect::{Case, Reports};

/// Host name of a worker. Workers on the same host see the same interfaces.
pub(super) fn host(reports: &Reports, case: &Case, rank: u32) -> String {
    reports.hello(case, rank).map_or_else(
        || format!("rank {rank}"),
        |hello| hello.environment.hostname.clone(),
    )
}

/// Host names of the initiator and the target of `case`.
pub(super) fn hosts(reports: &Reports, case: &Case) -> [String; 2] {
    [case.initiator, case.target].map(|rank| host(reports, case, rank))
}

//! Hosts of the workers of a case.

use crds::record::HostEnvironment;

use crate::collect::{Case, Reports};

/// Hostname of a worker, for messages.
pub(super) fn hostname(reports: &Reports, case: &Case, rank: u32) -> String {
    of(reports, case, rank, |environment| &environment.hostname)
}

/// Host of a worker: its network namespace, or its hostname if that is unknown. Workers on the same host see the same
/// interfaces.
pub(super) fn host(reports: &Reports, case: &Case, rank: u32) -> String {
    of(reports, case, rank, HostEnvironment::network)
}

/// Hosts of the initiator and the target of `case`.
pub(super) fn hosts(reports: &Reports, case: &Case) -> [String; 2] {
    [case.initiator, case.target].map(|rank| host(reports, case, rank))
}

fn of(reports: &Reports, case: &Case, rank: u32, name: impl Fn(&HostEnvironment) -> &str) -> String {
    reports.hello(case, rank).map_or_else(
        || format!("rank {rank}"),
        |hello| name(&hello.environment).to_owned(),
    )
}

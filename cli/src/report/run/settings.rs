//! Settings of a whole run: libraries, rails, memory, workers, rounds and seed.

use std::collections::BTreeSet;

use campaign::distinct::distinct;
use campaign::format;
use campaign::plan::Plan;
use campaign::summarize::ArmFacts;
use crds::record::LibraryFacts;
use crds::v1alpha1::{MemoryKind, Stop, TransportSpec};

use crate::report::Report;

/// Formats each library with its versions and provider.
///
/// If a library returned a provider under a different name than the requested one, the returned name follows in
/// parentheses. Writes that complete locally are mentioned, because their latencies cannot be compared with others.
pub(super) fn transport(report: &Report<'_>) -> String {
    let transports = report.plan.transports();
    // The transports of two variants may differ in other fields only.
    let described = distinct(transports.map(|transport| describe_library(report, transport)));
    described.join(", ")
}

/// Formats the library of the arms that use `transport`.
fn describe_library(report: &Report<'_>, transport: &TransportSpec) -> String {
    let arms = report.evaluation.summary.environment.arms.iter();
    let uses = |arm: &&ArmFacts| {
        let mut planned = report.plan.arms.iter();
        let planned = planned.find(|planned| planned.name == arm.arm);
        planned.is_some_and(|planned| report.plan.transport_of(planned) == transport)
    };
    let arms: Vec<_> = arms.filter(uses).collect();
    let libraries = arms.iter().filter_map(|arm| arm.fabric.library.as_ref());
    let versions = distinct(libraries.map(|library| library.version.as_str()));
    let library = transport.library();
    let requested = match transport {
        TransportSpec::Libfabric(libfabric) => libfabric.provider.name(),
        _ => "",
    };
    let returned: BTreeSet<&str> = arms.iter().map(|arm| arm.fabric.provider.as_str()).collect();
    let returned: Vec<&str> = returned
        .into_iter()
        .filter(|name| *name != requested && *name != library)
        .collect();
    let mut parts = vec![library.to_owned()];
    if !versions.is_empty() {
        parts.push(versions.join(" and "));
    }
    if !requested.is_empty() {
        parts.push(requested.to_owned());
    }
    if !returned.is_empty() {
        parts.push(format!("({})", returned.join(", ")));
    }
    if transport.completes_writes_locally() {
        parts.push("with writes that complete locally".to_owned());
    }
    parts.join(" ")
}

/// Formats the version and file of each arm's library. Returns `None` if all arms use the same library.
pub(super) fn libraries(report: &Report<'_>) -> Option<String> {
    let mut arms_by_library: Vec<(&LibraryFacts, Vec<&str>)> = Vec::new();
    for arm in &report.evaluation.summary.environment.arms {
        let Some(library) = &arm.fabric.library else {
            continue;
        };
        match arms_by_library.iter_mut().find(|(known, _)| *known == library) {
            Some((_, arms)) => arms.push(&arm.arm),
            None => arms_by_library.push((library, vec![&arm.arm])),
        }
    }
    let descriptions = arms_by_library.iter().map(|(library, arms)| {
        let LibraryFacts {
            name, version, path, ..
        } = library;
        format!("{}: {name} {version} ({path})", arms.join(", "))
    });
    (arms_by_library.len() > 1).then(|| descriptions.collect::<Vec<_>>().join("; "))
}

/// Describes the workers, such as `5 workers (4 senders, 1 receiver)`.
pub(crate) fn workers(plan: &Plan) -> String {
    let workers = format::pluralized(plan.workers.into(), "worker");
    match plan.many_to_many {
        Some(pattern) => format!(
            "{workers} ({}, {})",
            format::pluralized(pattern.senders.into(), "sender"),
            format::pluralized(pattern.receivers.into(), "receiver")
        ),
        None => workers,
    }
}

/// Lists the number of rails, the memory, the number of workers and rounds, the seed and the duration.
pub(super) fn settings(report: &Report<'_>) -> Vec<String> {
    let plan = report.plan;
    let kinds = plan
        .scenarios
        .iter()
        .flat_map(|scenario| scenario.assignment.distinct_memory_kinds());
    let memory = distinct(kinds.map(|kind| match kind {
        MemoryKind::Heap => "heap",
        MemoryKind::HugePages => "huge pages",
        MemoryKind::SharedMemory => "shared memory",
        MemoryKind::Cuda => "GPU memory",
    }));
    let environment = &report.evaluation.summary.environment;
    let hosts: BTreeSet<&str> = environment
        .workers
        .iter()
        .map(|worker| worker.hello.environment.hostname.as_str())
        .collect();
    let location = match hosts.len() {
        1 => " on one machine",
        _ => "",
    };
    let pluralized = |count: u32, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let mut settings = vec![
        pluralized(plan.transport.rails(), "rail"),
        memory.join(", "),
        format!("{}{location}", workers(plan)),
        match plan.sampling.stop {
            Stop::Fixed => pluralized(plan.rounds, "round"),
            Stop::Settled => format!("up to {}", pluralized(plan.rounds, "round")),
        },
        seed(plan),
    ];
    if environment.duration_nanos > 0 {
        settings.push(format::duration(environment.duration_nanos));
    }
    settings
}

/// Formats the seed and says whether it is random.
pub(crate) fn seed(plan: &Plan) -> String {
    let kind = if plan.sampling.seed.is_none() {
        "random seed"
    } else {
        "seed"
    };
    format!("{kind} {}", plan.seed)
}

//! Finds the differences that make two runs incomparable. Performs no I/O.

use std::collections::BTreeSet;

use crds::record::{HardwareFacts, HostEnvironment, RailFacts};

use super::difference::{Difference, join};
use super::{FinishedRun, reported};
use crate::format;
use crate::plan::{Arm, PlannedScenario};

/// A property of a run: its name and a function that describes its value in a run.
type Property = (&'static str, fn(&FinishedRun<'_>) -> String);

/// Properties on which comparable runs must agree, in the order in which differences are reported.
const PROPERTIES: [Property; 23] = [
    ("workers", |run| run.plan.workers.to_string()),
    ("arms", |run| list(variants(run).map(|arm| arm.name.clone()))),
    ("baseline", |run| {
        let baseline = run.plan.arms.get(run.plan.baseline);
        baseline.map(|arm| arm.name.clone()).unwrap_or_default()
    }),
    ("runner", |run| {
        let workers = run.evaluation.summary.environment.workers.iter();
        list(workers.map(|worker| worker.hello.runner_version.clone()))
    }),
    ("transport", |run| {
        list(
            run.plan
                .transports()
                .map(|transport| serde_json::to_string(transport).unwrap_or_default()),
        )
    }),
    ("kernel", |run| hosts(run, |host| host.kernel.clone())),
    ("CPU", |run| hosts(run, |host| host.cpu_model.clone())),
    ("allowed CPUs", |run| hosts(run, |host| host.cpus_allowed.clone())),
    ("governor", |run| {
        hosts(run, |host| host.governor.clone().unwrap_or_default())
    }),
    ("CPU limit", |run| {
        hosts(run, |host| limit(host.cpu_limit_millis, "millicores"))
    }),
    ("memory limit", |run| {
        hosts(run, |host| limit(host.memory_limit_bytes, "bytes"))
    }),
    ("RDMA devices", |run| {
        hosts(run, |host| host.rdma_devices.join(" "))
    }),
    ("instance type", |run| {
        hosts(run, |host| {
            host.hardware.instance_type.clone().unwrap_or_default()
        })
    }),
    ("devices", |run| {
        hosts(run, |host| host.hardware.devices().join("; "))
    }),
    ("IOMMU", |run| {
        hosts(run, |host| host.hardware.iommu.clone().unwrap_or_default())
    }),
    ("rdma-core", |run| hosts(run, |host| rdma_core(&host.hardware))),
    ("library", |run| {
        let arms = run.evaluation.summary.environment.arms.iter();
        let libraries = arms.filter_map(|arm| arm.fabric.library.as_ref());
        list(libraries.map(|library| {
            let build = library.build_id.as_ref().map(|build| format!(" (build {build})"));
            format!(
                "{} {}{}",
                library.name,
                library.version,
                build.unwrap_or_default()
            )
        }))
    }),
    ("rails", |run| {
        let arms = run.evaluation.summary.environment.arms.iter();
        list(arms.flat_map(|arm| &arm.fabric.rails).map(rail))
    }),
    ("memory and NICs", |run| {
        list(run.evaluation.summary.environment.device_pairs.iter().cloned())
    }),
    ("claimed devices", |run| {
        list(run.evaluation.summary.environment.claims.iter().cloned())
    }),
    ("provider", |run| {
        let arms = run.evaluation.summary.environment.arms.iter();
        list(arms.map(|arm| format!("{} ({})", arm.fabric.provider, arm.fabric.fabric)))
    }),
    ("polling", |run| {
        let arms = run.evaluation.summary.environment.arms.iter();
        let polling = arms.flat_map(|arm| &arm.fabric.polling);
        list(polling.map(|(scenario, polling)| format!("{scenario} {polling:?}")))
    }),
    ("scenarios", |run| {
        let scenarios = run.plan.scenarios.iter();
        join(scenarios.map(|scenario| scenario.assignment.name.clone()))
    }),
];

/// A property of a scenario or an arm: its name, and a function that describes its value in a run for the scenario or
/// arm with the given name.
type NamedProperty = (&'static str, fn(&FinishedRun<'_>, &str) -> String);

/// Properties of each scenario that both runs have.
const SCENARIO_PROPERTIES: [NamedProperty; 2] = [
    ("sizes", |run, name| {
        scenario(run, name).map_or_else(String::new, |scenario| {
            join(scenario.sizes.iter().map(|size| format::size(*size)))
        })
    }),
    ("workload", |run, name| {
        scenario(run, name).map_or_else(String::new, |scenario| {
            let assignment = &scenario.assignment;
            let workload = serde_json::to_string(&assignment.workload).unwrap_or_default();
            format!("{workload}, memory {}", format::memory_kinds(assignment))
        })
    }),
];

/// Properties of each variant that both runs have.
const ARM_PROPERTIES: [NamedProperty; 2] = [
    ("tuning", |run, name| {
        let arm = run.plan.arms.iter().find(|arm| arm.name == name);
        arm.map_or_else(String::new, tuning_text)
    }),
    ("variables", |run, name| {
        let mut arms = run.evaluation.summary.environment.arms.iter();
        let arm = arms.find(|arm| arm.arm == name);
        let variables = arm.into_iter().flat_map(|arm| &arm.fabric.variables);
        // The hash also covers the parts of variables that the record omits.
        let hash = arm.and_then(|arm| arm.fabric.variables_sha256.as_deref());
        let described = variables.map(|(name, value)| format!("{name}={value}"));
        list(described.chain(hash.map(|hash| format!("SHA-256 {}", shorten_hash(hash)))))
    }),
];

/// Finds the properties in which the runs differ and whose influence could be mistaken for an effect of an arm.
/// Compares [`PROPERTIES`], the properties that not every host reports, and then the [`SCENARIO_PROPERTIES`] and
/// [`ARM_PROPERTIES`] of the scenarios and variants that both runs have.
pub fn differences(first: &FinishedRun<'_>, second: &FinishedRun<'_>) -> Vec<Difference> {
    let runs = (first, second);
    let properties = PROPERTIES.iter();
    let mut found: Vec<Difference> = properties
        .filter_map(|(name, describe)| difference(*name, runs, describe))
        .chain(reported::differences(first, second))
        .collect();
    for scenario in &first.plan.scenarios {
        let name = scenario.assignment.name.as_str();
        if self::scenario(second, name).is_some() {
            found.extend(named_differences(&SCENARIO_PROPERTIES, name, runs));
        }
    }
    for arm in variants(first) {
        if second.plan.arms.iter().any(|other| other.name == arm.name) {
            found.extend(named_differences(&ARM_PROPERTIES, &arm.name, runs));
        }
    }
    found
}

fn tuning_text(arm: &Arm) -> String {
    let inject = arm.inject_max_bytes.map_or_else(
        || "no inject".to_owned(),
        |bytes| format!("inject up to {}", format::size(bytes)),
    );
    let doorbell = arm.doorbell_max_batch.map_or_else(
        || "no doorbell batching".to_owned(),
        |posts| format!("at most {posts} posts per doorbell"),
    );
    format!(
        "{inject}, {doorbell}, {:?} from {} in chunks of at least {}",
        arm.striping.policy,
        format::size(arm.striping.threshold_bytes),
        format::size(arm.striping.min_chunk_bytes)
    )
}

fn rdma_core(hardware: &HardwareFacts) -> String {
    let facts = hardware.rdma_core.as_ref();
    facts.map_or_else(String::new, |facts| {
        let installed: Vec<String> = facts.installed_efa.iter().map(u32::to_string).collect();
        format!("version {}, EFA {}", facts.expected, installed.join(" "))
    })
}

fn named_differences(
    properties: &[NamedProperty],
    name: &str,
    runs: (&FinishedRun<'_>, &FinishedRun<'_>),
) -> impl Iterator<Item = Difference> {
    properties.iter().filter_map(move |(property, describe)| {
        difference(format!("{property} of {name}"), runs, |run| describe(run, name))
    })
}

fn difference(
    property: impl Into<String>,
    (first, second): (&FinishedRun<'_>, &FinishedRun<'_>),
    describe: impl Fn(&FinishedRun<'_>) -> String,
) -> Option<Difference> {
    let (first, second) = (describe(first), describe(second));
    (first != second).then(|| Difference {
        property: property.into(),
        first,
        second,
    })
}

fn scenario<'a>(run: &FinishedRun<'a>, name: &str) -> Option<&'a PlannedScenario> {
    let mut scenarios = run.plan.scenarios.iter();
    scenarios.find(|scenario| scenario.assignment.name == name)
}

fn variants<'a>(run: &FinishedRun<'a>) -> impl Iterator<Item = &'a Arm> {
    run.plan.arms.iter().filter(|arm| arm.control.is_none())
}

fn hosts(run: &FinishedRun<'_>, describe: fn(&HostEnvironment) -> String) -> String {
    let workers = run.evaluation.summary.environment.workers.iter();
    list(workers.map(|worker| describe(&worker.hello.environment)))
}

fn limit(value: Option<u64>, unit: &str) -> String {
    value.map_or_else(|| "none".to_owned(), |value| format!("{value} {unit}"))
}

/// Describes the network link of a rail. The address is omitted because it may change with every run, and the domain
/// name because it may be specific to a process.
fn rail(rail: &RailFacts) -> String {
    let interface = rail.interface.as_deref().unwrap_or("no interface");
    let pci = rail.pci.as_ref().map(|pci| format!(" at {pci}"));
    let rate = rail.line_bits_per_second.map(|rate| format!(", {rate} bit/s"));
    format!(
        "{interface}{}{}",
        pci.unwrap_or_default(),
        rate.unwrap_or_default()
    )
}

/// First digits of a hexadecimal hash, which are enough to distinguish configurations.
fn shorten_hash(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

/// Joins the distinct values with commas, in ascending order.
fn list(values: impl Iterator<Item = String>) -> String {
    let distinct: BTreeSet<String> = values.collect();
    join(distinct.into_iter())
}

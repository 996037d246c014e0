//! Evidence that the environment variables, the library, the image or the device claims in which an arm differs from the
//! baseline can have an effect: whether the loaded libraries know the variables, whether their effective values differ, and
//! whether other files were loaded or other devices obtained. Performs no I/O.

use std::collections::BTreeSet;

use crds::record::{VariableFacts, VariableKnowledge};
use crds::v1alpha1::Engagement;

use super::claims;
use super::difference_evidence::{DifferenceEvidence, DifferenceFinding};
use crate::plan::{Arm, Plan, PlannedScenario, Separation};
use crate::summarize::workers::configurations::{Configuration, ConfigurationIndex};
use crate::summarize::workers::lanes;

/// Number of digits of a hash in a reason.
const HASH_DIGITS: usize = 12;

/// Assesses the differences between `arm` and the baseline in their environment variables, library, image and claims in
/// `scenario`. Empty for the baseline, for control arms, and for arms that share a process with the baseline.
pub(in crate::summarize) fn assess(
    plan: &Plan,
    scenario: &PlannedScenario,
    arm: usize,
    configurations: &ConfigurationIndex<'_>,
) -> Vec<DifferenceEvidence> {
    let (Some(own), Some(baseline)) = (plan.arms.get(arm), plan.arms.get(plan.baseline)) else {
        return Vec::new();
    };
    if own.control.is_some() || own.separation == Separation::Tuning {
        return Vec::new();
    }
    let command = scenario.assignment.workload.tool();
    let name = command.map(|_| scenario.assignment.name.as_str());
    let pairs = configurations.pairs(arm, plan.baseline, name);
    let names: BTreeSet<&String> = own
        .process
        .env
        .keys()
        .chain(baseline.process.env.keys())
        .collect();
    let differs = |name: &&&String| own.process.env.get(**name) != baseline.process.env.get(**name);
    let mut found: Vec<DifferenceEvidence> = names
        .iter()
        .filter(differs)
        .map(|name| variable(name, own, &pairs))
        .collect();
    if own.process.library != baseline.process.library {
        found.push(files("library", &pairs));
    }
    if own.image != baseline.image {
        found.push(image(&pairs));
    }
    let devices = |arm| configurations.devices(arm);
    if own.claims != baseline.claims
        && let (Some(claims), Some(devices_of_arm)) = (&own.claims, devices(arm))
        && let (Some(baseline_claims), Some(devices_of_baseline)) = (&baseline.claims, devices(plan.baseline))
    {
        found.push(claims::difference(
            (claims, devices_of_arm),
            (baseline_claims, devices_of_baseline),
        ));
    }
    found
}

/// Whether none of the differences can have an effect, and the arm has no others: then any measured effect is noise.
pub(crate) fn are_inert(
    plan: &Plan,
    scenario: &PlannedScenario,
    arm: usize,
    found: &[DifferenceEvidence],
) -> bool {
    let (Some(own), Some(baseline)) = (plan.arms.get(arm), plan.arms.get(plan.baseline)) else {
        return false;
    };
    let workload = &scenario.assignment.workload;
    let is_same = plan.transport_of(own) == plan.transport_of(baseline)
        && (own.inject_max_bytes, own.doorbell_max_batch, own.striping)
            == (
                baseline.inject_max_bytes,
                baseline.doorbell_max_batch,
                baseline.striping,
            )
        && (own.channel == baseline.channel || !workload.uses_channels())
        && (own.arguments == baseline.arguments || workload.tool().is_none());
    is_same && !found.is_empty() && found.iter().all(|one| one.engagement == Engagement::NotEngaged)
}

/// Warnings about variables without effect of arms that also differ in other ways. The verdict of an arm without another
/// difference is withheld for the same reason.
pub(in crate::summarize) fn warnings(plan: &Plan, configurations: &ConfigurationIndex<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    for scenario in &plan.scenarios {
        for (index, arm) in plan.arms.iter().enumerate() {
            let found = assess(plan, scenario, index, configurations);
            if are_inert(plan, scenario, index, &found) {
                continue;
            }
            let without_effect = found
                .iter()
                .filter(|one| one.engagement == Engagement::NotEngaged);
            warnings.extend(without_effect.map(|one| {
                format!(
                    "{} of arm \"{}\" had no effect: {}",
                    one.subject, arm.name, one.reason
                )
            }));
        }
    }
    warnings
}

/// Pairs of an arm's and the baseline's configuration, by rank.
type Pairs<'a, 'b> = [(u32, &'a Configuration<'b>, &'a Configuration<'b>)];

/// Evidence about the variable `name`. If the workers differ, the strongest evidence of an effect counts.
fn variable(name: &str, own: &Arm, pairs: &Pairs<'_, '_>) -> DifferenceEvidence {
    let value = own.process.env.get(name);
    let subject = value.map_or_else(|| name.to_owned(), |value| format!("{name}={value}"));
    let assessed = pairs.iter().filter_map(|(_, configuration, reference)| {
        let (of_arm, of_baseline) = (configuration.variables.get(name)?, reference.variables.get(name)?);
        // UCX reports only variables that are set.
        let knowing = if value.is_some() { of_arm } else { of_baseline };
        let lanes = [&configuration.lanes, &reference.lanes].map(Option::as_ref);
        let unused = (knowing.knowledge == VariableKnowledge::Known)
            .then(|| lanes::without_reader(name, lanes))
            .flatten();
        Some(match unused {
            Some(reason) => (DifferenceFinding::NotLoaded, Engagement::NotEngaged, reason),
            None => assess_variable(knowing, of_arm, of_baseline),
        })
    });
    let strongest = assessed.min_by_key(|(finding, ..)| *finding);
    let (finding, engagement, reason) = strongest.unwrap_or_else(|| {
        (
            DifferenceFinding::Unassessed,
            Engagement::RequestedOnly,
            "the workers did not record which files were loaded".to_owned(),
        )
    });
    DifferenceEvidence {
        subject,
        finding,
        engagement,
        reason,
    }
}

fn assess_variable(
    knowing: &VariableFacts,
    of_arm: &VariableFacts,
    of_baseline: &VariableFacts,
) -> (DifferenceFinding, Engagement, String) {
    let reason = knowing.reason.clone();
    let suggestion = knowing
        .nearest
        .as_ref()
        .map_or_else(String::new, |nearest| format!("; did you mean {nearest}?"));
    match knowing.knowledge {
        VariableKnowledge::Unknown => (
            DifferenceFinding::Unknown,
            Engagement::NotEngaged,
            format!("{reason}{suggestion}"),
        ),
        VariableKnowledge::NotLoaded => (
            DifferenceFinding::NotLoaded,
            Engagement::NotEngaged,
            format!("{reason}{suggestion}"),
        ),
        VariableKnowledge::Unassessed => (DifferenceFinding::Unassessed, Engagement::RequestedOnly, reason),
        VariableKnowledge::Known => match (&of_baseline.effective, &of_arm.effective) {
            (Some(before), Some(after)) if before == after => (
                DifferenceFinding::Unchanged,
                Engagement::NotEngaged,
                format!("{reason}; its effective value is {after}, as in the baseline"),
            ),
            (Some(before), Some(after)) => (
                DifferenceFinding::Known,
                Engagement::Confirmed,
                format!("{reason}; its effective value is {after} instead of {before}"),
            ),
            _ => (
                DifferenceFinding::Known,
                Engagement::RequestedOnly,
                format!("{reason}, which does not report the effective value"),
            ),
        },
    }
}

/// Evidence about another image. The same loaded files do not rule out an effect: an image also sets environment variables,
/// of which the records contain only those of fabric libraries, and contains configuration files.
fn image(pairs: &Pairs<'_, '_>) -> DifferenceEvidence {
    let found = files("image", pairs);
    match found.engagement {
        Engagement::NotEngaged => DifferenceEvidence {
            finding: DifferenceFinding::Unassessed,
            engagement: Engagement::RequestedOnly,
            reason: format!(
                "{}, but the images may differ in environment variables or configuration files that are not recorded",
                found.reason
            ),
            ..found
        },
        _ => found,
    }
}

/// Evidence about the loaded files.
fn files(subject: &str, pairs: &Pairs<'_, '_>) -> DifferenceEvidence {
    let evidence = |finding, engagement, reason| DifferenceEvidence {
        subject: subject.to_owned(),
        finding,
        engagement,
        reason,
    };
    let hashes: Vec<(Option<&str>, Option<&str>)> = pairs
        .iter()
        .map(|(_, own, reference)| (own.files_sha256, reference.files_sha256))
        .collect();
    let changed = pairs
        .iter()
        .find_map(|(_, own, reference)| changed_file(own, reference));
    if let Some(changed) = changed {
        return evidence(DifferenceFinding::Known, Engagement::Confirmed, changed);
    }
    let all_known = !hashes.is_empty()
        && hashes
            .iter()
            .all(|(own, reference)| own.is_some() && reference.is_some());
    if !all_known || hashes.iter().any(|(own, reference)| own != reference) {
        let incomplete = pairs
            .iter()
            .find_map(|(_, own, reference)| own.incomplete.or(reference.incomplete));
        let reason = incomplete.unwrap_or("the workers did not record all loaded files");
        return evidence(
            DifferenceFinding::Unassessed,
            Engagement::RequestedOnly,
            reason.to_owned(),
        );
    }
    let hash = hashes.iter().find_map(|(own, _)| *own).unwrap_or_default();
    let libraries = pairs
        .first()
        .map_or_else(String::new, |(_, own, _)| named_libraries(own));
    evidence(
        DifferenceFinding::Unchanged,
        Engagement::NotEngaged,
        format!(
            "the arm loaded the same files as the baseline{libraries} (SHA-256 of all files {})",
            short(hash)
        ),
    )
}

/// Loaded libraries with a known release, such as `: libfabric.so.1 1.17.0`.
fn named_libraries(configuration: &Configuration<'_>) -> String {
    let libraries = configuration.files.iter().filter_map(|file| {
        let version = file.version.as_ref()?;
        Some(format!("{} {version}", file.path))
    });
    let libraries: Vec<String> = libraries.collect();
    match libraries.as_slice() {
        [] => String::new(),
        libraries => format!(": {}", libraries.join(", ")),
    }
}

/// Describes the first file that only one of an arm and the baseline loaded.
fn changed_file(own: &Configuration<'_>, reference: &Configuration<'_>) -> Option<String> {
    let of_arm = file_only_in(own, reference);
    let of_arm = of_arm.map(|file| format!("the arm loaded {file}, which the baseline did not load"));
    of_arm.or_else(|| {
        let file = file_only_in(reference, own)?;
        Some(format!("the baseline loaded {file}, which the arm did not load"))
    })
}

/// The first file that `one` loaded and `other` did not, judged by the hashes of the listed files: its path, its release
/// and its hash. Files of known libraries come first.
fn file_only_in(one: &Configuration<'_>, other: &Configuration<'_>) -> Option<String> {
    if one.files_sha256 == other.files_sha256 && one.files_sha256.is_some() {
        return None;
    }
    let known: BTreeSet<&str> = other
        .files
        .iter()
        .filter_map(|file| file.sha256.as_deref())
        .collect();
    let mut new: Vec<_> = one
        .files
        .iter()
        .copied()
        .filter(|file| file.sha256.as_deref().is_some_and(|hash| !known.contains(hash)))
        .collect();
    new.sort_by_key(|file| (file.version.is_none(), &file.path));
    let file = new.first()?;
    // Without the complete list of the other process, the file may be one that is not listed.
    other.files_sha256?;
    let version = file
        .version
        .as_ref()
        .map_or_else(String::new, |version| format!(" {version}"));
    let hash = file.sha256.as_deref().map(short).unwrap_or_default();
    Some(format!("{}{version} (SHA-256 {hash})", file.path))
}

fn short(hash: &str) -> &str {
    hash.get(..HASH_DIGITS).unwrap_or(hash)
}

#[cfg(test)]
mod lanes_tests;
#[cfg(test)]
mod tests;

//! Evidence that the UCX settings of an arm changed how the library transfers its messages: the protocols that it
//! counted in round 0, and the lanes of its endpoints, compared with the baseline's protocols and lanes. Performs no
//! I/O.

use std::collections::BTreeSet;

use crds::record::FabricFacts;
use crds::v1alpha1::{Engagement, TransportSpec, Ucx, UcxPreset};
use serde::Serialize;

use super::offload;
use super::offload::OperationProtocols;
use crate::format;
use crate::plan::{Cell, Plan, PlannedScenario};
use crate::summarize::workers::endpoints::EndpointIndex;

/// Evidence, at one size, about the UCX settings in which an arm differs from the baseline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SettingsEvidence {
    /// The settings, as `NAME=VALUE`. The value is empty if the arm uses the library's default.
    pub settings: Vec<String>,
    /// Whether the settings changed the protocols or the lanes.
    pub engagement: Engagement,
    /// Reason for this result.
    pub reason: String,
}

/// Observations about one arm.
#[derive(Clone, Copy, Debug)]
struct ArmObservations<'a> {
    protocols: &'a OperationProtocols,
    facts: Option<&'a FabricFacts>,
}

impl ArmObservations<'_> {
    fn version(&self) -> Option<&str> {
        Some(self.facts?.library.as_ref()?.version.as_str())
    }

    fn lanes(&self) -> BTreeSet<&str> {
        let rails = self.facts.into_iter().flat_map(|facts| &facts.rails);
        rails.flat_map(|rail| &rail.lanes).map(String::as_str).collect()
    }

    /// Description and lanes of each protocol.
    fn uses(&self) -> BTreeSet<(&str, &str)> {
        let uses = self.protocols.uses();
        uses.map(|protocol| (protocol.description.as_str(), protocol.lanes.as_str()))
            .collect()
    }
}

/// Assesses the settings of the arm in `cell`, which belongs to `scenario`. `None` unless the arm is a variant that
/// uses the same transport as the baseline, but different settings that concern protocols.
pub(in crate::summarize) fn assess(
    plan: &Plan,
    scenario: &PlannedScenario,
    cell: &Cell,
    endpoints: &EndpointIndex<'_>,
) -> Option<SettingsEvidence> {
    let arm = plan.arms.get(cell.arm).filter(|arm| arm.control.is_none())?;
    let baseline = plan.arms.get(plan.baseline)?;
    let (TransportSpec::Ucx(own), TransportSpec::Ucx(reference)) =
        (plan.transport_of(arm), plan.transport_of(baseline))
    else {
        return None;
    };
    let settings = differences(own, reference);
    if settings.is_empty() {
        return None;
    }
    let baseline_cell = scenario
        .cells
        .iter()
        .find(|one| (one.size_bytes, one.arm) == (cell.size_bytes, plan.baseline))?;
    let (own, reference) = (
        offload::protocols_of(plan, scenario, cell, endpoints),
        offload::protocols_of(plan, scenario, baseline_cell, endpoints),
    );
    // Rank 0 represents all workers, as it does for the other optimizations.
    let (engagement, reason) = decide(
        ArmObservations {
            protocols: &own,
            facts: endpoints.first(0, cell.arm),
        },
        ArmObservations {
            protocols: &reference,
            facts: endpoints.first(0, plan.baseline),
        },
    );
    Some(SettingsEvidence {
        settings,
        engagement,
        reason,
    })
}

/// Returns a warning for every arm and size at which the arm's settings changed nothing.
pub(in crate::summarize) fn warnings(plan: &Plan, endpoints: &EndpointIndex<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    for scenario in &plan.scenarios {
        for cell in &scenario.cells {
            let found = assess(plan, scenario, cell, endpoints);
            let Some(found) = found.filter(|found| found.engagement == Engagement::NotEngaged) else {
                continue;
            };
            warnings.push(format!(
                "{} at {}: the settings {} of arm \"{}\" had no effect: {}",
                scenario.assignment.name,
                format::size(cell.size_bytes),
                found.settings.join(", "),
                plan.arm_name(cell.arm),
                found.reason
            ));
        }
    }
    warnings
}

/// The settings that concern protocols and differ between `own` and `reference`. Empty if anything else differs,
/// because a difference between the protocols could then have another cause.
fn differences(own: &Ucx, reference: &Ucx) -> Vec<String> {
    let without_settings = |ucx: &Ucx| Ucx {
        preset: UcxPreset::default(),
        settings: Vec::new(),
        ..ucx.clone()
    };
    if without_settings(own) != without_settings(reference) {
        return Vec::new();
    }
    let value = |ucx: &Ucx, name: &str| {
        let setting = ucx.settings.iter().find(|setting| setting.name == name);
        setting.map(|setting| setting.value.clone())
    };
    let names: BTreeSet<&str> = [own, reference]
        .into_iter()
        .flat_map(|ucx| &ucx.settings)
        .map(|setting| setting.name.as_str())
        .collect();
    let preset = (own.preset != reference.preset).then(|| format!("preset={}", own.preset.name()));
    let settings = names.into_iter().filter_map(|name| {
        let own = value(own, name);
        let differs = concerns_protocols(name) && own != value(reference, name);
        differs.then(|| format!("{name}={}", own.unwrap_or_default()))
    });
    preset.into_iter().chain(settings).collect()
}

/// Whether a setting, without the prefix `UCX_`, determines the protocols of messages or the number of lanes: the
/// thresholds of short, bcopy, zcopy and rendezvous, the rendezvous itself, and the rails.
fn concerns_protocols(name: &str) -> bool {
    name.ends_with("_THRESH")
        || name.ends_with("_RAILS")
        || name.ends_with("_LANES")
        || name.starts_with("RNDV_")
        || name.starts_with("PROTO_")
}

/// Whether an arm's settings took effect, and the reason.
fn decide(own: ArmObservations<'_>, baseline: ArmObservations<'_>) -> (Engagement, String) {
    let requested_only = |reason: &str| (Engagement::RequestedOnly, reason.to_owned());
    if own.version().is_none() || own.version() != baseline.version() {
        return requested_only(
            "the arm and the baseline use different releases of UCX, or their release is unknown",
        );
    }
    let list = |lanes: BTreeSet<&str>| lanes.into_iter().collect::<Vec<_>>().join(", ");
    if own.lanes() != baseline.lanes() {
        let reason = format!(
            "the endpoints have the lanes {} instead of {}",
            list(own.lanes()),
            list(baseline.lanes())
        );
        return (Engagement::Confirmed, reason);
    }
    if !own.protocols.covers_all_chunks() || !baseline.protocols.covers_all_chunks() {
        return requested_only(
            "UCX does not report the protocols of all messages of this size; releases before 1.21 report none",
        );
    }
    let describe = |uses: BTreeSet<(&str, &str)>| {
        let uses = uses
            .into_iter()
            .map(|(description, lanes)| format!("\"{description}\" over {lanes}"));
        uses.collect::<Vec<_>>().join(", ")
    };
    if own.uses() == baseline.uses() {
        let reason = format!(
            "both the arm and the baseline used the protocol {}",
            describe(own.uses())
        );
        return (Engagement::NotEngaged, reason);
    }
    let reason = format!(
        "UCX used {} instead of {}",
        describe(own.uses()),
        describe(baseline.uses())
    );
    (Engagement::Confirmed, reason)
}

#[cfg(test)]
mod tests {
    use crds::protocols::ServingProtocols;
    use crds::record::{LibraryFacts, ProtocolUse, RailFacts};
    use crds::v1alpha1::{UcxErrorHandling, UcxSetting, UcxTransport};

    use super::*;

    fn protocols(covers_all_chunks: bool, uses: &[(&str, &str)]) -> OperationProtocols {
        let uses = uses.iter().map(|&(description, lanes)| ProtocolUse {
            function: "ucp_tag_send".to_owned(),
            from_bytes: 0,
            to_bytes: None,
            memory: Some("host".to_owned()),
            description: description.to_owned(),
            lanes: lanes.to_owned(),
            count: 1,
            steps: None,
        });
        OperationProtocols::from(ServingProtocols {
            protocols: uses.collect(),
            covers_all_chunks,
        })
    }

    fn facts(version: &str, lanes: &[&str]) -> FabricFacts {
        FabricFacts {
            library: Some(LibraryFacts {
                name: "ucx".to_owned(),
                version: version.to_owned(),
                ..LibraryFacts::default()
            }),
            rails: vec![RailFacts {
                lanes: lanes.iter().map(|&lane| lane.to_owned()).collect(),
                ..RailFacts::default()
            }],
            ..FabricFacts::default()
        }
    }

    type Arm<'a> = (&'a OperationProtocols, &'a FabricFacts);

    fn decide_between((own, facts): Arm<'_>, (reference, reference_facts): Arm<'_>) -> (Engagement, String) {
        let observed = |protocols, facts| ArmObservations {
            protocols,
            facts: Some(facts),
        };
        decide(observed(own, facts), observed(reference, reference_facts))
    }

    #[test]
    fn changed_protocols_or_lanes_confirm_settings_and_unchanged_ones_refute_them() {
        let eager = protocols(true, &[("eager zero-copy", "tcp/lo")]);
        let rendezvous = protocols(true, &[("rendezvous", "tcp/lo")]);
        let partial = protocols(false, &[("rendezvous", "tcp/lo")]);
        let one = facts("1.22.0", &["tcp/lo"]);
        let (engagement, reason) = decide_between((&rendezvous, &one), (&eager, &one));
        assert_eq!(engagement, Engagement::Confirmed);
        assert_eq!(
            reason,
            "UCX used \"rendezvous\" over tcp/lo instead of \"eager zero-copy\" over tcp/lo"
        );
        assert_eq!(
            decide_between((&eager, &one), (&eager, &one)).0,
            Engagement::NotEngaged
        );
        let two = facts("1.22.0", &["tcp/lo", "tcp/eth0"]);
        assert_eq!(
            decide_between((&eager, &two), (&eager, &one)).0,
            Engagement::Confirmed
        );
        for (own, reference) in [
            // Unreported protocols are not evidence.
            ((&partial, &one), (&eager, &one)),
            ((&eager, &one), (&partial, &one)),
            // Another release may have other protocols without the settings.
            ((&rendezvous, &facts("1.21.0", &["tcp/lo"])), (&eager, &one)),
        ] {
            assert_eq!(decide_between(own, reference).0, Engagement::RequestedOnly);
        }
    }

    #[test]
    fn only_settings_that_concern_protocols_are_compared_and_only_if_nothing_else_differs() {
        let with = |settings: &[(&str, &str)]| {
            let mut ucx = Ucx::new(vec![UcxTransport::Tcp], 1);
            ucx.settings = settings
                .iter()
                .map(|&(name, value)| UcxSetting {
                    name: name.to_owned(),
                    value: value.to_owned(),
                })
                .collect();
            ucx
        };
        let plain = with(&[]);
        let arm = with(&[
            ("ZCOPY_THRESH", "1"),
            ("TCP_TX_SEG_SIZE", "1m"),
            ("MAX_RNDV_RAILS", "2"),
        ]);
        assert_eq!(differences(&arm, &plain), ["MAX_RNDV_RAILS=2", "ZCOPY_THRESH=1"]);
        assert_eq!(
            differences(&plain, &with(&[("RNDV_THRESH", "8k")])),
            ["RNDV_THRESH="]
        );
        assert!(differences(&with(&[("TCP_TX_SEG_SIZE", "1m")]), &plain).is_empty());
        let nixl = Ucx {
            preset: UcxPreset::Nixl,
            ..plain.clone()
        };
        assert_eq!(differences(&nixl, &plain), ["preset=nixl"]);
        let other = Ucx {
            error_handling: Some(UcxErrorHandling::None),
            ..arm
        };
        assert!(differences(&other, &plain).is_empty());
    }
}

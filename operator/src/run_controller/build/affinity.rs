//! Placement of an attempt's workers: one worker per node, all workers in one zone, on the nodes used by the earlier
//! legs. Performs no I/O.

use std::collections::BTreeMap;

use crds::names;
use k8s_openapi::api::core::v1::{
    Affinity, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodAffinity,
    PodAffinityTerm, PodAntiAffinity, Toleration,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use super::AttemptInputs;

/// Node label that holds the host name.
const HOST_NAME: &str = "kubernetes.io/hostname";
/// Node label that holds the zone.
pub(crate) const ZONE: &str = "topology.kubernetes.io/zone";
/// Time, in seconds, after which a worker is evicted from an unreachable node. The attempt cannot be completed, but the
/// run can start another one.
const UNREACHABLE_SECONDS: i64 = 60;
/// Taints of unreachable nodes.
const UNREACHABLE_TAINTS: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

pub(super) fn build(attempt: &AttemptInputs<'_>) -> Affinity {
    let placement = &attempt.run.spec.placement;
    Affinity {
        node_affinity: (!attempt.nodes.is_empty()).then(|| require_one_of(attempt.nodes)),
        pod_affinity: attempt.single_zone.then(|| PodAffinity {
            required_during_scheduling_ignored_during_execution: Some(vec![PodAffinityTerm {
                label_selector: Some(LabelSelector {
                    match_labels: Some(attempt.labels()),
                    ..LabelSelector::default()
                }),
                topology_key: ZONE.to_owned(),
                ..PodAffinityTerm::default()
            }]),
            ..PodAffinity::default()
        }),
        pod_anti_affinity: Some(PodAntiAffinity {
            required_during_scheduling_ignored_during_execution: Some(vec![PodAffinityTerm {
                topology_key: HOST_NAME.to_owned(),
                ..if placement.exclusive {
                    any_worker()
                } else {
                    worker_of_same_run(attempt)
                }
            }]),
            ..PodAntiAffinity::default()
        }),
    }
}

/// Requires one of `nodes` by name. Each node has a separate term, because a term with a field selector accepts only
/// one name.
fn require_one_of(nodes: &[String]) -> NodeAffinity {
    let term = |node: &String| NodeSelectorTerm {
        match_fields: Some(vec![NodeSelectorRequirement {
            key: "metadata.name".to_owned(),
            operator: "In".to_owned(),
            values: Some(vec![node.clone()]),
        }]),
        ..NodeSelectorTerm::default()
    };
    NodeAffinity {
        required_during_scheduling_ignored_during_execution: Some(NodeSelector {
            node_selector_terms: nodes.iter().map(term).collect(),
        }),
        ..NodeAffinity::default()
    }
}

/// Selects the workers of every run in every namespace. The scheduler enforces anti-affinity in both directions, so a
/// pod with this term also keeps later workers off its node.
fn any_worker() -> PodAffinityTerm {
    PodAffinityTerm {
        label_selector: Some(LabelSelector {
            match_expressions: Some(vec![LabelSelectorRequirement {
                key: names::LABEL_RUN_UID.to_owned(),
                operator: "Exists".to_owned(),
                values: None,
            }]),
            ..LabelSelector::default()
        }),
        namespace_selector: Some(LabelSelector::default()),
        ..PodAffinityTerm::default()
    }
}

/// Selects the workers of the same run.
fn worker_of_same_run(attempt: &AttemptInputs<'_>) -> PodAffinityTerm {
    let labels = BTreeMap::from([(names::LABEL_RUN_UID.to_owned(), attempt.uid().to_owned())]);
    PodAffinityTerm {
        label_selector: Some(LabelSelector {
            match_labels: Some(labels),
            ..LabelSelector::default()
        }),
        ..PodAffinityTerm::default()
    }
}

/// Returns the tolerations in the spec, plus time-limited tolerations for those of [`UNREACHABLE_TAINTS`] that the spec
/// does not tolerate.
pub(super) fn tolerations(attempt: &AttemptInputs<'_>) -> Vec<Toleration> {
    let given = &attempt.run.spec.placement.tolerations;
    let is_tolerated = |taint: &str| {
        given.iter().any(|toleration| {
            let key = toleration.key.as_deref().is_none_or(|key| key == taint);
            let effect = toleration
                .effect
                .as_deref()
                .is_none_or(|effect| effect == "NoExecute");
            key && effect
        })
    };
    let own = UNREACHABLE_TAINTS
        .iter()
        .filter(|taint| !is_tolerated(taint))
        .map(|taint| Toleration {
            key: Some((*taint).to_owned()),
            operator: Some("Exists".to_owned()),
            effect: Some("NoExecute".to_owned()),
            toleration_seconds: Some(UNREACHABLE_SECONDS),
            ..Toleration::default()
        });
    let given = given.iter().map(|toleration| Toleration {
        key: toleration.key.clone(),
        operator: toleration.operator.clone(),
        value: toleration.value.clone(),
        effect: toleration.effect.clone(),
        toleration_seconds: toleration.toleration_seconds,
    });
    given.chain(own).collect()
}

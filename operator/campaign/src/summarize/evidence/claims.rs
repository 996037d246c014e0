//! Evidence that the devices in which an arm's claims differ from those of the baseline were obtained. Performs no I/O.

use crds::v1alpha1::{Alignment, Claims, Engagement};

use super::difference_evidence::{DifferenceEvidence, DifferenceFinding};
use crate::summarize::workers::claims::{ObtainedDevices, Position};

/// Evidence about the claims in which `arm` differs from the baseline.
pub(in crate::summarize) fn difference(
    (claims, own): (&Claims, &ObtainedDevices<'_>),
    (baseline_claims, baseline): (&Claims, &ObtainedDevices<'_>),
) -> DifferenceEvidence {
    let evidence = |finding, engagement, reason| DifferenceEvidence {
        subject: "claims".to_owned(),
        finding,
        engagement,
        reason,
    };
    if let Some(unread) = own.unread.as_ref().or(baseline.unread.as_ref()) {
        let reason = format!("the devices are not known: {unread}");
        return evidence(DifferenceFinding::Unassessed, Engagement::RequestedOnly, reason);
    }
    if own.devices() == baseline.devices() {
        let reason = format!(
            "the arm obtained the same devices as the baseline: {}",
            own.first()
        );
        return evidence(DifferenceFinding::Unchanged, Engagement::NotEngaged, reason);
    }
    let differ_in_alignment = claims.align != baseline_claims.align
        && with_alignment(claims, Alignment::None) == with_alignment(baseline_claims, Alignment::None);
    let positions = own.positions();
    if let Some(position) = positions.first()
        && differ_in_alignment
        && positions == baseline.positions()
        && !positions.contains(&Position::Unknown)
        && positions.len() == 1
    {
        let reason = format!("the arm's devices have the same position as those of the baseline: {position}");
        return evidence(DifferenceFinding::Unchanged, Engagement::NotEngaged, reason);
    }
    let reason = format!("the arm obtained {} instead of {}", own.first(), baseline.first());
    evidence(DifferenceFinding::Known, Engagement::Confirmed, reason)
}

fn with_alignment(claims: &Claims, align: Alignment) -> Claims {
    Claims {
        align,
        ..claims.clone()
    }
}

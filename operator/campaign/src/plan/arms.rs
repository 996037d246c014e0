//! Plans the arms: the variants, and a second copy of the baseline for each kind of separation that occurs.

use std::collections::BTreeSet;

use crds::names::CONTROL_PREFIX;
use crds::v1alpha1::TransportSpec;

use super::model::{Arm, Separation};
use crate::validate::{ValidatedRun, ValidatedVariant};

/// Plans all arms of `run`: the variants in spec order, then the control arms.
pub(super) fn plan(run: &ValidatedRun) -> Vec<Arm> {
    let Some(baseline) = run.variants.get(run.baseline) else {
        return Vec::new();
    };
    let variants = run
        .variants
        .iter()
        .map(|variant| Arm::new(variant, separation(variant, baseline), None));
    let mut arms: Vec<_> = variants.collect();
    if run.sampling.control {
        arms.extend(
            separations(run, &arms)
                .into_iter()
                .map(|separation| control_arm(baseline, separation)),
        );
    }
    arms
}

/// Separations that need a control arm. If the baseline is the only variant, a control arm in the same process measures
/// its noise.
fn separations(run: &ValidatedRun, arms: &[Arm]) -> BTreeSet<Separation> {
    let others = arms
        .iter()
        .enumerate()
        .filter(|(index, _)| *index != run.baseline);
    let mut separations: BTreeSet<_> = others.map(|(_, arm)| arm.separation).collect();
    if separations.is_empty() {
        separations.insert(Separation::Tuning);
    }
    separations
}

fn separation(variant: &ValidatedVariant, baseline: &ValidatedVariant) -> Separation {
    if variant.claims != baseline.claims {
        Separation::Claims
    } else if variant.image != baseline.image {
        Separation::Image
    } else if variant.process != baseline.process {
        Separation::Environment
    } else {
        Separation::Tuning
    }
}

fn control_arm(baseline: &ValidatedVariant, separation: Separation) -> Arm {
    let name = match separation {
        Separation::Tuning => CONTROL_PREFIX.to_owned(),
        Separation::Environment => format!("{CONTROL_PREFIX}-environment"),
        Separation::Image => format!("{CONTROL_PREFIX}-image"),
        Separation::Claims => format!("{CONTROL_PREFIX}-claims"),
    };
    Arm {
        name,
        ..Arm::new(baseline, separation, Some(separation))
    }
}

impl Arm {
    /// Library and provider of the arm: its own, or `default`.
    pub(super) fn transport_or<'a>(&'a self, default: &'a TransportSpec) -> &'a TransportSpec {
        self.process.transport.as_ref().unwrap_or(default)
    }

    fn new(variant: &ValidatedVariant, separation: Separation, control: Option<Separation>) -> Self {
        Self {
            name: variant.name.clone(),
            control,
            separation,
            image: variant.image.clone(),
            claims: variant.claims.clone(),
            process: variant.process.clone(),
            inject_max_bytes: variant.tuning.inject_max_bytes,
            doorbell_max_batch: variant.tuning.doorbell_max_batch,
            striping: variant.tuning.striping,
            channel: variant.channel,
            arguments: variant.arguments.clone(),
        }
    }
}

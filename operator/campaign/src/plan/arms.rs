//! Arms: the variants, and a second copy of the baseline for each way in which arms are separated.

use std::collections::BTreeSet;

use crds::names::CONTROL_PREFIX;

use super::{Arm, Separation};
use crate::validate::{ValidatedRun, ValidatedVariant};

/// All arms of `run`: the variants in their order, then the control arms.
pub(super) fn plan(run: &ValidatedRun) -> Vec<Arm> {
    let Some(baseline) = run.variants.get(run.baseline) else {
        return Vec::new();
    };
    let variants = run
        .variants
        .iter()
        .map(|variant| Arm::of(variant, separation(variant, baseline), None));
    let mut arms: Vec<_> = variants.collect();
    if run.sampling.control {
        arms.extend(
            separations(run, &arms)
                .into_iter()
                .map(|separation| control(baseline, separation)),
        );
    }
    arms
}

/// The ways of separation that occur. A baseline that stands alone gets a control in its own process: without one
/// nothing says how much of its numbers is noise.
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
    if variant.image != baseline.image {
        Separation::Image
    } else if variant.process != baseline.process {
        Separation::Environment
    } else {
        Separation::Tuning
    }
}

fn control(baseline: &ValidatedVariant, separation: Separation) -> Arm {
    let name = match separation {
        Separation::Tuning => CONTROL_PREFIX.to_owned(),
        Separation::Environment => format!("{CONTROL_PREFIX}-environment"),
        Separation::Image => format!("{CONTROL_PREFIX}-image"),
    };
    Arm {
        name,
        ..Arm::of(baseline, separation, Some(separation))
    }
}

impl Arm {
    fn of(variant: &ValidatedVariant, separation: Separation, control: Option<Separation>) -> Self {
        Self {
            name: variant.name.clone(),
            control,
            separation,
            image: variant.image.clone(),
            process: variant.process.clone(),
            inject_max_bytes: variant.tuning.inject_max_bytes,
            doorbell_max_batch: variant.tuning.doorbell_max_batch,
            striping: variant.tuning.striping,
        }
    }
}

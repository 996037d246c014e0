//! Sentences about factor effects, shared by the report formats.

use campaign::compare::FactorEffect;
use campaign::format;
use crds::v1alpha1::{FactorEffectKind, Verdict};

use super::Report;

/// Returns the effects in `scenario`, by size in plan order.
pub fn of_scenario<'a>(report: &Report<'a>, scenario: usize) -> impl Iterator<Item = &'a FactorEffect> {
    let effects = report.evaluation.comparisons.factor_effects.iter();
    effects.filter(move |effect| effect.scenario == scenario)
}

/// Returns the name of an effect, such as `inject x doorbell`.
pub fn name(effect: &FactorEffect) -> String {
    let factors: Vec<&str> = effect.factors.iter().map(|factor| factor.name()).collect();
    match effect.kind {
        FactorEffectKind::Main => factors.concat(),
        FactorEffectKind::Interaction => factors.join(" x "),
        FactorEffectKind::Combination => format!("combination of {}", factors.join(", ")),
    }
}

/// Formats the effect with its interval, such as `-12.1 % [-14.0, -10.2]`.
pub fn change(effect: &FactorEffect) -> String {
    let Some(estimate) = effect.effect else {
        return "no value".to_owned();
    };
    format::change(estimate.percent, effect.interval_percent())
}

/// Describes the verdict. If factors do not interact, their joint effect is the product of their separate effects.
pub fn verdict(effect: &FactorEffect) -> String {
    let Some(verdict) = effect.verdict else {
        return effect
            .reason
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
    };
    let is_main = effect.kind == FactorEffectKind::Main;
    let text = match verdict {
        Verdict::Improved if is_main => "Improved",
        Verdict::Regressed if is_main => "Regressed",
        Verdict::NoChange if is_main => "NoChange",
        Verdict::Improved => "Improved: better than the product of the separate effects",
        Verdict::Regressed => "Regressed: worse than the product of the separate effects",
        Verdict::NoChange => "NoChange: equal to the product of the separate effects",
        Verdict::Inconclusive => "Inconclusive",
    };
    match &effect.reason {
        Some(reason) => format!("{text}: {reason}"),
        None => text.to_owned(),
    }
}

/// Formats an effect as one line with its size, name, change and verdict.
pub fn line(effect: &FactorEffect) -> String {
    format!(
        "{}  {}: {}  {}",
        format::size(effect.size_bytes),
        name(effect),
        change(effect),
        verdict(effect)
    )
}

/// Explanation of factor effects.
pub const EXPLANATION: &str = "The effect of a factor is the change that it causes in the metric, as the geometric \
                               mean over all combinations of the other factors. An interaction of two factors is the \
                               change in the effect of one that the other causes; 0 % means that their joint effect \
                               is the product of their separate effects. The combination compares the joint effect \
                               of all factors with the product of their separate effects. The intervals of all \
                               effects of a scenario hold simultaneously.";

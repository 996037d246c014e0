//! Effects of the factors of a run.

use campaign::compare::FactorEffect;
use campaign::format;
use crds::v1alpha1::{FactorEffectKind, Optimization, Verdict};

use super::plots;
use crate::report::Report;
use crate::report::document::{Block, Column, Detail, Layout, Note, Row, Table};

/// Table of the effects in the scenario with index `index`, after plots of the interactions; empty if the run has no
/// factors. A terminal omits effects that do not apply.
pub(super) fn blocks(report: &Report<'_>, index: usize) -> Vec<Block> {
    let effects = report.evaluation.comparisons.factor_effects.iter();
    let effects: Vec<&FactorEffect> = effects.filter(|effect| effect.scenario == index).collect();
    if effects.is_empty() {
        return Vec::new();
    }
    let plots = pairs(&report.plan.factors);
    let plots = plots.into_iter().map(|pair| plots::interaction(&effects, pair));
    let rows = effects.iter().map(|effect| {
        let (size, name) = (format::size(effect.size_bytes), name(effect));
        let (change, verdict) = (change(effect), verdict(effect));
        let line = format!("{size}  {name}: {change}  {verdict}");
        let row = Row::new([size, name, change, effect.rounds.to_string(), verdict]);
        match effect.is_applicable() {
            true => row.line("factor", line),
            false => row,
        }
    });
    let mut columns = Column::all(["size", "effect", "change", "rounds"]);
    columns.push(Column::sentences("verdict"));
    let table = Table::new("effects of the factors", columns, rows)
        .layout(Layout::Lines)
        .notes([Note::new("", EXPLANATION, Detail::Full)]);
    vec![Block::Plots(plots.collect()), table.into()]
}

/// Returns all pairs of factors, in plan order.
fn pairs(factors: &[Optimization]) -> Vec<[Optimization; 2]> {
    let indexed = factors.iter().enumerate();
    let of_first = |(index, first): (usize, &Optimization)| {
        let (first, later) = (*first, factors.iter().skip(index + 1));
        later.map(move |second| [first, *second]).collect::<Vec<_>>()
    };
    indexed.flat_map(of_first).collect()
}

/// Returns the name of an effect, such as `inject x doorbell`.
fn name(effect: &FactorEffect) -> String {
    let factors: Vec<&str> = effect.factors.iter().map(|factor| factor.name()).collect();
    match effect.kind {
        FactorEffectKind::Main => factors.concat(),
        FactorEffectKind::Interaction => factors.join(" x "),
        FactorEffectKind::Combination => format!("combination of {}", factors.join(", ")),
    }
}

/// Formats the effect with its interval, such as `-12.1 % [-14.0, -10.2]`.
fn change(effect: &FactorEffect) -> String {
    let Some(estimate) = effect.effect else {
        return "no value".to_owned();
    };
    format::change(estimate.percent, effect.interval_percent())
}

/// Describes the verdict. If factors do not interact, their joint effect is the product of their separate effects.
fn verdict(effect: &FactorEffect) -> String {
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

/// Explanation of factor effects.
const EXPLANATION: &str = "The effect of a factor is the change that it causes in the metric, as the geometric \
                               mean over all combinations of the other factors. An interaction of two factors is the \
                               change in the effect of one that the other causes; 0 % means that their joint effect \
                               is the product of their separate effects. The combination compares the joint effect \
                               of all factors with the product of their separate effects. The intervals of all \
                               effects of a scenario hold simultaneously.";

//! Factor effects in a scenario's section: interaction plots and a table.

use campaign::compare::FactorEffect;
use campaign::format;
use crds::v1alpha1::Optimization;
use maud::{Markup, html};

use super::plot::{self, Interaction};
use super::{HtmlError, plot_markup};
use crate::report::Report;
use crate::report::factors;

/// Renders the effects in the scenario with index `index`; empty if the run has no factors.
pub(super) fn section(report: &Report<'_>, index: usize, scenario: &str) -> Result<Markup, HtmlError> {
    let effects: Vec<&FactorEffect> = factors::of_scenario(report, index).collect();
    if effects.is_empty() {
        return Ok(html! {});
    }
    let mut plots = Vec::new();
    for [first, second] in pairs(&report.plan.factors) {
        let title = format!("{} without and with {}", first.name(), second.name());
        let svg = plot_markup(scenario, interaction(&effects, [first, second], &title))?;
        plots.push((first, second, svg));
    }
    Ok(html! {
        h3 { "Factors" }
        p.note { (factors::EXPLANATION) }
        div.plots {
            @for (first, second, svg) in plots {
                figure {
                    figcaption {
                        "Change by " (first.name()) " at each size, without " (second.name()) " (hollow discs) and with "
                        (second.name()) " (filled discs), with intervals. The lines coincide if the factors do not interact, which only "
                        "the interval of the interaction in the table can show."
                    }
                    (svg)
                }
            }
        }
        div.scroll tabindex="0" role="region" aria-label={ "Effects of factors in " (scenario) } {
            table {
                thead { tr { @for head in ["size", "effect", "change", "rounds", "verdict"] { th scope="col" { (head) } } } }
                tbody {
                    @for effect in &effects {
                        tr {
                            th scope="row" { (format::size(effect.size_bytes)) }
                            td { (factors::name(effect)) }
                            td { (factors::change(effect)) }
                            td { (effect.rounds) }
                            td { (factors::verdict(effect)) }
                        }
                    }
                }
            }
        }
    })
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

fn interaction(
    effects: &[&FactorEffect],
    pair: [Optimization; 2],
    description: &str,
) -> Result<String, plot::DrawError> {
    let points = effects.iter().filter(|effect| effect.factors == pair);
    let points = points.filter_map(|effect| Some((effect.size_bytes, effect.conditional?)));
    plot::interaction(&Interaction {
        description: &format!("Change by {description}. The table of effects shows the interactions"),
        points: points.collect(),
    })
}

//! Legend of the arms' colors and markers.

use maud::{Markup, html};

use super::plot;
use crate::report::Report;

/// Legend of the arms.
pub(super) fn legend(report: &Report<'_>) -> Markup {
    let arms = || report.plan.arms.iter().enumerate();
    html! {
        ul.legend aria-label="Arms" {
            @for (index, arm) in arms() {
                li { span class=(plot::marker_class(index, arm.control.is_some())) {} (arm.name) }
            }
        }
        @if arms().any(|(index, arm)| plot::shares_color(index, arm.control.is_some())) {
            p.note { "Arms with a square marker have dashed lines." }
        }
    }
}

/// Whether `arm` is a control arm.
pub(super) fn is_control(report: &Report<'_>, arm: usize) -> bool {
    report.plan.arms.get(arm).is_some_and(|arm| arm.control.is_some())
}

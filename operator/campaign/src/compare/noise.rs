//! Controls whose interval extends beyond the margin: the noise then forbids an answer at this margin. Performs no I/O.
//!
//! The effect of a control is zero. If its interval at the level of the scenario's family does not lie inside the margin,
//! then that of a variant that changes nothing would not either: on this machine, with this number of rounds, `NoChange`
//! cannot be expected. A verdict whose interval lies beyond the margin is not affected.

use crds::v1alpha1::Verdict;

use super::comparison::Comparison;
use super::noise_above_margin::MAX_SUGGESTED_MARGIN;
use super::noise_above_margin::NoiseAboveMargin;
use super::reason::Inconclusive;
use crate::plan::{Plan, Role};
use crate::stats::{BetterDirection, Margin, StatsError, decide_verdict, percent_change};

/// Finds the controls of `all` whose interval extends beyond the margin, except those for which the resolution of printed
/// values is the cause: that is a property of the tool, not of the machine.
pub(super) fn find(plan: &Plan, all: &[Comparison]) -> Result<Vec<NoiseAboveMargin>, StatsError> {
    let margin_percent = plan.sampling.margin_percent;
    let margin = Margin::from_percent(f64::from(margin_percent))?;
    let controls = all
        .iter()
        .filter(|one| one.primary && one.role.is_control() && !one.is_resolution_open);
    let above = controls.filter_map(|control| {
        let interval = control.interval.as_ref()?;
        let direction = BetterDirection::from(control.metric);
        if decide_verdict(interval, margin, direction) == Verdict::NoChange {
            return None;
        }
        let reach_percent = percent_change(interval.reach());
        let sufficient = reach_percent.ceil();
        Some(NoiseAboveMargin {
            scenario: control.scenario,
            size_bytes: control.size_bytes,
            arm: control.arm,
            metric: control.metric,
            is_control_arm: control.role == Role::ControlArm,
            reach_percent,
            margin_percent,
            sufficient_margin_percent: (sufficient <= f64::from(MAX_SUGGESTED_MARGIN))
                .then_some(sufficient as u32),
            sufficient_rounds: control.rounds_to_equivalence,
        })
    });
    Ok(above.collect())
}

/// Names the noise as the cause of every `Inconclusive` verdict that has an interval, no other cause, and a control at
/// the same size with the same separation from the baseline in `noise`.
pub(super) fn explain(plan: &Plan, noise: &[NoiseAboveMargin], all: &mut [Comparison]) {
    let separation = |arm: usize| plan.arms.get(arm).map(|arm| arm.separation);
    for comparison in all.iter_mut() {
        let is_open = comparison.verdict == Some(Verdict::Inconclusive)
            && comparison.interval.is_some()
            && comparison.inconclusive.is_none();
        if !is_open {
            continue;
        }
        let controls = noise.iter().filter(|control| {
            (control.scenario, control.size_bytes) == (comparison.scenario, comparison.size_bytes)
                && separation(control.arm) == separation(comparison.arm)
        });
        let widest = controls.max_by(|one, other| one.reach_percent.total_cmp(&other.reach_percent));
        comparison.inconclusive = widest.cloned().map(Inconclusive::Noise);
    }
}

#[cfg(test)]
mod tests {
    use crds::v1alpha1::Metric;

    use super::*;
    use crate::plan::plan;
    use crate::stats::Interval;
    use crate::stats::RoundsToSettle;
    use crate::validate::validate;

    /// A plan with the variants `b` in the baseline's process and `c` in another, and a control arm for each: arms 3 and
    /// 4.
    fn planned() -> crate::plan::HashedPlan {
        let run = crate::fixture::run_from_yaml(
            "apiVersion: fabricbench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {name: test}\nspec:\n  baseline: a\n  \
             variants: [{name: a}, {name: b, inject: {maxBytes: 64}}, {name: c, env: [{name: FI_X, value: '1'}]}]\n  \
             transport: {libfabric: {provider: tcp}}\n  scenarios: [{name: s, pingPong: {sizes: [64]}}]\n",
        );
        plan(&validate(&run).unwrap()).unwrap()
    }

    /// The comparison of `arm` with the interval from `lower` to `upper`, in percent.
    fn comparison(plan: &Plan, arm: usize, (lower, upper): (f64, f64)) -> Comparison {
        let log = |percent: f64| (percent / 100.0).ln_1p();
        let interval = Interval {
            estimate: log(lower.midpoint(upper)),
            lower: log(lower),
            upper: log(upper),
            level: 0.05,
        };
        let role = plan.cell(0, 64, arm).unwrap().role.unwrap();
        Comparison {
            scenario: 0,
            size_bytes: 64,
            arm,
            metric: Metric::LatencyP50,
            primary: true,
            role,
            rounds: 10,
            ended: None,
            effect: None,
            interval: Some(interval),
            printed_interval: Some(interval),
            resolution: None,
            is_resolution_open: false,
            control_interval: None,
            minimum_detectable_percent: None,
            verdict: (role == Role::Variant).then_some(Verdict::Inconclusive),
            reason: None,
            inconclusive: None,
            rounds_to_settle: None,
            rounds_to_equivalence: Some(RoundsToSettle::About(44)),
            round_percents: Vec::new(),
            pairs: Vec::new(),
        }
    }

    #[test]
    fn control_beyond_the_margin_says_what_would_suffice() {
        let plan = planned();
        let quiet = comparison(&plan, 3, (-1.9, 1.9));
        assert_eq!(find(&plan, &[quiet]).unwrap(), []);
        let noisy = comparison(&plan, 3, (-17.9, 12.0));
        let found = find(&plan, &[noisy]).unwrap();
        let [noise] = found.as_slice() else {
            panic!("{found:?}");
        };
        // -17.9 % is the inverse of +21.8 %.
        assert_eq!(noise.sufficient_margin_percent, Some(22));
        assert_eq!(
            noise.to_string(),
            "the noise is above the margin: the control arm varies within \u{b1}21.8 % at 64 B, so this machine cannot \
             answer at a margin of 2 %; about 44 rounds or a margin of at least 22 % would suffice"
        );
        let hopeless = |rounds| {
            let control = Comparison {
                rounds_to_equivalence: rounds,
                ..comparison(&plan, 3, (-80.0, 400.0))
            };
            let found = find(&plan, &[control]).unwrap();
            assert_eq!(found[0].sufficient_margin_percent, None);
            found[0].to_string()
        };
        let noisy = hopeless(Some(RoundsToSettle::MoreThan(60)));
        assert!(
            noisy.contains(
                "; no permitted number of rounds and no margin up to 100 % would suffice: stop other work"
            ),
            "{noisy}"
        );
        let coarse = hopeless(None);
        assert!(
            coarse.contains("; no permitted number of rounds and no margin up to 100 % would suffice: the tool prints too few"),
            "{coarse}"
        );
        assert!(!coarse.contains("quieter"), "{coarse}");
    }

    #[test]
    fn only_controls_with_the_same_separation_explain_a_verdict() {
        let plan = planned();
        let mut all = [
            comparison(&plan, 1, (-3.0, 3.0)),
            comparison(&plan, 2, (-3.0, 3.0)),
            comparison(&plan, 3, (-1.0, 1.0)),
            comparison(&plan, 4, (-5.0, 5.0)),
        ];
        let noise = find(&plan, &all).unwrap();
        explain(&plan, &noise, &mut all);
        let causes = all.each_ref().map(|one| one.inconclusive.is_some());
        assert_eq!(causes, [false, true, false, false], "{all:?}");
    }
}

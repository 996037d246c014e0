//! Groups the arms into gangs of pods and assigns them to instrument processes.

use crds::assignment::InstrumentProcess;
use crds::v1alpha1::Claims;

use super::model::{Arm, Separation};

/// A gang of pods and the arms that run in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Gang {
    /// Unique name, used to draw the order of the gangs.
    pub name: String,
    /// Pod image.
    pub image: Option<String>,
    /// Devices that the workers claim.
    pub claims: Option<Claims>,
    /// Instrument processes of each worker.
    pub processes: Vec<InstrumentProcess>,
    /// Arms of the gang, each as an index in the plan and an index into `processes`.
    pub arms: Vec<(usize, u32)>,
}

/// Groups `arms` into one gang for each combination of image and claims, plus a separate gang for each control arm of
/// legs. The baseline's gang comes first.
pub(super) fn plan(arms: &[Arm], baseline: usize) -> Vec<Gang> {
    let mut gangs: Vec<Gang> = Vec::new();
    let first = arms.get(baseline).map(|arm| (baseline, arm));
    let others = arms.iter().enumerate().filter(|(index, _)| *index != baseline);
    for (index, arm) in first.into_iter().chain(others) {
        let name = gang_name(arm);
        let position = gangs
            .iter()
            .position(|gang| gang.name == name)
            .unwrap_or_else(|| {
                gangs.push(Gang {
                    name,
                    image: arm.image.clone(),
                    claims: arm.claims.clone(),
                    processes: Vec::new(),
                    arms: Vec::new(),
                });
                gangs.len() - 1
            });
        if let Some(gang) = gangs.get_mut(position) {
            gang.add(index, arm);
        }
    }
    for gang in &mut gangs {
        gang.arms.sort_unstable();
    }
    gangs
}

fn gang_name(arm: &Arm) -> String {
    match arm.control {
        Some(control) if control.is_leg() => arm.name.clone(),
        _ => {
            let image = arm.image.as_deref().unwrap_or_default();
            let claims = arm.claims.iter().map(|claims| format!(", {claims}"));
            format!("image {image}{}", claims.collect::<String>())
        }
    }
}

impl Gang {
    /// Adds an arm. Arms with the same environment and library share a process, but the environment control arm gets a
    /// separate process.
    fn add(&mut self, index: usize, arm: &Arm) {
        let separate = arm.control == Some(Separation::Environment);
        let shared = self
            .processes
            .iter()
            .position(|process| *process == arm.process && !separate);
        let process = shared.unwrap_or_else(|| {
            self.processes.push(arm.process.clone());
            self.processes.len() - 1
        });
        self.arms
            .push((index, u32::try_from(process).unwrap_or(u32::MAX)));
    }
}

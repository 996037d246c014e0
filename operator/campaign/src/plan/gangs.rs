//! Gangs: which arms run in the same pods, and in which instrument processes of theirs.

use crds::assignment::InstrumentProcess;

use super::{Arm, Separation};

/// Arms that run in the same pods.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Gang {
    /// Name for drawing orders.
    pub name: String,
    /// Image of its pods.
    pub image: Option<String>,
    /// Its instrument processes.
    pub processes: Vec<InstrumentProcess>,
    /// Its arms: index in the plan and index in `processes`.
    pub arms: Vec<(usize, u32)>,
}

/// One gang for each image, and one of its own for the control of images. The baseline's comes first.
pub(super) fn plan(arms: &[Arm], baseline: usize) -> Vec<Gang> {
    let mut gangs: Vec<Gang> = Vec::new();
    let first = arms.get(baseline).map(|arm| (baseline, arm));
    let others = arms.iter().enumerate().filter(|(index, _)| *index != baseline);
    for (index, arm) in first.into_iter().chain(others) {
        let name = gang_name(arm);
        let place = gangs
            .iter()
            .position(|gang| gang.name == name)
            .unwrap_or_else(|| {
                gangs.push(Gang {
                    name,
                    image: arm.image.clone(),
                    processes: Vec::new(),
                    arms: Vec::new(),
                });
                gangs.len() - 1
            });
        if let Some(gang) = gangs.get_mut(place) {
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
        Some(Separation::Image) => arm.name.clone(),
        _ => format!("image {}", arm.image.as_deref().unwrap_or_default()),
    }
}

impl Gang {
    /// Arms with the same environment and library share a process. A control of environments is there to have one of
    /// its own.
    fn add(&mut self, index: usize, arm: &Arm) {
        let own = arm.control == Some(Separation::Environment);
        let shared = self
            .processes
            .iter()
            .position(|process| *process == arm.process && !own);
        let process = shared.unwrap_or_else(|| {
            self.processes.push(arm.process.clone());
            self.processes.len() - 1
        });
        self.arms
            .push((index, u32::try_from(process).unwrap_or(u32::MAX)));
    }
}

//! Finds commands whose client cannot know its server. Performs no I/O.

use command_output::template;
use crds::assignment::Tool;

use super::note::{Notes, Severity};
use crate::plan::{Arm, Plan};

pub(super) fn check(plan: &Plan, notes: &mut Notes) {
    for scenario in &plan.scenarios {
        let Some(tool) = scenario.assignment.workload.tool() else {
            continue;
        };
        if tool.server.is_empty() {
            continue;
        }
        let arms = plan.arms.iter().filter(|arm| arm.control.is_none());
        let without: Vec<&str> = arms
            .filter(|arm| !names_server(&tool, arm))
            .map(|arm| arm.name.as_str())
            .collect();
        if !without.is_empty() {
            notes.add(
                Severity::Warning,
                format!(
                    "scenario {}: the client of {} has no argument with the placeholder {{server}}, so it does not get the \
                     address of its server: add {{server}} to command.client, unless the client finds the server in \
                     another way",
                    scenario.assignment.name,
                    without.join(", ")
                ),
            );
        }
    }
}

/// Whether an argument of the client contains the address of the server for `arm`, whose arguments replace a placeholder.
fn names_server(tool: &Tool<'_>, arm: &Arm) -> bool {
    let has_arguments = tool.client.iter().any(|argument| argument == template::ARGUMENTS);
    template::contains(tool.client, "server") || has_arguments && template::contains(&arm.arguments, "server")
}

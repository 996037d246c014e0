//! `fabricbench plan`: shows the plan for a file.

use campaign::plan::{self, estimate};
use campaign::plan_check::Note;
use clap::Args;
use operator::terminal::{print, print_json};
use serde_json::json;

use super::cluster::{self, Cluster};
use super::input::PlannedRun;
use super::output::PlanFormat;
use super::source::Source;
use super::{Exit, Failure, Input};
use crate::local::{find_runner, program_notes, variable_notes};
use crate::report;

/// Show the plan for a file: legs, rounds, rails and chunks, estimated data volume and time, and comparisons that
/// cannot show an effect.
///
/// The argument can also be the NAMESPACE/NAME of a run in the current kubeconfig context.
#[derive(Debug, Args)]
#[command(after_help = "Example: fabricbench plan examples/nixl-optimizations.yaml")]
pub(super) struct Plan {
    #[command(flatten)]
    input: Input,
    /// Output format.
    #[arg(long, value_enum, default_value_t = PlanFormat::Text)]
    format: PlanFormat,
}

impl Plan {
    fn planned_runs(&self) -> Result<Vec<PlannedRun>, Failure> {
        let named = self.input.file.to_str().and_then(|name| name.parse().ok());
        let Some(Source::Cluster(key)) = named else {
            return self.input.load();
        };
        if self.input.overlay.is_some() {
            return Err(Failure::invalid_input(
                "--overlay applies only to files, not to runs in a cluster",
            ));
        }
        let run = cluster::block_on(async { Cluster::connect(&key).await?.run(&key).await });
        Ok(vec![self.input.plan(run?)?])
    }

    /// Whether the plan is for other machines than this one.
    fn is_in_cluster(&self) -> bool {
        matches!(
            self.input.file.to_str().and_then(|name| name.parse().ok()),
            Some(Source::Cluster(_))
        )
    }

    /// What the libraries on this machine know about the environment variables of the arms.
    fn variable_notes(&self, planned: &PlannedRun) -> Vec<Note> {
        let runner = match self.is_in_cluster() {
            true => Err("the run is in a cluster".to_owned()),
            false => find_runner(None).map_err(|error| error.to_string()),
        };
        variable_notes(&planned.plan, runner.as_deref().map_err(String::clone))
    }

    /// Programs of commands that are missing on this machine.
    fn program_notes(&self, planned: &PlannedRun) -> Vec<Note> {
        match self.is_in_cluster() {
            true => Vec::new(),
            false => program_notes(&planned.plan),
        }
    }

    pub(super) fn execute(self) -> Result<Exit, Failure> {
        let planned = self.planned_runs()?;
        let variables: Vec<Vec<Note>> = planned
            .iter()
            .map(|planned| self.variable_notes(planned))
            .collect();
        let programs: Vec<Vec<Note>> = planned
            .iter()
            .map(|planned| self.program_notes(planned))
            .collect();
        let notes = variables.iter().zip(&programs);
        let all = planned.iter().zip(notes.clone());
        let all = all.map(|(planned, (variables, programs))| {
            (&planned.plan, [variables.as_slice(), programs].concat())
        });
        let documents = || {
            all.clone()
                .map(|(plan, notes)| report::plan::document(plan, &notes))
        };
        match self.format {
            PlanFormat::Text => {
                let texts = all.map(|(plan, notes)| report::plan::render(plan, &notes));
                print(&texts.collect::<Vec<_>>().join("\n"))?;
            }
            PlanFormat::Markdown => {
                let texts = documents().map(|document| report::markdown::render(&document));
                print(&texts.collect::<Vec<_>>().join("\n"))?;
            }
            PlanFormat::Html => {
                let mut documents: Vec<_> = documents().collect();
                let document = match (documents.pop(), documents.is_empty()) {
                    (Some(only), true) => only,
                    (last, _) => report::plan::combined(documents.into_iter().chain(last).collect()),
                };
                print(&report::html::render(&document))?;
            }
            PlanFormat::Json => {
                let plans = planned.iter().zip(notes).map(|(planned, (variables, programs))| {
                    let plan: &plan::Plan = &planned.plan;
                    json!({
                        "planHash": planned.plan.hash(),
                        "estimate": estimate(plan),
                        "plan": plan,
                        "variableNotes": variables,
                        "programNotes": programs,
                    })
                });
                let plans: Vec<_> = plans.collect();
                print_json(&plans)?;
            }
        }
        Ok(Exit::Complete)
    }
}

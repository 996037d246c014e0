//! Measures as a client: describes the measurement as a run with one arm and one round, and replaces this process by
//! `fabricbench`, which measures and evaluates it as any other run. Starts a program.

use std::env;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use crds::v1alpha1::TransportSpec;
use serde_json::{Value, json};

use super::DirectError;
use super::flags::{LocalFlags, OutputFlags, TransportFlags};
use crate::rendezvous::connection_rails::variable_names_devices;
use crate::rendezvous::server::Server;

/// Program that measures and evaluates runs.
const FABRICBENCH: &str = "fabricbench";
/// Time limit of a run, in seconds: the longest that a run may have. The scenarios and the server have their own.
const RUN_SECONDS: u32 = 604_800;

/// A measurement that a client coordinates.
pub(super) struct Measurement<'a> {
    /// Name of the run.
    pub(super) name: &'static str,
    /// Library and transports.
    pub(super) transport: &'a TransportSpec,
    /// Flags that select the library and the transports.
    pub(super) transport_flags: &'a TransportFlags,
    /// Scenarios, as in the spec of a run.
    pub(super) scenarios: Vec<Value>,
    /// Time limit of a scenario, in seconds.
    pub(super) case_timeout_seconds: u32,
    /// Library and devices of this machine.
    pub(super) local: &'a LocalFlags,
    /// Destinations of the results.
    pub(super) output: &'a OutputFlags,
    /// Server that measures with this process. If unset, both sides are on this machine.
    pub(super) server: Option<Server>,
}

impl Measurement<'_> {
    /// Manifest of the run.
    fn manifest(&self) -> Value {
        let library = self.local.library().map(|library| ("library", json!(library)));
        let name = ("name", json!("baseline"));
        let variant: serde_json::Map<String, Value> = [Some(name), library]
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        json!({
            "apiVersion": "fabricbench.dev/v1alpha1",
            "kind": "BenchmarkRun",
            "metadata": {"name": self.name},
            "spec": {
                "baseline": "baseline",
                "variants": [variant],
                "transport": self.transport,
                "scenarios": self.scenarios,
                // What a cluster would reserve. This machine has whatever it has.
                "resources": {"gpus": 1, "hugepages2Mi": "64Ti"},
                "sampling": {"rounds": 1, "control": false, "minWindow": "0s"},
                "runPolicy": {
                    "caseDeadlineSeconds": self.case_timeout_seconds,
                    "activeDeadlineSeconds": RUN_SECONDS,
                },
            },
        })
    }

    /// Replaces this process by `fabricbench`, which measures, prints and writes the results.
    ///
    /// # Errors
    /// Returns an error if `fabricbench` cannot be started.
    pub(super) fn execute(self) -> Result<(), DirectError> {
        let runner = env::current_exe().map_err(|source| DirectError::System {
            action: "finding this program",
            source,
        })?;
        let sibling = runner.with_file_name(FABRICBENCH);
        let program = match sibling.is_file() {
            true => sibling,
            false => PathBuf::from(FABRICBENCH),
        };
        let mut command = Command::new(program);
        command.args(["measure", "--manifest", &self.manifest().to_string(), "--runner"]);
        command.arg(runner);
        if let Some(server) = &self.server {
            command.args(["--server", &json!(server).to_string()]);
        }
        for device in &self.local.device {
            command.args(["--device", device]);
        }
        if variable_names_devices(self.transport) {
            command.arg("--library-chooses-devices");
        }
        if let Some(output) = &self.output.output {
            command.arg("--output").arg(output);
        }
        if self.output.store_trace {
            command.arg("--store-trace");
        }
        for variable in self
            .transport_flags
            .replaced_variables(|name| env::var(name).ok())
            .keys()
        {
            command.env_remove(variable);
        }
        Err(DirectError::Fabricbench {
            source: command.exec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::direct::transport::suite_default;

    #[test]
    fn a_measurement_is_a_run_with_one_arm_and_one_round() {
        let local = LocalFlags {
            library_directory: Some("/opt/ucx".into()),
            device: Vec::new(),
        };
        let measurement = Measurement {
            name: "starway",
            transport: &suite_default(2),
            transport_flags: &TransportFlags::default(),
            scenarios: vec![json!({"name": "pingpong-flag", "pingpongFlag": {}})],
            case_timeout_seconds: 60,
            local: &local,
            output: &OutputFlags::default(),
            server: None,
        };
        let manifest = measurement.manifest();
        let spec: crds::v1alpha1::BenchmarkRunSpec =
            serde_json::from_value(manifest["spec"].clone()).unwrap();
        assert_eq!(spec.variants[0].library.as_deref(), Some("/opt/ucx"));
        assert_eq!((spec.sampling.rounds, spec.sampling.control), (Some(1), false));
        assert_eq!(
            (spec.transport, spec.run_policy.case_deadline_seconds),
            (suite_default(2), 60)
        );
    }
}

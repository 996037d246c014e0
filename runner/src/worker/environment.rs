//! Environment variables of the instrument processes, padded to the same size. Performs no I/O.
//!
//! The kernel places the environment at the start of the stack, so its size determines the stack alignment, which can
//! change a program's speed by several percent (Mytkowicz, Diwan, Hauswirth, Sweeney: Producing Wrong Data Without
//! Doing Anything Obviously Wrong!, ASPLOS 2009). Without padding, arms with different variables would also have
//! different stack alignments.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use crds::assignment::{Assignment, InstrumentProcess};
use crds::names::ENV_PADDING;

use crate::transport::environment::required_environment;

/// Environments are padded to a multiple of this size, in bytes. If the images of two legs define slightly different
/// environments, the padded environments then usually have the same size.
const STEP: usize = 4096;
/// Variable that contains the colon-separated directories that the dynamic loader searches first.
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// Values of environment variables, by name.
type Variables = BTreeMap<OsString, OsString>;

/// Returns the complete environment of `process`, which inherits the variables in `inherited`. The environment is
/// padded to the same size as the environments of the other processes of `assignment`.
pub(super) fn environment(
    assignment: &Assignment,
    process: &InstrumentProcess,
    inherited: &Variables,
) -> Variables {
    let unpadded = |process: &InstrumentProcess| {
        let peers = assignment.workers as usize - 1;
        let mut variables = Variables::new();
        for (name, value) in required_environment(assignment.transport_of(process), peers) {
            variables.insert(name.into(), value.into());
        }
        variables.extend(inherited.clone());
        variables.extend(
            process
                .env
                .iter()
                .map(|(name, value)| (name.into(), value.into())),
        );
        // The library may need other libraries in its directory, and commands load their libraries from this directory.
        if let Some(directory) = &process.library {
            let mut path = OsString::from(directory);
            if let Some(others) = variables
                .get(OsStr::new(LIBRARY_PATH))
                .filter(|path| !path.is_empty())
            {
                path.push(":");
                path.push(others);
            }
            variables.insert(LIBRARY_PATH.into(), path);
        }
        variables.insert(ENV_PADDING.into(), OsString::new());
        variables
    };
    let mut variables = unpadded(process);
    let sizes = assignment
        .processes
        .iter()
        .map(|process| size(&unpadded(process)));
    let own = size(&variables);
    let target = sizes.max().unwrap_or(0).max(own).next_multiple_of(STEP);
    variables.insert(ENV_PADDING.into(), "x".repeat(target - own).into());
    variables
}

/// Size of `variables` on the stack, in bytes: each is stored as `NAME=VALUE` with a terminating NUL.
fn size(variables: &Variables) -> usize {
    variables
        .iter()
        .map(|(name, value)| name.len() + value.len() + 2)
        .sum()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use crds::assignment::{AttemptIdentity, Rendezvous};
    use crds::v1alpha1::{Libfabric, LibfabricProvider, TransportSpec};

    use super::*;

    fn process(variables: &[(&str, &str)]) -> InstrumentProcess {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        InstrumentProcess {
            env: variables.iter().map(owned).collect(),
            ..InstrumentProcess::default()
        }
    }

    fn assignment(provider: LibfabricProvider, processes: Vec<InstrumentProcess>) -> Assignment {
        Assignment {
            version: 1,
            identity: AttemptIdentity {
                run: String::new(),
                uid: String::new(),
                plan_hash: String::new(),
                leg: 0,
                attempt: 1,
            },
            workers: 2,
            many_to_many: None,
            rendezvous: Rendezvous {
                host: String::new(),
                bind: String::new(),
                port: 0,
                timeout_seconds: 1,
            },
            transport: TransportSpec::Libfabric(Libfabric { provider, rails: 1 }),
            devices: Default::default(),
            align: Default::default(),
            bindings: Vec::new(),
            processes,
            scenarios: Vec::new(),
            arms: Vec::new(),
            operation_counts: Vec::new(),
            rounds: Vec::new(),
            case_deadline_seconds: 1,
            assessed_variables: None,
        }
    }

    #[test]
    fn environments_of_all_processes_have_the_same_size() {
        let long = "v".repeat(5000);
        let processes = vec![
            process(&[]),
            process(&[("FI_A", "1"), ("PATH", "/x")]),
            process(&[("FI_B", &long)]),
        ];
        let assignment = assignment(LibfabricProvider::Tcp, processes);
        let inherited = Variables::from([("PATH".into(), "/usr/bin:/bin".into())]);
        for process in &assignment.processes {
            let variables = environment(&assignment, process, &inherited);
            let mut command = Command::new("/bin/cat");
            let output = command
                .arg("/proc/self/environ")
                .env_clear()
                .envs(&variables)
                .output()
                .unwrap();
            assert_eq!(output.stdout.len(), 2 * STEP);
        }
    }

    #[test]
    fn process_overrides_inherited_and_inherited_overrides_required_variables() {
        let processes = vec![process(&[("FI_A", "process")])];
        let assignment = assignment(LibfabricProvider::Efa, processes);
        let required = required_environment(&assignment.transport, 1);
        let (name, value) = &required[0];
        let inherited = |variables: &[(&str, &str)]| -> Variables {
            let owned = |(name, value): &(&str, &str)| (OsString::from(name), OsString::from(value));
            variables.iter().map(owned).collect()
        };
        let variables = environment(
            &assignment,
            &assignment.processes[0],
            &inherited(&[("FI_A", "inherited")]),
        );
        assert_eq!(variables[&OsString::from("FI_A")], "process");
        assert_eq!(variables[&OsString::from(name)], value.as_str());
        let variables = environment(
            &assignment,
            &assignment.processes[0],
            &inherited(&[(name, "inherited")]),
        );
        assert_eq!(variables[&OsString::from(name)], "inherited");
    }

    #[test]
    fn dependencies_are_searched_first_in_the_library_directory() {
        let of_library = InstrumentProcess {
            library: Some("/opt/lib".to_owned()),
            ..InstrumentProcess::default()
        };
        let both = InstrumentProcess {
            library: Some("/opt/lib".to_owned()),
            ..process(&[(LIBRARY_PATH, "/a:/b")])
        };
        let assignment = assignment(LibfabricProvider::Tcp, vec![of_library, both, process(&[])]);
        let path = |index: usize, inherited: &[(&str, &str)]| {
            let inherited = inherited
                .iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect();
            let mut variables = environment(&assignment, &assignment.processes[index], &inherited);
            variables.remove(OsStr::new(LIBRARY_PATH))
        };
        assert_eq!(path(0, &[]).unwrap(), "/opt/lib");
        assert_eq!(path(0, &[(LIBRARY_PATH, "")]).unwrap(), "/opt/lib");
        assert_eq!(path(0, &[(LIBRARY_PATH, "/c")]).unwrap(), "/opt/lib:/c");
        assert_eq!(path(1, &[(LIBRARY_PATH, "/c")]).unwrap(), "/opt/lib:/a:/b");
        assert_eq!(path(2, &[]), None);
    }
}

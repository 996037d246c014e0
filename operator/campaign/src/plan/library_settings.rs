//! Settings that concern only the library of a transport. They cannot change operations that do not use that library.
//! Performs no I/O.

use crds::assignment::InstrumentProcess;
use crds::libraries::Library;

use super::model::Arm;

/// Whether `arm` differs from `baseline` at most in settings of the library of its transport: the transport itself, the
/// directory of its library, variables that only such libraries read, and how messages are posted.
pub(super) fn differ_only_in_them(arm: &Arm, baseline: &Arm) -> bool {
    (&arm.image, &arm.claims) == (&baseline.image, &baseline.claims)
        && other_variables(&arm.process) == other_variables(&baseline.process)
}

/// The environment variables of `process` that may change more than the library of its transport.
fn other_variables(process: &InstrumentProcess) -> Vec<(&String, &String)> {
    let is_other = |name: &str| !Library::of_variable(name).is_some_and(|library| library.is_transport);
    process.env.iter().filter(|(name, _)| is_other(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(variables: &[(&str, &str)]) -> InstrumentProcess {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        InstrumentProcess {
            env: variables.iter().map(owned).collect(),
            ..InstrumentProcess::default()
        }
    }

    #[test]
    fn only_variables_of_transport_libraries_cannot_change_the_process_itself() {
        for (name, may_change_process) in [
            ("FI_TCP_NODELAY", false),
            ("UCX_TLS", false),
            ("NIXL_LOG_LEVEL", false),
            ("MLX5_SINGLE_THREADED", false),
            ("NCCL_DEBUG", true),
            ("MC_GID_INDEX", true),
            ("LD_PRELOAD", true),
            ("LD_LIBRARY_PATH", true),
            ("FIRST", true),
            ("MALLOC_ARENA_MAX", true),
        ] {
            let process = process(&[(name, "1")]);
            assert_eq!(
                !other_variables(&process).is_empty(),
                may_change_process,
                "{name}"
            );
        }
    }
}

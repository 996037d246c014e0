//! Rules for the lines of a process that was terminated, by the kernel, the C library, UCX or a launcher.

use crds::record::LogLineKind::Error;

use super::RuleTable;
use crate::log::rule::{Names, rule};

pub(super) const TABLE: RuleTable = RuleTable {
    library: "process",
    version: "glibc 2.41, UCX 1.23.0, Open MPI 5.0",
    marks: &[],
    rules: &[
        rule(
            "signal",
            Error,
            Names::None,
            "Signal: *(*)",
            "opal/util/stacktrace.c of Open MPI",
        ),
        rule(
            "received-signal",
            Error,
            Names::None,
            "Process received signal",
            "opal/util/stacktrace.c of Open MPI",
        ),
        rule(
            "exited-on-signal",
            Error,
            Names::None,
            "exited on signal",
            "src/prted/pmix/pmix_server_gen.c of PRRTE",
        ),
        rule(
            "abort",
            Error,
            Names::None,
            "MPI_ABORT was invoked",
            "ompi/runtime/help-mpi-runtime.txt of Open MPI",
        ),
        rule(
            "caught-signal",
            Error,
            Names::None,
            "Caught signal",
            "src/ucs/debug/debug.c of UCX",
        ),
        rule(
            "segmentation-fault",
            Error,
            Names::None,
            "Segmentation fault",
            "stdlib/psignal.c of glibc",
        ),
        rule(
            "bus-error",
            Error,
            Names::None,
            "Bus error",
            "stdlib/psignal.c of glibc",
        ),
        rule("core-dumped", Error, Names::None, "core dumped", "a shell"),
        rule(
            "out-of-memory",
            Error,
            Names::None,
            "oom-kill",
            "mm/oom_kill.c of Linux",
        ),
    ],
};

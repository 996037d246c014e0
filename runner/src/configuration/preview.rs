//! What the library of a transport on this machine knows about environment variables, before anything is measured. Opens
//! the transport in this process.

use std::path::PathBuf;

use crds::record::VariableFacts;
use crds::v1alpha1::TransportSpec;

use super::loaded;
use super::query::{Question, ask};
use crate::instrument::select::{ArmRank, TransportSelector};
use crate::transport::OpenConfig;

/// Assesses the variables `names` in the environment of this process, after loading the library of `transport` from
/// `library` or from the system. If the transport cannot be opened, the files that were loaded until then count.
pub fn preview(
    selector: &dyn TransportSelector,
    transport: &TransportSpec,
    library: Option<PathBuf>,
    names: Vec<String>,
) -> Vec<VariableFacts> {
    let config = OpenConfig {
        library,
        ..OpenConfig::polled(transport.clone(), 16)
    };
    let at = ArmRank {
        arm: "preview",
        rank: 0,
    };
    let opened = selector
        .select(at, transport)
        .and_then(|functions| (functions.try_to_open)(&config, None));
    // Without the transport, a library that is not loaded proves nothing.
    let incomplete = opened
        .err()
        .map(|error| format!("the transport cannot be opened on this machine: {error}"));
    let files = loaded::own_files();
    let question = Question {
        names,
        incomplete: incomplete.or_else(|| files.as_ref().err().cloned()),
        files: files.unwrap_or_default(),
        provider: None,
        opens_libraries: true,
    };
    ask(&question, &[]).variables
}

//! Configurations for pairs of UCX transports in one process.

use crate::transport::conformance::{self, Subject};
use crate::transport::ucx::Ucx;
use crate::transport::{OpenConfig, test_pair};
use crds::v1alpha1::{
    TransportSpec, Ucx as Spec, UcxAllocation, UcxEmulation, UcxErrorHandling, UcxMessages, UcxTransport,
    UcxWriteCompletion,
};
use std::path::PathBuf;

pub(super) use crate::transport::test_pair::{LENGTH, PostRequest, pattern};

/// Variable that specifies the directory of the library to test; unset for the system's library.
pub(super) const LIBRARY: &str = "FABRICBENCH_TEST_UCX_LIBRARY";
/// Two connected transports.
pub(super) type Pair = test_pair::Pair<Ucx>;

/// Transport and rails that a test uses.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub spec: Spec,
    pub rails: Vec<&'static str>,
}

/// All setups that every machine supports.
pub(super) fn setups() -> [Setup; 7] {
    [
        tcp(),
        tcp_without_error_handling(),
        shared_memory(),
        with_library_memory(tcp()),
        with_library_memory(shared_memory()),
        with_active_messages(tcp()),
        with_active_messages(shared_memory()),
    ]
}

/// Configurations of the conformance tests.
pub(super) fn subjects() -> impl Iterator<Item = Subject> {
    setups().into_iter().map(|setup| {
        let rails = Setup {
            rails: vec!["127.0.0.1", "127.0.0.2", "lo"],
            ..setup.clone()
        };
        let has_rails = !setup.rails.is_empty() && setup.spec.allocation == UcxAllocation::Caller;
        Subject {
            rails: has_rails.then(|| rails.config()),
            ..Subject::new(setup.config())
        }
    })
}

/// Changes the setup to use memory that UCX allocates.
pub(super) fn with_library_memory(mut setup: Setup) -> Setup {
    setup.spec.allocation = UcxAllocation::Library;
    setup
}

/// Changes the setup to use active messages instead of tagged messages.
fn with_active_messages(mut setup: Setup) -> Setup {
    setup.spec.messages = UcxMessages::ActiveMessage;
    setup
}

/// Changes the setup to complete writes when their source memory can be reused.
pub(super) fn with_local_completions(mut setup: Setup) -> Setup {
    setup.spec.write_completion = UcxWriteCompletion::Local;
    setup
}

pub(super) fn tcp() -> Setup {
    setup(UcxTransport::Tcp, &["127.0.0.1"])
}

pub(super) fn tcp_without_error_handling() -> Setup {
    let mut setup = tcp();
    setup.spec.error_handling = Some(UcxErrorHandling::None);
    setup
}

pub(super) fn shared_memory() -> Setup {
    setup(UcxTransport::Sm, &[])
}

fn setup(transport: UcxTransport, rails: &[&'static str]) -> Setup {
    Setup {
        spec: Spec {
            emulation: UcxEmulation::Allow,
            ..Spec::new(vec![transport], 1)
        },
        rails: rails.to_vec(),
    }
}

impl Setup {
    pub(super) fn config(&self) -> OpenConfig {
        let rails = self.rails.len().max(1);
        let spec = TransportSpec::Ucx(Spec {
            rails: rails.try_into().unwrap(),
            ..self.spec.clone()
        });
        OpenConfig {
            rails: self.rails.iter().map(|&rail| rail.to_owned()).collect(),
            library: std::env::var_os(LIBRARY).map(PathBuf::from),
            ..conformance::config(spec)
        }
    }

    pub(super) fn pair(&self) -> Pair {
        Pair::open(&self.config(), None).unwrap_or_else(|e| panic!("{self:?}: {e}"))
    }
}

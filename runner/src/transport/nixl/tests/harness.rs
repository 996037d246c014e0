//! Configurations for pairs of NIXL transports in one process.

use crate::transport::conformance::{self, Subject};
use crate::transport::nixl::Nixl;
use crate::transport::{OpenConfig, test_pair};
use crds::units::Size;
use crds::v1alpha1::{
    Nixl as Spec, NixlBackend, NixlDescriptors, NixlParameter, NixlRequests, TransportSpec,
};
use std::path::PathBuf;

pub(super) use crate::transport::test_pair::{LENGTH, PostRequest, pattern};

/// Variable that specifies the directory of the library to test.
pub(super) const LIBRARY: &str = "FABRICBENCH_TEST_NIXL_LIBRARY";
/// Two connected transports.
pub(super) type Pair = test_pair::Pair<Nixl>;

/// Transport spec and rails that a test uses.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub spec: Spec,
    pub rails: Vec<&'static str>,
}

/// All setups that every machine supports: both kinds of requests over tcp, with one descriptor and with many, and tcp
/// together with the shared-memory transports.
pub(super) fn setups() -> [Setup; 7] {
    let created = |mut setup: Setup| {
        setup.spec.requests = NixlRequests::Created;
        setup
    };
    let mut threaded = tcp();
    threaded.spec.progress_thread = true;
    [
        tcp(),
        created(tcp()),
        shared_memory(),
        threaded,
        divide(tcp(), 1000, false),
        divide(tcp(), 1000, true),
        created(divide(tcp(), 1000, false)),
    ]
}

/// Configurations of the conformance tests.
pub(super) fn subjects() -> impl Iterator<Item = Subject> {
    setups().into_iter().map(|setup| {
        let rails = Setup {
            rails: vec!["127.0.0.1", "127.0.0.2", "lo"],
            ..setup.clone()
        };
        Subject {
            rails: (!setup.rails.is_empty()).then(|| rails.config()),
            max_message: 8,
            cannot_wait: Some("set polling to Spin or Yield"),
            ..Subject::new(setup.config())
        }
    })
}

/// Divides each transfer into descriptors of at most `max_bytes` bytes.
pub(super) fn divide(mut setup: Setup, max_bytes: u64, merge: bool) -> Setup {
    setup.spec.descriptors = Some(NixlDescriptors {
        max_bytes: Size(max_bytes),
        merge,
    });
    setup
}

/// The UCX backend over tcp on the loopback interface.
pub(super) fn tcp() -> Setup {
    with_engine_config("TLS=tcp", &["127.0.0.1"])
}

/// The UCX backend with all transports of this machine, on the loopback interface.
pub(super) fn shared_memory() -> Setup {
    with_engine_config("NET_DEVICES=lo", &[])
}

fn with_engine_config(config: &str, rails: &[&'static str]) -> Setup {
    Setup {
        spec: Spec {
            parameters: vec![parameter("engine_config", config)],
            ..Spec::new(NixlBackend::Ucx, 1)
        },
        rails: rails.to_vec(),
    }
}

pub(super) fn parameter(name: &str, value: &str) -> NixlParameter {
    NixlParameter {
        name: name.to_owned(),
        value: value.to_owned(),
    }
}

impl Setup {
    pub(super) fn config(&self) -> OpenConfig {
        let rails = self.rails.len().max(1);
        let spec = TransportSpec::Nixl(Spec {
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

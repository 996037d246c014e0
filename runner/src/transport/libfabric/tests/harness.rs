//! Configurations for pairs of libfabric transports in one process.

use crate::transport::conformance::{self, Subject};
use crate::transport::libfabric::Libfabric;
use crate::transport::{OpenConfig, TransportError, test_pair};
use crds::v1alpha1::{Libfabric as Spec, LibfabricProvider, TransportSpec};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

pub(super) use crate::transport::test_pair::PostRequest;

/// Two connected transports.
pub(super) type Pair = test_pair::Pair<Libfabric>;

/// Lock that prevents two libraries in this process from using shm concurrently.
///
/// shm derives an endpoint's name from the process ID and a counter in the library, so two libraries in one process
/// would use the same names. No other code loads two libraries into one process.
static SHARED_MEMORY_LOCK: Mutex<()> = Mutex::new(());

/// Provider and library that a test uses.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub provider: LibfabricProvider,
    pub library: Option<PathBuf>,
    pub rails: Vec<&'static str>,
}

/// Directories of the libraries to test: `None` for the system's libfabric, and a directory that contains libfabric
/// 2.x.
pub(super) fn libraries() -> [Option<PathBuf>; 2] {
    let libfabric_2 = std::env::var_os("FABRICBENCH_TEST_LIBFABRIC_2").unwrap_or_else(|| {
        panic!(
            "FABRICBENCH_TEST_LIBFABRIC_2 must name a directory that contains libfabric 2.x; .ci/test sets it"
        )
    });
    [None, Some(PathBuf::from(libfabric_2))]
}

/// All setups that every machine supports.
pub(super) fn setups() -> Vec<Setup> {
    let mut setups = Vec::new();
    for library in libraries() {
        let setup = |provider, rails: &[&'static str]| Setup {
            provider,
            library: library.clone(),
            rails: rails.to_vec(),
        };
        setups.push(setup(LibfabricProvider::Tcp, &["127.0.0.1"]));
        setups.push(setup(LibfabricProvider::TcpRxm, &["127.0.0.1"]));
        setups.push(setup(LibfabricProvider::Shm, &[]));
    }
    setups
}

/// Configurations of the conformance tests.
pub(super) fn subjects() -> impl Iterator<Item = Subject> {
    setups().into_iter().map(|setup| {
        let is_shared_memory = setup.provider == LibfabricProvider::Shm;
        let rails = Setup {
            rails: vec!["127.0.0.1", "127.0.0.2", "127.0.0.3"],
            ..setup.clone()
        };
        Subject {
            rails: (setup.provider == LibfabricProvider::Tcp).then(|| rails.config()),
            // shm has no file descriptor to wait on.
            cannot_wait: is_shared_memory.then_some("use polling: Spin or Yield"),
            lock: is_shared_memory.then_some(&SHARED_MEMORY_LOCK),
            ..Subject::new(setup.config())
        }
    })
}

impl Setup {
    pub(super) fn config(&self) -> OpenConfig {
        let rails = self.rails.len().max(1);
        let spec = TransportSpec::Libfabric(Spec {
            provider: self.provider,
            rails: rails.try_into().unwrap(),
        });
        OpenConfig {
            rails: self.rails.iter().map(|&rail| rail.to_owned()).collect(),
            library: self.library.clone(),
            inject_bytes: Some(64),
            ..conformance::config(spec)
        }
    }

    pub(super) fn pair(&self) -> Pair {
        open_pair(&self.config()).unwrap_or_else(|e| panic!("{self:?}: {e}"))
    }
}

/// Opens and connects two transports.
pub(super) fn open_pair(config: &OpenConfig) -> Result<Pair, TransportError> {
    let is_shared_memory =
        matches!(&config.spec, TransportSpec::Libfabric(spec) if spec.provider == LibfabricProvider::Shm);
    let lock = is_shared_memory.then(|| SHARED_MEMORY_LOCK.lock().unwrap_or_else(PoisonError::into_inner));
    Pair::open(config, lock)
}

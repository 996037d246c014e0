//! Reads a run's record chain from ConfigMaps, and appends to it. [`super::record_chain`] defines what the parts
//! contain. Performs I/O.

use crds::v1alpha1::{BenchmarkRun, RecordsReference};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::{Api, Client};
use snafu::{ResultExt, Snafu};

use super::build::names;
use super::record_chain::{ChainError, ChainReader, MAX_APPEND_BYTES, Part, PartWrite, RecordChain};
use super::store::RunKey;
use crate::metrics::operator::Category;

/// Error reading or writing records.
#[derive(Debug, Snafu)]
pub enum RecordsError {
    /// A request failed but may succeed later.
    #[snafu(display("{action} ConfigMap {name}, which holds records, failed: {source}"))]
    Api {
        /// `reading`, `creating` or `updating`.
        action: &'static str,
        /// Name of the ConfigMap.
        name: String,
        /// Cause.
        source: kube::Error,
    },
    /// Another client changed or created a part.
    #[snafu(display("ConfigMap {name} was changed by another client; the records will be read again"))]
    Changed {
        /// Name of the ConfigMap.
        name: String,
    },
    /// The records cannot be stored, or stored records cannot be used.
    #[snafu(display("{source}"))]
    Chain {
        /// Cause.
        source: ChainError,
    },
}

impl RecordsError {
    /// Whether a retry cannot succeed: the run has too many records, its record chain is invalid, or the API server
    /// rejects the object.
    pub(super) fn is_permanent(&self) -> bool {
        match self {
            Self::Api {
                source: kube::Error::Api(status),
                ..
            } => matches!(status.code, 413 | 422),
            Self::Api { .. } | Self::Changed { .. } => false,
            Self::Chain { .. } => true,
        }
    }

    /// Returns the error category for the error metric.
    pub(super) fn category(&self) -> Category {
        match self {
            Self::Api { .. } => Category::RecordsRequestFailed,
            Self::Changed { .. } => Category::RecordsConflict,
            Self::Chain { .. } => Category::RecordsCorrupted,
        }
    }
}

/// The stored records of one run.
pub struct RecordStore {
    api: Api<ConfigMap>,
    uid: String,
    chain: RecordChain,
    /// Resource version of the last part, unless that part is full.
    version: Option<String>,
}

impl RecordStore {
    /// Creates the store for a run without records.
    pub(super) fn empty(client: &Client, key: &RunKey, run: &BenchmarkRun) -> Self {
        Self {
            api: Api::namespaced(client.clone(), &key.namespace),
            uid: run.metadata.uid.clone().unwrap_or_default(),
            chain: RecordChain::default(),
            version: None,
        }
    }

    /// Reads the stored records of `run`, and passes their lines to `consume`. If the records are unusable, the inner
    /// result is an error.
    ///
    /// # Errors
    /// Returns an error if a request fails.
    pub async fn read(
        client: &Client,
        key: &RunKey,
        run: &BenchmarkRun,
        mut consume: impl FnMut(&[u8]),
    ) -> Result<Result<Self, ChainError>, RecordsError> {
        let uid = run.metadata.uid.clone().unwrap_or_default();
        let api: Api<ConfigMap> = Api::namespaced(client.clone(), &key.namespace);
        let seen = run.status.as_ref().and_then(|status| status.records.as_ref());
        let mut reader = ChainReader::new(&uid, seen.map(|records| records.sha256.clone()));
        let mut version = None;
        loop {
            let name = names::records(&uid, reader.next());
            let found = api.get_opt(&name).await;
            let Some(object) = found.with_context(|_| ApiSnafu {
                action: "reading",
                name: name.clone(),
            })?
            else {
                break;
            };
            if let Err(error) = reader.read(&object, &mut consume) {
                return Ok(Err(error));
            }
            // A full part is never written again. The next write creates a new part.
            let growing = object.immutable != Some(true);
            version = object.metadata.resource_version.filter(|_| growing);
        }
        Ok(reader.finish().map(|chain| Self {
            api,
            uid,
            chain,
            version,
        }))
    }

    /// Appends whole lines. After an error, the stored records must be read again.
    ///
    /// # Errors
    /// Returns an error if a request fails or the run has too many records.
    pub(super) async fn append(&mut self, run: &BenchmarkRun, lines: &[u8]) -> Result<(), RecordsError> {
        for lines in split_at_lines(lines) {
            let (chain, writes) = self.chain.appended(lines).context(ChainSnafu)?;
            for write in &writes {
                self.write(run, write).await?;
            }
            self.chain = chain;
        }
        Ok(())
    }

    /// Returns the reference to the records for the status; `None` if the run has no records.
    pub fn reference(&self) -> Option<RecordsReference> {
        self.chain.reference(&self.uid)
    }

    async fn write(&mut self, run: &BenchmarkRun, write: &PartWrite) -> Result<(), RecordsError> {
        let mut object = Part::config_map(&write.part, run);
        let name = object.metadata.name.clone().unwrap_or_default();
        let params = PostParams::default();
        let (action, written) = match write.update {
            true => {
                object.metadata.resource_version = self.version.take();
                ("updating", self.api.replace(&name, &params, &object).await)
            }
            false => ("creating", self.api.create(&params, &object).await),
        };
        match written {
            Ok(written) => {
                self.version = written.metadata.resource_version;
                Ok(())
            }
            Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => {
                ChangedSnafu { name }.fail()
            }
            Err(source) => Err(RecordsError::Api { action, name, source }),
        }
    }
}

/// Splits `lines` into pieces of whole lines, each of at most [`MAX_APPEND_BYTES`] bytes.
fn split_at_lines(mut lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let head = lines.get(..MAX_APPEND_BYTES).unwrap_or(lines);
        let end = head
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(head.len(), |last| last + 1);
        let (piece, rest) = lines.split_at(end);
        lines = rest;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_lines_into_pieces_of_limited_size() {
        let line = [b"x".repeat(16_000), b"\n".to_vec()].concat();
        let lines = line.repeat(70);
        let split: Vec<_> = split_at_lines(&lines).collect();
        assert!(
            split.len() > 1
                && split
                    .iter()
                    .all(|piece| piece.len() <= MAX_APPEND_BYTES && piece.ends_with(b"\n"))
        );
        assert_eq!(split.concat(), lines);
        assert_eq!(split_at_lines(b"").count(), 0);
    }
}

//! Cache entries for runs. An entry contains the run as JSON, or the reason that it cannot be read. Performs no I/O.

use std::sync::Arc;

use crds::deserialization::from_value;
use crds::v1alpha1::BenchmarkRun;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::DynamicObject;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::metrics::RunValues;

/// Annotation in which `kubectl apply` stores a copy of the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A cached run, or an object that cannot be read as a run.
#[derive(Clone, Debug)]
pub(in crate::run_controller) enum CachedRun {
    /// A readable run, and its metrics, which are computed before fields are dropped.
    Run(Arc<PackedRun>, Arc<RunValues>),
    /// An object that does not satisfy the schema of this release.
    Unreadable(Arc<UnreadableRun>),
}

/// Entries are equal if they have the same UID and the same known resource version.
impl PartialEq for CachedRun {
    fn eq(&self, other: &Self) -> bool {
        let (one, other) = (self.uid_and_version(), other.uid_and_version());
        one == other && matches!(one, (_, Some(_)))
    }
}

impl CachedRun {
    /// Creates the cache entry for a watched object, with at most `max_series` metric series.
    pub(in crate::run_controller) fn new(mut object: DynamicObject, max_series: usize) -> Self {
        prune_metadata(&mut object.metadata);
        let run = match read(&object) {
            Ok(run) => run,
            Err(reason) => return Self::Unreadable(Arc::new(UnreadableRun::new(object, reason))),
        };
        let metrics = RunValues::from_run(&run, max_series);
        prune(&mut object.data);
        match serde_json::to_vec(&object) {
            Ok(json) => Self::Run(
                Arc::new(PackedRun::new(&object.metadata, json)),
                Arc::new(metrics),
            ),
            Err(error) => Self::Unreadable(Arc::new(UnreadableRun::new(object, error.to_string()))),
        }
    }

    /// Returns the metrics of the run.
    pub(in crate::run_controller) fn metrics(self) -> Option<Arc<RunValues>> {
        match self {
            Self::Run(_, metrics) => Some(metrics),
            Self::Unreadable(_) => None,
        }
    }

    /// Returns the UID and resource version.
    pub(in crate::run_controller) fn uid_and_version(&self) -> (Option<&str>, Option<&str>) {
        match self {
            Self::Run(run, _) => (run.uid.as_deref(), run.version.as_deref()),
            Self::Unreadable(run) => {
                let metadata = &run.metadata;
                (metadata.uid.as_deref(), metadata.resource_version.as_deref())
            }
        }
    }
}

/// A run as JSON. A decoded run would need several times as much memory, and most runs are idle most of the time.
#[derive(Debug)]
pub(in crate::run_controller) struct PackedRun {
    uid: Option<Box<str>>,
    version: Option<Box<str>>,
    json: Box<[u8]>,
}

impl PackedRun {
    fn new(metadata: &ObjectMeta, json: Vec<u8>) -> Self {
        Self {
            uid: metadata.uid.as_deref().map(Box::from),
            version: metadata.resource_version.as_deref().map(Box::from),
            json: json.into(),
        }
    }

    /// Decodes the run.
    ///
    /// # Errors
    /// Returns an error if the run cannot be decoded. This is a bug, because the run was readable when it was packed.
    pub(in crate::run_controller) fn unpack(&self) -> Result<BenchmarkRun, String> {
        let object = serde_json::from_slice(&self.json).map_err(|error| error.to_string())?;
        read(&object)
    }
}

/// An object that cannot be read as a run.
#[derive(Debug)]
pub(in crate::run_controller) struct UnreadableRun {
    pub(in crate::run_controller) metadata: ObjectMeta,
    /// The unreadable field and the cause.
    pub(in crate::run_controller) reason: String,
    /// Whether another release of the operator, which can read the object, has started the run.
    pub(in crate::run_controller) started: bool,
}

impl UnreadableRun {
    fn new(object: DynamicObject, reason: String) -> Self {
        Self {
            started: is_started(&object.data),
            metadata: object.metadata,
            reason,
        }
    }
}

/// Reads `object` as a run. The error names the unreadable field and the cause.
fn read(object: &DynamicObject) -> Result<BenchmarkRun, String> {
    let part_of = |name| object.data.get(name).unwrap_or(&Value::Null);
    Ok(BenchmarkRun {
        metadata: object.metadata.clone(),
        spec: deserialize_part("spec", part_of("spec"))?,
        status: deserialize_part("status", part_of("status"))?,
    })
}

fn deserialize_part<T: DeserializeOwned>(name: &str, value: &Value) -> Result<T, String> {
    from_value(value).map_err(|error| error.in_field(name).to_string())
}

/// Whether the status shows that a release of the operator has planned or started the run.
fn is_started(object: &Value) -> bool {
    object
        .pointer("/status/planHash")
        .or_else(|| object.pointer("/status/execution"))
        .is_some()
}

/// Removes metadata that is never read.
fn prune_metadata(metadata: &mut ObjectMeta) {
    metadata.managed_fields = None;
    if let Some(annotations) = &mut metadata.annotations {
        annotations.remove(LAST_APPLIED);
    }
}

/// Removes most fields of a finished run, but keeps its deadlines, conditions and progress.
fn prune(run: &mut Value) {
    let finished_at = run.pointer("/status/execution/finishedAt");
    if finished_at.and_then(Value::as_str).is_none() {
        return;
    }
    // The schema requires these lists, so they are emptied instead of removed.
    for list in ["/spec/variants", "/spec/scenarios"] {
        if let Some(list) = run.pointer_mut(list) {
            *list = json!([]);
        }
    }
    for (part, fields) in [
        ("spec", ["expectations"].as_slice()),
        (
            "status",
            &[
                "results",
                "comparisons",
                "expectations",
                "pairs",
                "nodes",
                "warnings",
                "environment",
            ],
        ),
    ] {
        let Some(part) = run.get_mut(part).and_then(Value::as_object_mut) else {
            continue;
        };
        for field in fields {
            part.remove(*field);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::fixture;

    /// Returns the run after a round trip through the cache.
    fn cache_round_trip(run: &BenchmarkRun) -> BenchmarkRun {
        match cached_run(json(run)) {
            CachedRun::Run(packed, _) => packed.unpack().unwrap(),
            CachedRun::Unreadable(unreadable) => panic!("{}", unreadable.reason),
        }
    }

    fn cached_run(object: Value) -> CachedRun {
        CachedRun::new(serde_json::from_value(object).unwrap(), fixture::ALL)
    }

    fn json(run: &BenchmarkRun) -> Value {
        serde_json::to_value(run).unwrap()
    }

    #[test]
    fn cached_run_equals_the_object_without_unused_metadata() {
        let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples");
        let mut seen = 0;
        for entry in std::fs::read_dir(examples).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "yaml") {
                continue;
            }
            for mut run in manifest::load(&path, None).unwrap() {
                run.metadata.annotations = Some([(LAST_APPLIED.to_owned(), "{}".to_owned())].into());
                let mut expected = run.clone();
                expected.metadata.annotations = Some([].into());
                assert_eq!(
                    json(&cache_round_trip(&run)),
                    json(&expected),
                    "{}",
                    path.display()
                );
                seen += 1;
            }
        }
        assert!(seen > 5, "{seen}");
    }

    #[test]
    fn finished_run_is_cached_without_results() {
        let mut run = fixture::finished("a", 0);
        let status = run.status.as_mut().unwrap();
        assert!(!status.results.is_empty() && !status.conditions.is_empty());
        let conditions = status.conditions.clone();
        let execution = status.execution.get_or_insert_default();
        execution.finished_at = Some("2026-03-01T10:00:00Z".to_owned());
        let cached = cache_round_trip(&run);
        let status = cached.status.unwrap();
        assert_eq!((status.results, status.conditions), (Vec::new(), conditions));
        assert_eq!(
            (cached.spec.run_policy, cached.spec.variants),
            (run.spec.run_policy, Vec::new())
        );
    }

    #[test]
    fn entries_are_equal_by_uid_and_resource_version() {
        let version_of = |uid: &str, version: Option<&str>, name: &str| {
            let mut run = fixture::finished(name, 0);
            run.metadata.uid = Some(uid.to_owned());
            run.metadata.resource_version = version.map(str::to_owned);
            cached_run(json(&run))
        };
        assert_eq!(version_of("u", Some("1"), "a"), version_of("u", Some("1"), "b"));
        assert_ne!(version_of("u", Some("1"), "a"), version_of("u", Some("2"), "a"));
        assert_ne!(version_of("u", Some("1"), "a"), version_of("v", Some("1"), "a"));
        assert_ne!(
            version_of("u", None, "a"),
            version_of("u", None, "a"),
            "entries without a resource version are never equal"
        );
    }

    #[test]
    fn unreadable_run_names_the_path_of_the_field() {
        let unreadable = |spec: Value, status: Value| {
            let run = fixture::with_status("a", 0, fixture::status());
            let mut object = json(&run);
            object["spec"] = spec;
            object["status"] = status;
            match cached_run(object) {
                CachedRun::Run(..) => panic!("the object is readable"),
                CachedRun::Unreadable(unreadable) => (unreadable.reason.clone(), unreadable.started),
            }
        };
        let valid = json(&fixture::finished("a", 0))["spec"].clone();
        let mut size = valid.clone();
        size["scenarios"][0]["pingPong"]["sizes"] = json!(["64B"]);
        let (size, started) = unreadable(size, Value::Null);
        assert!(
            size.starts_with("spec.scenarios[0].pingPong.sizes[0]: ") && !started,
            "{size}"
        );
        let (missing, _) = unreadable(Value::Null, Value::Null);
        assert!(missing.starts_with("spec: "), "{missing}");
        let mut provider = valid.clone();
        provider["transport"] = json!({"libfabric": {"provider": "tpc"}});
        let (provider, _) = unreadable(provider, Value::Null);
        assert!(
            provider.contains("provider: `tpc` is not a valid value. Did you mean `tcp`? Use one of tcp"),
            "{provider}"
        );
        for status in [json!({"planHash": "a"}), json!({"execution": {}})] {
            assert!(unreadable(json!(7), status).1);
        }
        let (state, started) = unreadable(valid, json!({"state": 7, "planHash": "a"}));
        assert!(state.starts_with("status.state: ") && started, "{state}");
        assert!(!unreadable(json!({}), json!({"conditions": []})).1);
    }
}

//! Runs as they are kept: packed, or the reason why they cannot be read. Pure.

use std::sync::Arc;

use crds::v1alpha1::BenchmarkRun;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::DynamicObject;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::metrics::RunValues;

/// Where `kubectl apply` keeps a second copy of the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A run, or what is left of an object that is none.
#[derive(Clone, Debug)]
pub(in crate::run_controller) enum StoredRun {
    /// It can be read. What the metrics need of it is taken before the rest is dropped.
    Run(Arc<PackedRun>, Arc<RunValues>),
    /// It satisfies no version of the schema that this program knows.
    Unreadable(Arc<UnreadableRun>),
}

/// The same version of the same object.
impl PartialEq for StoredRun {
    fn eq(&self, other: &Self) -> bool {
        let (one, other) = (self.version(), other.version());
        one == other && matches!(one, (_, Some(_)))
    }
}

impl StoredRun {
    /// Of what the watch gave, with at most `max_series` series for the metrics.
    pub(in crate::run_controller) fn new(mut object: DynamicObject, max_series: usize) -> Self {
        prune_metadata(&mut object.metadata);
        let run = match read(&object) {
            Ok(run) => run,
            Err(why) => return Self::Unreadable(Arc::new(UnreadableRun::of(object, why))),
        };
        let figures = RunValues::from_run(&run, max_series);
        prune(&mut object.data);
        match serde_json::to_vec(&object) {
            Ok(json) => Self::Run(Arc::new(PackedRun::of(&object.metadata, json)), Arc::new(figures)),
            Err(error) => Self::Unreadable(Arc::new(UnreadableRun::of(object, error.to_string()))),
        }
    }

    /// What the metrics need of it.
    pub(in crate::run_controller) fn figures(self) -> Option<Arc<RunValues>> {
        match self {
            Self::Run(_, figures) => Some(figures),
            Self::Unreadable(_) => None,
        }
    }

    /// UID and version.
    pub(in crate::run_controller) fn version(&self) -> (Option<&str>, Option<&str>) {
        match self {
            Self::Run(run, _) => (run.uid.as_deref(), run.version.as_deref()),
            Self::Unreadable(run) => {
                let metadata = &run.metadata;
                (metadata.uid.as_deref(), metadata.resource_version.as_deref())
            }
        }
    }
}

/// A run as JSON: decoded, it takes several times the memory, and most runs wait for most of the time.
#[derive(Debug)]
pub(in crate::run_controller) struct PackedRun {
    uid: Option<Box<str>>,
    version: Option<Box<str>>,
    json: Box<[u8]>,
}

impl PackedRun {
    fn of(metadata: &ObjectMeta, json: Vec<u8>) -> Self {
        Self {
            uid: metadata.uid.as_deref().map(Box::from),
            version: metadata.resource_version.as_deref().map(Box::from),
            json: json.into(),
        }
    }

    /// The run.
    ///
    /// # Errors
    /// None that is known: it could be read when it was packed.
    pub(in crate::run_controller) fn unpack(&self) -> Result<BenchmarkRun, String> {
        let object = serde_json::from_slice(&self.json).map_err(|error| error.to_string())?;
        read(&object)
    }
}

/// What is left of an object that is no run.
#[derive(Debug)]
pub(in crate::run_controller) struct UnreadableRun {
    pub(in crate::run_controller) metadata: ObjectMeta,
    /// The field that cannot be read, and why not.
    pub(in crate::run_controller) why: String,
    /// Whether a controller that could read it has planned it.
    pub(in crate::run_controller) begun: bool,
}

impl UnreadableRun {
    fn of(object: DynamicObject, why: String) -> Self {
        Self {
            begun: is_begun(&object.data),
            metadata: object.metadata,
            why,
        }
    }
}

/// The run that `object` is, or the field that makes it none and why.
fn read(object: &DynamicObject) -> Result<BenchmarkRun, String> {
    let part_of = |name| object.data.get(name).unwrap_or(&Value::Null);
    Ok(BenchmarkRun {
        metadata: object.metadata.clone(),
        spec: part("spec", part_of("spec"))?,
        status: part("status", part_of("status"))?,
    })
}

fn part<T: DeserializeOwned>(name: &str, value: &Value) -> Result<T, String> {
    serde_path_to_error::deserialize(value).map_err(|error| match error.path().iter().next() {
        Some(_) => format!("{name}.{}: {}", error.path(), error.inner()),
        None => format!("{name}: {}", error.inner()),
    })
}

/// Whether a controller that could read the object has planned it.
fn is_begun(object: &Value) -> bool {
    object
        .pointer("/status/planHash")
        .or_else(|| object.pointer("/status/execution"))
        .is_some()
}

/// Drops what is never looked at.
fn prune_metadata(metadata: &mut ObjectMeta) {
    metadata.managed_fields = None;
    if let Some(annotations) = &mut metadata.annotations {
        annotations.remove(LAST_APPLIED);
    }
}

/// The same for a finished run: everything but its deadlines, conditions and progress.
fn prune(run: &mut Value) {
    let finished_at = run.pointer("/status/execution/finishedAt");
    if finished_at.and_then(Value::as_str).is_none() {
        return;
    }
    // The lists that a run must have stay as empty ones.
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
    use crate::manifest;
    use crate::metrics::fixture;

    /// As it is looked at again.
    fn kept(run: &BenchmarkRun) -> BenchmarkRun {
        match stored(json(run)) {
            StoredRun::Run(packed, _) => packed.unpack().unwrap(),
            StoredRun::Unreadable(unreadable) => panic!("{}", unreadable.why),
        }
    }

    fn stored(object: Value) -> StoredRun {
        StoredRun::new(serde_json::from_value(object).unwrap(), fixture::ALL)
    }

    fn json(run: &BenchmarkRun) -> Value {
        serde_json::to_value(run).unwrap()
    }

    #[test]
    fn a_run_is_looked_at_as_it_came_but_for_what_is_never_looked_at() {
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
                assert_eq!(json(&kept(&run)), json(&expected), "{}", path.display());
                seen += 1;
            }
        }
        assert!(seen > 5, "{seen}");
    }

    #[test]
    fn a_finished_run_is_kept_without_its_results_and_can_be_read() {
        let mut run = fixture::finished("a", 0);
        let status = run.status.as_mut().unwrap();
        assert!(!status.results.is_empty() && !status.conditions.is_empty());
        let conditions = status.conditions.clone();
        let execution = status.execution.get_or_insert_default();
        execution.finished_at = Some("2026-03-01T10:00:00Z".to_owned());
        let kept = kept(&run);
        let status = kept.status.unwrap();
        assert_eq!((status.results, status.conditions), (Vec::new(), conditions));
        assert_eq!(
            (kept.spec.run_policy, kept.spec.variants),
            (run.spec.run_policy, Vec::new())
        );
    }

    #[test]
    fn one_version_of_an_object_is_another_only_by_uid_and_version() {
        let version_of = |uid: &str, version: Option<&str>, name: &str| {
            let mut run = fixture::finished(name, 0);
            run.metadata.uid = Some(uid.to_owned());
            run.metadata.resource_version = version.map(str::to_owned);
            stored(json(&run))
        };
        assert_eq!(version_of("u", Some("1"), "a"), version_of("u", Some("1"), "b"));
        assert_ne!(version_of("u", Some("1"), "a"), version_of("u", Some("2"), "a"));
        assert_ne!(version_of("u", Some("1"), "a"), version_of("v", Some("1"), "a"));
        assert_ne!(
            version_of("u", None, "a"),
            version_of("u", None, "a"),
            "nothing says that they are the same"
        );
    }

    #[test]
    fn what_cannot_be_read_is_told_with_the_path_of_its_field() {
        let why = |spec: Value, status: Value| {
            let run = fixture::with_status("a", 0, fixture::status());
            let mut object = json(&run);
            object["spec"] = spec;
            object["status"] = status;
            match stored(object) {
                StoredRun::Run(..) => panic!("it can be read"),
                StoredRun::Unreadable(unreadable) => (unreadable.why.clone(), unreadable.begun),
            }
        };
        let sound = json(&fixture::finished("a", 0))["spec"].clone();
        let mut size = sound.clone();
        size["scenarios"][0]["pingPong"]["sizes"] = json!(["64B"]);
        let (size, begun) = why(size, Value::Null);
        assert!(
            size.starts_with("spec.scenarios[0].pingPong.sizes[0]: ") && !begun,
            "{size}"
        );
        let (missing, _) = why(Value::Null, Value::Null);
        assert!(missing.starts_with("spec: "), "{missing}");
        for status in [json!({"planHash": "a"}), json!({"execution": {}})] {
            assert!(why(json!(7), status).1);
        }
        let (state, begun) = why(sound, json!({"state": 7, "planHash": "a"}));
        assert!(state.starts_with("status.state: ") && begun, "{state}");
        assert!(!why(json!({}), json!({"conditions": []})).1);
    }
}

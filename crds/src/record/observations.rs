//! What a worker observed in a case in addition to its operations and their latencies, by observation of the catalogue.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Durations;
use crate::quantity::{Combination, Observation};

/// Observed values, by observation. What was not observed is absent. In a record, each has the field that the catalogue
/// names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observations(BTreeMap<Observation, Observed>);

/// Value of one observation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Observed {
    /// Distribution of durations.
    Distribution(Durations),
    /// One duration, in nanoseconds.
    Nanos(u64),
}

impl Observations {
    /// Returns the distribution of an observation that has one.
    pub fn distribution(&self, observation: Observation) -> Option<&Durations> {
        match self.0.get(&observation)? {
            Observed::Distribution(durations) => Some(durations),
            Observed::Nanos(_) => None,
        }
    }

    /// Returns the duration of an observation that has one, in nanoseconds.
    pub fn nanos(&self, observation: Observation) -> Option<u64> {
        match self.0.get(&observation)? {
            Observed::Nanos(nanos) => Some(*nanos),
            Observed::Distribution(_) => None,
        }
    }

    /// Returns all distributions.
    pub fn distributions_mut(&mut self) -> impl Iterator<Item = &mut Durations> {
        self.0.values_mut().filter_map(|observed| match observed {
            Observed::Distribution(durations) => Some(durations),
            Observed::Nanos(_) => None,
        })
    }
}

impl FromIterator<(Observation, Observed)> for Observations {
    fn from_iter<T: IntoIterator<Item = (Observation, Observed)>>(observed: T) -> Self {
        Self(observed.into_iter().collect())
    }
}

/// Fields of an object in a record that contain observations.
#[derive(Clone, Copy)]
struct Fields<'a> {
    /// Path of the object; empty for that of the posts.
    path: &'a str,
    observations: &'a Observations,
}

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let mut last_group = "";
        for (observation, observed) in &self.observations.0 {
            let Some(rest) = observation.definition().field.strip_prefix(self.path) else {
                continue;
            };
            match rest.split_once('/') {
                None => map.serialize_entry(rest, observed)?,
                Some((group, _)) if group != last_group => {
                    let path = format!("{}{group}/", self.path);
                    let fields = Fields { path: &path, ..*self };
                    map.serialize_entry(group, &fields)?;
                    last_group = group;
                }
                Some(_) => {}
            }
        }
        map.end()
    }
}

impl Serialize for Observations {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = Fields {
            path: "",
            observations: self,
        };
        fields.serialize(serializer)
    }
}

/// Reads the fields of an object into the observations. Other fields are ignored.
struct FieldsReader<'a> {
    path: String,
    observations: &'a mut Observations,
}

impl<'de> DeserializeSeed<'de> for FieldsReader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for FieldsReader<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            let path = format!("{}{name}", self.path);
            let group = format!("{path}/");
            let fields = || Observation::ALL.into_iter().map(|one| (one, one.definition()));
            if let Some((observation, definition)) = fields().find(|(_, one)| one.field == path) {
                let observed = match definition.combination {
                    Combination::Distribution => map
                        .next_value()
                        .map(|value: Option<_>| value.map(Observed::Distribution)),
                    Combination::LongestThread => map
                        .next_value()
                        .map(|value: Option<_>| value.map(Observed::Nanos)),
                };
                let observed = observed?;
                self.observations
                    .0
                    .extend(observed.map(|observed| (observation, observed)));
            } else if fields().any(|(_, one)| one.field.starts_with(&group)) {
                map.next_value_seed(FieldsReader {
                    path: group,
                    observations: &mut *self.observations,
                })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Observations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut observations = Self::default();
        let reader = FieldsReader {
            path: String::new(),
            observations: &mut observations,
        };
        reader.deserialize(deserializer)?;
        Ok(observations)
    }
}

#[cfg(feature = "crd")]
impl schemars::JsonSchema for Observations {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Observations".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = schemars::json_schema!({"type": "object"});
        for observation in Observation::ALL {
            let definition = observation.definition();
            let mut object = schema.ensure_object();
            let mut names = definition.field.split('/').peekable();
            while let Some(name) = names.next() {
                let properties = object
                    .entry("properties")
                    .or_insert_with(|| serde_json::json!({}));
                let Some(properties) = properties.as_object_mut() else {
                    break;
                };
                if names.peek().is_none() {
                    let mut value = match definition.combination {
                        Combination::Distribution => generator.subschema_for::<Durations>(),
                        Combination::LongestThread => generator.subschema_for::<u64>(),
                    };
                    let (first, rest) = definition.help.split_at_checked(1).unwrap_or_default();
                    let description = format!("{}{rest}.", first.to_ascii_uppercase());
                    value.insert("description".to_owned(), description.into());
                    properties.insert(name.to_owned(), value.into());
                    break;
                }
                let group = properties
                    .entry(name)
                    .or_insert_with(|| serde_json::json!({"type": "object"}));
                let Some(group) = group.as_object_mut() else {
                    break;
                };
                object = group;
            }
        }
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::Histogram;

    fn durations(nanos: u64) -> Durations {
        let mut histogram = Histogram::new();
        histogram.record(nanos);
        Durations {
            histogram,
            min_nanos: nanos,
            max_nanos: nanos,
        }
    }

    #[test]
    fn every_observation_has_its_field_and_is_read_from_it() {
        let all = Observation::ALL.map(|observation| match observation.definition().combination {
            Combination::Distribution => (
                observation,
                Observed::Distribution(durations(observation as u64 + 7)),
            ),
            Combination::LongestThread => (observation, Observed::Nanos(observation as u64 + 7)),
        });
        let observations: Observations = all.into_iter().collect();
        let written = serde_json::to_value(&observations).unwrap();
        for observation in Observation::ALL {
            let pointer = format!("/{}", observation.definition().field);
            assert!(written.pointer(&pointer).is_some(), "{pointer}");
        }
        assert_eq!(
            serde_json::from_value::<Observations>(written).unwrap(),
            observations
        );
    }

    #[test]
    fn other_fields_are_ignored_and_wrong_types_are_errors() {
        let text = r#"{"firstBurstNanos": 12, "ofAnotherRelease": {"deep": [1]}, "ping": {"other": 1}}"#;
        let observations: Observations = serde_json::from_str(text).unwrap();
        assert_eq!(observations.nanos(Observation::FirstBurst), Some(12));
        assert_eq!(observations.distribution(Observation::PingIdle), None);
        for text in [
            r#"{"firstBurstNanos": "12"}"#,
            r#"{"flush": 12}"#,
            r#"{"ping": {"idle": {}}}"#,
        ] {
            assert!(serde_json::from_str::<Observations>(text).is_err(), "{text}");
        }
    }
}

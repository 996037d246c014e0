//! Measured values by quantity.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use super::Quantity;

/// Measured values of an arm at one size by quantity, in the quantity's unit. A quantity that was not measured has no
/// value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Values(BTreeMap<Quantity, i64>);

impl Values {
    /// Returns the value of `quantity`, if it was measured.
    pub fn get(&self, quantity: Quantity) -> Option<i64> {
        self.0.get(&quantity).copied()
    }

    /// Returns the measured quantities and their values, in the order of the catalogue.
    pub fn iter(&self) -> impl Iterator<Item = (Quantity, i64)> {
        self.0.iter().map(|(quantity, value)| (*quantity, *value))
    }

    /// Returns the number of measured quantities.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sets the value of `quantity`, unless it has one.
    pub fn insert_if_absent(&mut self, quantity: Quantity, value: i64) {
        self.0.entry(quantity).or_insert(value);
    }

    /// Omits the values of the quantities for which `keep` is false.
    pub fn retain(&mut self, keep: impl Fn(Quantity) -> bool) {
        self.0.retain(|quantity, _| keep(*quantity));
    }
}

impl FromIterator<(Quantity, i64)> for Values {
    fn from_iter<T: IntoIterator<Item = (Quantity, i64)>>(values: T) -> Self {
        Self(values.into_iter().collect())
    }
}

impl<'de> Deserialize<'de> for Values {
    /// Reads the values of known quantities. Another release may have others.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let named = BTreeMap::<String, i64>::deserialize(deserializer)?;
        let known = named.into_iter();
        Ok(known
            .filter_map(|(name, value)| Some((Quantity::from_name(&name)?, value)))
            .collect())
    }
}

#[cfg(feature = "crd")]
impl schemars::JsonSchema for Values {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Values".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "object",
            "additionalProperties": {"type": "integer", "format": "int64"},
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_a_map_from_names_to_numbers_and_unknown_names_are_ignored() {
        let text = r#"{"latencyP50Nanos":4130,"footprintSlopeBytes":-12,"ofAnotherRelease":7}"#;
        let values: Values = serde_json::from_str(text).unwrap();
        assert_eq!(values.get(Quantity::LatencyP50Nanos), Some(4130));
        assert_eq!(
            serde_json::to_string(&values).unwrap(),
            r#"{"latencyP50Nanos":4130,"footprintSlopeBytes":-12}"#
        );
        assert!(serde_json::from_str::<Values>(r#"{"latencyP50Nanos":"4130"}"#).is_err());
    }
}

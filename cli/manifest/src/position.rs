//! Finds the line and column of a field in a file. Performs no I/O.
//!
//! The parser reports positions only with errors, so the file is read again up to the field, where reading stops with
//! an error.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// Position in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, starting at 1.
    pub line: usize,
    /// Column in characters, starting at 1.
    pub column: usize,
}

impl From<serde_yaml::Location> for Position {
    fn from(location: serde_yaml::Location) -> Self {
        Self {
            line: location.line(),
            column: location.column(),
        }
    }
}

/// Returns the position of the field `path` in the document with this `index`, whose value is `value`. For a field that
/// is not set, returns the position of the innermost object around it. Returns `None` if the document cannot be read.
pub(super) fn find(text: &str, index: usize, value: &Value, path: &str) -> Option<Position> {
    let segments = segments(value, path);
    let document = serde_yaml::Deserializer::from_str(text).nth(index)?;
    let stop = StopAt { segments: &segments };
    let error = stop.deserialize(document).err()?;
    error.location().map(Position::from)
}

/// Step from a value to one of its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Segment<'a> {
    Field(&'a str),
    Item(usize),
}

/// The steps of `path` that exist in `value`. Keys may contain dots and brackets, so the longest key that matches is
/// used.
fn segments<'a>(value: &'a Value, path: &str) -> Vec<Segment<'a>> {
    let mut segments = Vec::new();
    let (mut value, mut rest) = (value, path);
    while !rest.is_empty() {
        let next = match value {
            Value::Object(map) => {
                let names = rest.strip_prefix('.').unwrap_or(rest);
                let found = map
                    .iter()
                    .filter(|(key, _)| {
                        names
                            .strip_prefix(key.as_str())
                            .is_some_and(|after| after.is_empty() || after.starts_with(['.', '[']))
                    })
                    .max_by_key(|(key, _)| key.len());
                found.map(|(key, child)| (Segment::Field(key), child, names.get(key.len()..)))
            }
            Value::Array(items) => rest
                .strip_prefix('[')
                .and_then(|rest| rest.split_once(']'))
                .and_then(|(index, after)| Some((index.parse::<usize>().ok()?, after)))
                .and_then(|(index, after)| Some((Segment::Item(index), items.get(index)?, Some(after)))),
            _ => None,
        };
        let Some((segment, child, after)) = next else {
            break;
        };
        segments.push(segment);
        (value, rest) = (child, after.unwrap_or_default());
    }
    segments
}

/// Reads a value and fails at the field to which the segments lead.
#[derive(Clone, Copy)]
struct StopAt<'a> {
    segments: &'a [Segment<'a>],
}

impl StopAt<'_> {
    /// The error that marks the position.
    fn found<E: Error>() -> E {
        E::custom("found")
    }
}

impl<'de> DeserializeSeed<'de> for StopAt<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StopAt<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the field")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Some((Segment::Item(wanted), rest)) = self.segments.split_first() else {
            return Err(Self::found());
        };
        for _ in 0..*wanted {
            items.next_element::<IgnoredAny>()?;
        }
        items.next_element_seed(StopAt { segments: rest })?;
        Err(Self::found())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let Some((Segment::Field(wanted), rest)) = self.segments.split_first() else {
            return Err(Self::found());
        };
        let key = KeyIs {
            wanted,
            // The position of a field is the position of its name.
            is_last: rest.is_empty(),
        };
        while let Some(is_wanted) = entries.next_key_seed(key)? {
            match is_wanted {
                true => entries.next_value_seed(StopAt { segments: rest })?,
                false => {
                    entries.next_value::<IgnoredAny>()?;
                }
            }
        }
        Err(Self::found())
    }
}

/// Reads the name of a field: returns whether it is the wanted one, or fails there if it is the last one of the path.
#[derive(Clone, Copy)]
struct KeyIs<'a> {
    wanted: &'a str,
    is_last: bool,
}

impl<'de> DeserializeSeed<'de> for KeyIs<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyIs<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<bool, E> {
        match key == self.wanted {
            true if self.is_last => Err(StopAt::found()),
            is_wanted => Ok(is_wanted),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "a: 1\nb:\n  - x: 1\n    \"y.z\": {q: [1, 2]}\n  - &anchor {x: 2}\nc: *anchor\n---\na: {d: 5}\n";

    fn at(document: usize, path: &str) -> Option<(usize, usize)> {
        let documents = super::super::yaml::documents(TEXT).unwrap();
        let found = find(TEXT, document, &documents[document].value, path)?;
        Some((found.line, found.column))
    }

    #[test]
    fn finds_fields_and_items() {
        assert_eq!(at(0, "a"), Some((1, 1)));
        assert_eq!(at(0, "b"), Some((2, 1)));
        assert_eq!(at(0, "b[0].x"), Some((3, 5)));
        assert_eq!(at(0, "b[0].y.z"), Some((4, 5)));
        assert_eq!(at(0, "b[0].y.z.q[1]"), Some((4, 20)));
        assert_eq!(at(0, "b[1].x"), Some((5, 14)));
        assert_eq!(at(1, "a.d"), Some((8, 5)));
    }

    #[test]
    fn a_missing_field_is_where_the_object_around_it_is() {
        assert_eq!(at(0, "b[0].missing"), at(0, "b[0]"));
        assert_eq!(at(0, "b[0].missing").map(|(line, _)| line), Some(3));
        assert_eq!(at(0, "b[7]"), at(0, "b"));
        assert_eq!(at(0, "missing").map(|(line, _)| line), Some(1));
        assert_eq!(at(1, "a.missing[3].x"), at(1, "a"));
    }
}

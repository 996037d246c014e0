//! Parses YAML documents into JSON values and limits their expanded size. Performs no I/O.
//!
//! serde_yaml limits how often aliases are followed, relative to the document length, but many aliases of one long list
//! can still exhaust memory. Therefore every node is counted after alias expansion.

use std::cell::Cell;
use std::fmt;

use crds::printable::{character_name, deceptive_character};
use serde::de::{DeserializeSeed, EnumAccess, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::position::Position;
use super::{Defect, MAX_DOCUMENTS};

/// Maximum number of nodes in a file after alias expansion. The largest run that the schema allows has about 10,000
/// nodes.
const MAX_NODES: usize = 100_000;
/// Maximum nesting depth of lists and objects. A run has at most 6 levels.
const MAX_NESTING: usize = 32;

/// A document that is not empty.
pub(super) struct Document {
    /// Index of the document in the file, counting empty documents.
    pub(super) index: usize,
    /// Content.
    pub(super) value: Value,
}

/// Parses the documents in `text`. Skips empty documents.
pub(super) fn documents(text: &str) -> Result<Vec<Document>, Defect> {
    check_characters(text)?;
    check_nesting(text)?;
    let budget = Budget {
        nodes: Cell::new(MAX_NODES),
        is_exceeded: Cell::new(false),
    };
    let mut documents = Vec::new();
    for (index, document) in serde_yaml::Deserializer::from_str(text).enumerate() {
        let value = Node {
            budget: &budget,
            depth: 0,
        };
        let value = value
            .deserialize(document)
            .map_err(|error| invalid(&error, text, budget.is_exceeded.get()))?;
        if value.is_null() {
            continue;
        }
        if documents.len() == MAX_DOCUMENTS {
            return Err(Defect::file(format!(
                "the file has more than {MAX_DOCUMENTS} documents; split it"
            )));
        }
        documents.push(Document { index, value });
    }
    Ok(documents)
}

/// Rejects control characters, whose position the parser does not report.
fn check_characters(text: &str) -> Result<(), Defect> {
    let is_allowed = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t' | '\u{85}');
    for (line, content) in (1..).zip(text.split('\n')) {
        let found = content.chars().zip(1..).find(|(c, _)| !is_allowed(*c));
        if let Some((character, column)) = found {
            return Err(Defect {
                position: Some(Position { line, column }),
                ..Defect::file(format!(
                    "the file contains {}. Remove it",
                    character_name(character)
                ))
            });
        }
    }
    Ok(())
}

/// Describes an error of the parser in `text`, or a document that is outside of the limits. The position is not repeated in
/// the message.
fn invalid(error: &serde_yaml::Error, text: &str, is_limit: bool) -> Defect {
    let mut message = error.to_string();
    let position = error.location().map(Position::from);
    if let Some(Position { line, column }) = position {
        let end = format!(" at line {line} column {column}");
        message = message
            .strip_suffix(end.as_str())
            .map_or(message.clone(), str::to_owned);
    }
    if message.contains("cannot start any token") {
        message.push_str(". Indent with spaces instead of tabs, and write a value that starts with @, ` or % in quotation marks");
    }
    if is_limit {
        return Defect {
            position,
            ..Defect::file(message)
        };
    }
    // The parser stops at the latest one line after a character that it does not take for a colon or a space.
    let lines = text
        .lines()
        .take(position.map_or(usize::MAX, |position| position.line));
    let deceptive = lines.filter_map(deceptive_character).last();
    if let Some(character) = deceptive {
        message.push_str(&format!(
            ". The text before this position contains {}",
            character_name(character)
        ));
    }
    Defect {
        position,
        ..Defect::file(format!("invalid or unsupported YAML: {message}"))
    }
}

/// Checks that the number of open brackets does not exceed the limit. The YAML scanner visits every open bracket at
/// every token, so parsing a file that consists only of opening brackets would take minutes. Brackets in strings and
/// comments count too, but valid manifests stay below the limit.
fn check_nesting(text: &str) -> Result<(), Defect> {
    let mut open: usize = 0;
    for byte in text.bytes() {
        match byte {
            b'[' | b'{' => open += 1,
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        if open > MAX_OPEN_BRACKETS {
            return Err(Defect::file(format!(
                "brackets are nested more than {MAX_OPEN_BRACKETS} levels deep"
            )));
        }
    }
    Ok(())
}

/// Maximum number of open brackets. The limit is far above [`MAX_NESTING`] to tolerate unbalanced brackets in comments.
const MAX_OPEN_BRACKETS: usize = 1000;

/// Number of nodes that the remainder of the file may contain.
struct Budget {
    nodes: Cell<usize>,
    /// Whether reading stopped at a value that is valid YAML but outside of the limits.
    is_exceeded: Cell<bool>,
}

#[derive(Clone, Copy)]
struct Node<'a> {
    budget: &'a Budget,
    depth: usize,
}

impl Node<'_> {
    /// Returns the visitor for the children of this node.
    fn child<E: Error>(self) -> Result<Self, E> {
        if self.depth == MAX_NESTING {
            return Err(self.exceeded(format!(
                "lists and objects are nested more than {MAX_NESTING} levels deep"
            )));
        }
        Ok(Self {
            depth: self.depth + 1,
            ..self
        })
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("plain YAML without tags")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        self.count(Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        self.count(Value::Null)
    }

    fn visit_some<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        self.count(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        self.count(Value::from(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        self.count(Value::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        let number =
            Number::from_f64(value).ok_or_else(|| E::custom(format!("{value} is not a valid number")))?;
        self.count(Value::Number(number))
    }

    fn visit_i128<E: Error>(self, value: i128) -> Result<Value, E> {
        Err(self.exceeded(format!("{value} is too small for a number; use a larger value")))
    }

    fn visit_u128<E: Error>(self, value: u128) -> Result<Value, E> {
        Err(self.exceeded(format!("{value} is too large for a number; use a smaller value")))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, _: A) -> Result<Value, A::Error> {
        Err(A::Error::custom(
            "tags such as !a are not supported; remove the tag",
        ))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.count(Value::from(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let child = self.child()?;
        let mut list = Vec::new();
        while let Some(entry) = entries.next_element_seed(child)? {
            list.push(entry);
        }
        self.count(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let child = self.child()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(A::Error::custom(format!("duplicate key `{key}`")));
            }
            map.insert(key, entries.next_value_seed(child)?);
        }
        self.count(Value::Object(map))
    }
}

impl Node<'_> {
    /// The error for a value that is outside of the limits.
    fn exceeded<E: Error>(self, message: String) -> E {
        self.budget.is_exceeded.set(true);
        E::custom(message)
    }

    /// Deducts one node from the budget and returns `value`.
    fn count<E: Error>(self, value: Value) -> Result<Value, E> {
        let remaining = self.budget.nodes.get().checked_sub(1);
        let remaining = remaining
            .ok_or_else(|| self.exceeded(format!("the file expands to more than {MAX_NODES} values")))?;
        self.budget.nodes.set(remaining);
        Ok(value)
    }
}

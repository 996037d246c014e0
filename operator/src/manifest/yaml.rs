//! YAML documents as JSON values, with bounds on what they may expand to.
//!
//! serde_yaml bounds how often aliases are followed, relative to the length of the document; a long anchor followed often
//! enough is still a bomb. So every node is counted, aliases expanded.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::{Fault, MAX_DOCUMENTS};

/// Most nodes of a file, aliases expanded. The largest run that the schema allows has some 10,000.
const MAX_NODES: usize = 100_000;
/// Most lists and objects within each other. A run has 6.
const MAX_NESTING: usize = 32;

/// The documents of `text`, without empty ones.
pub(super) fn documents(text: &str) -> Result<Vec<Value>, Fault> {
    check_nesting(text)?;
    let budget = Budget {
        nodes: Cell::new(MAX_NODES),
    };
    let mut documents = Vec::new();
    for document in serde_yaml::Deserializer::from_str(text) {
        let value = Node {
            budget: &budget,
            depth: 0,
        };
        let value = value
            .deserialize(document)
            .map_err(|error| Fault::file(format!("no YAML that is read here: {error}")))?;
        if value.is_null() {
            continue;
        }
        if documents.len() == MAX_DOCUMENTS {
            return Err(Fault::file(format!(
                "it holds more than {MAX_DOCUMENTS} documents. Split it"
            )));
        }
        documents.push(value);
    }
    Ok(documents)
}

/// The YAML scanner looks at every open bracket at every token, so that a file of nothing but brackets would keep it for
/// minutes. Brackets in texts and comments count too: a manifest has none of these in such numbers.
fn check_nesting(text: &str) -> Result<(), Fault> {
    let mut open: usize = 0;
    for byte in text.bytes() {
        match byte {
            b'[' | b'{' => open += 1,
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        if open > MAX_OPEN_BRACKETS {
            return Err(Fault::file(format!(
                "more than {MAX_OPEN_BRACKETS} brackets are open at once. A manifest needs no such nesting"
            )));
        }
    }
    Ok(())
}

/// Far above [`MAX_NESTING`], so that brackets in comments do no harm.
const MAX_OPEN_BRACKETS: usize = 1000;

struct Budget {
    nodes: Cell<usize>,
}

#[derive(Clone, Copy)]
struct Node<'a> {
    budget: &'a Budget,
    depth: usize,
}

impl Node<'_> {
    fn inner<E: Error>(self) -> Result<Self, E> {
        if self.depth == MAX_NESTING {
            return Err(E::custom(format!(
                "lists and objects are nested deeper than {MAX_NESTING}"
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
        let number = Number::from_f64(value).ok_or_else(|| E::custom(format!("{value} is no number")))?;
        self.count(Value::Number(number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.count(Value::from(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut list = Vec::new();
        while let Some(entry) = entries.next_element_seed(inner)? {
            list.push(entry);
        }
        self.count(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(A::Error::custom(format!("`{key}` is there twice")));
            }
            map.insert(key, entries.next_value_seed(inner)?);
        }
        self.count(Value::Object(map))
    }
}

impl Node<'_> {
    fn count<E: Error>(self, value: Value) -> Result<Value, E> {
        let left = self.budget.nodes.get().checked_sub(1);
        let left = left.ok_or_else(|| E::custom(format!("it expands to more than {MAX_NODES} values")))?;
        self.budget.nodes.set(left);
        Ok(value)
    }
}

//! Deserializer of JSON values whose errors say which field cannot be read and why. Performs no I/O.

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::Value;

use super::error::{Cause, Unreadable};

/// Deserializes a value.
#[derive(Clone, Copy)]
pub(super) struct ValueDeserializer<'de>(pub(super) &'de Value);

impl<'de> Deserializer<'de> for ValueDeserializer<'de> {
    type Error = Unreadable;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(number), _, _) => visitor.visit_u64(number),
                (None, Some(number), _) => visitor.visit_i64(number),
                (None, None, Some(number)) => visitor.visit_f64(number),
                (None, None, None) => Err(Unreadable::invalid_type(
                    Unexpected::Other("the number"),
                    &visitor,
                )),
            },
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(items) => {
                let mut access = Items {
                    items: items.iter().enumerate(),
                };
                let found = visitor.visit_seq(&mut access)?;
                match access.items.len() {
                    0 => Ok(found),
                    _ => Err(Unreadable::invalid_length(items.len(), &"fewer elements")),
                }
            }
            Value::Object(fields) => visitor.visit_map(Fields {
                fields: fields.iter(),
                next: None,
            }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        match self.0 {
            Value::String(name) => visitor.visit_enum(Alternative { name, value: None }),
            Value::Object(fields) => {
                let mut entries = fields.iter();
                match (entries.next(), entries.next()) {
                    (Some((name, value)), None) => visitor.visit_enum(Alternative {
                        name,
                        value: Some(value),
                    }),
                    _ => Err(Unreadable::new(Cause::NotOneField {
                        set: fields.keys().cloned().collect(),
                    })),
                }
            }
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

/// Items of a list.
struct Items<'de> {
    items: std::iter::Enumerate<std::slice::Iter<'de, Value>>,
}

impl<'de> SeqAccess<'de> for &mut Items<'de> {
    type Error = Unreadable;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Unreadable> {
        let next = self.items.next();
        let item = next.map(|(index, value)| {
            let found = seed.deserialize(ValueDeserializer(value));
            found.map_err(|error| error.in_item(index))
        });
        item.transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

/// Fields of an object.
struct Fields<'de> {
    fields: serde_json::map::Iter<'de>,
    /// Field whose name has been read, but not its value.
    next: Option<(&'de String, &'de Value)>,
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = Unreadable;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Unreadable> {
        self.next = self.fields.next();
        let name = self.next.map(|(name, _)| {
            let found = seed.deserialize(BorrowedStrDeserializer::new(name));
            found.map_err(|error: Unreadable| error.in_field(name))
        });
        name.transpose()
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Unreadable> {
        let Some((name, value)) = self.next.take() else {
            return Err(Unreadable::new(Cause::Missing));
        };
        let found = seed.deserialize(ValueDeserializer(value));
        found.map_err(|error| error.in_field(name))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.fields.len())
    }
}

/// One of several alternatives: only its name, or an object with its name and value.
struct Alternative<'de> {
    name: &'de str,
    value: Option<&'de Value>,
}

impl<'de> EnumAccess<'de> for Alternative<'de> {
    type Error = Unreadable;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Unreadable> {
        let name: BorrowedStrDeserializer<'de, Unreadable> = BorrowedStrDeserializer::new(self.name);
        let found = seed.deserialize(name.into_deserializer());
        let found = found.map_err(|error| match self.value {
            Some(_) => error.in_field(self.name),
            None => error,
        })?;
        Ok((found, self))
    }
}

impl<'de> Alternative<'de> {
    /// Reads the value with `read`.
    fn read<T>(
        self,
        read: impl FnOnce(ValueDeserializer<'de>) -> Result<T, Unreadable>,
    ) -> Result<T, Unreadable> {
        let value = self.value.ok_or_else(|| {
            Unreadable::new(Cause::NoValue {
                name: self.name.to_owned(),
            })
        })?;
        read(ValueDeserializer(value)).map_err(|error| error.in_field(self.name))
    }
}

impl<'de> VariantAccess<'de> for Alternative<'de> {
    type Error = Unreadable;

    fn unit_variant(self) -> Result<(), Unreadable> {
        match self.value {
            None => Ok(()),
            Some(_) => self.read(serde::Deserialize::deserialize),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Unreadable> {
        self.read(|value| seed.deserialize(value))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Unreadable> {
        self.read(|value| value.deserialize_seq(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        self.read(|value| value.deserialize_map(visitor))
    }
}

//! Deserializes values that a person wrote, and describes what is wrong with them in the words of a manifest: without the
//! names of Rust types and without the vocabulary of the library that reads the value. Performs no I/O.

mod error;
mod value;

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::error::Category;

pub use error::{Cause, Unreadable, unknown_field, unknown_value};

/// Deserializes a value.
///
/// # Errors
/// Returns the path of the first field that cannot be read, and the cause.
pub fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T, Unreadable> {
    T::deserialize(value::ValueDeserializer(value))
}

/// Deserializes JSON text.
///
/// # Errors
/// Returns the position at which the text is not JSON, or the path of the first field that cannot be read, and the cause.
pub fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, Unreadable> {
    let value: Value = serde_json::from_str(text).map_err(|error| {
        Unreadable::new(match error.classify() {
            Category::Eof => Cause::Incomplete,
            Category::Syntax | Category::Data | Category::Io => Cause::NotJson {
                line: error.line(),
                column: error.column(),
            },
        })
    })?;
    from_value(&value)
}

#[cfg(test)]
mod tests;

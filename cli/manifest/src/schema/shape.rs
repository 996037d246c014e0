//! Finds the right form of a value that was written in the wrong shape, such as a single value in place of a list.
//! Performs no I/O.

use crds::units::Size;
use crds::v1alpha1::EXPRESSION_PATTERN;
use serde_json::{Map, Value, json};

use super::lookup::{alternatives, options, required};
use super::patterns::{Unit, unit};

/// Maximum number of levels below a field in which an option is searched.
const MAX_LEVELS: usize = 3;

/// Returns the value that `given` probably means where the schema expects another type; `None` if that is not clear.
pub(super) fn right_form(given: &Value, schema: &Value) -> Option<Value> {
    if schema.get("x-kubernetes-int-or-string").is_some() {
        // A list of one size where a single size is expected.
        let [only] = given.as_array()?.as_slice() else {
            return None;
        };
        return fits(only, schema).then(|| only.clone());
    }
    let form = match type_of(schema)? {
        "array" => as_list(given, schema.get("items")?)?,
        "object" => as_object(given, schema, MAX_LEVELS)?,
        "string" => match unit(schema) {
            Some(Unit::Time) => as_duration(given)?,
            _ => as_string(given).filter(|text| fits(text, schema))?,
        },
        "integer" => as_integer(given)?,
        "boolean" => as_boolean(given)?,
        _ => return None,
    };
    Some(form)
}

/// The type that a schema requires.
fn type_of(schema: &Value) -> Option<&str> {
    schema.get("type").and_then(Value::as_str)
}

/// Whether a scalar has the type that the schema requires.
pub(super) fn fits(given: &Value, schema: &Value) -> bool {
    if schema.get("x-kubernetes-int-or-string").is_some() {
        return given.is_u64() || given.as_str().is_some_and(|text| text.parse::<Size>().is_ok());
    }
    match type_of(schema) {
        Some("string") => given
            .as_str()
            .is_some_and(|text| schema.get("enum").is_none() || options(schema).contains(&text)),
        Some("integer") => given.is_u64() || given.is_i64(),
        Some("number") => given.is_number(),
        Some("boolean") => given.is_boolean(),
        Some("object") => given.is_object(),
        Some("array") => given.is_array(),
        _ => false,
    }
}

/// A scalar or an object where the schema expects a list of `items`.
fn as_list(given: &Value, items: &Value) -> Option<Value> {
    match given {
        Value::Null | Value::Array(_) => None,
        Value::Object(entries) if has_name(items) && !looks_like_item(entries, items) => {
            let items: Option<Vec<_>> = entries
                .iter()
                .map(|(name, value)| named_item(name, value, items))
                .collect();
            Some(Value::Array(items?))
        }
        // Variables as in a shell, such as "A=1 B='2 3'".
        Value::String(text) if has_name(items) && text.contains('=') => {
            let parts = shlex::split(text)?.into_iter().map(|part| item(&part, items));
            Some(Value::Array(parts.collect::<Option<_>>()?))
        }
        // Several values in one string, such as "64, 128" or "tcp,shm".
        Value::String(text) if text.contains(is_separator) && !fits(given, items) => {
            let parts = names(text).map(|part| item(part, items));
            Some(Value::Array(parts.collect::<Option<_>>()?))
        }
        Value::String(text) if type_of(items) == Some("string") && options(items).is_empty() => {
            words(text, items).map(|words| json!(words))
        }
        _ if fits(given, items) => Some(json!([given])),
        Value::String(text) => Some(json!([item(text, items)?])),
        _ => Some(json!([right_form(given, items)?])),
    }
}

/// The words of a text: names are separated by commas or spaces, and other words as in a shell. An expression is a single
/// word. `None` if the quotation marks of a shell are not balanced.
fn words(text: &str, items: &Value) -> Option<Vec<String>> {
    match items.get("pattern") {
        Some(pattern) if pattern == EXPRESSION_PATTERN => Some(vec![text.to_owned()]),
        Some(_) => Some(names(text).map(str::to_owned).collect()),
        None => shlex::split(text),
    }
}

/// Whether a character separates names.
fn is_separator(character: char) -> bool {
    character == ',' || character.is_whitespace()
}

/// Names that are separated by commas or spaces.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_separator).filter(|name| !name.is_empty())
}

/// An item of a list that is written as text.
fn item(text: &str, items: &Value) -> Option<Value> {
    let value = Value::from(text);
    let number = text.parse::<u64>().ok().map(Value::from);
    number
        .filter(|number| fits(number, items))
        .or_else(|| fits(&value, items).then_some(value.clone()))
        .or_else(|| right_form(&value, items))
}

/// Whether objects of this schema are identified by a name.
fn has_name(schema: &Value) -> bool {
    required(schema).contains(&"name")
}

/// Whether an object is a single item of a list rather than a mapping from names to items.
fn looks_like_item(entries: &Map<String, Value>, items: &Value) -> bool {
    entries.contains_key("name")
        && entries
            .keys()
            .all(|key| items.get("properties").is_some_and(|all| all.get(key).is_some()))
}

/// The item with a name, where the names are written as fields.
fn named_item(name: &str, value: &Value, items: &Value) -> Option<Value> {
    let mut item = Map::from_iter([("name".to_owned(), Value::from(name))]);
    match value {
        Value::Object(fields) => item.extend(fields.clone()),
        Value::Null => {}
        Value::Array(_) => return None,
        scalar => {
            let schema = items.get("properties")?.get("value")?;
            let fitting = match fits(scalar, schema) {
                true => scalar.clone(),
                false => right_form(scalar, schema)?,
            };
            item.insert("value".to_owned(), fitting);
        }
    }
    Some(Value::Object(item))
}

/// A scalar or a list where the schema expects an object.
fn as_object(given: &Value, schema: &Value, levels: usize) -> Option<Value> {
    let properties = schema.get("properties")?;
    if let Value::String(text) = given {
        // A variable as in a shell.
        if let Some((name, value)) = text.split_once('=').filter(|_| has_name(schema)) {
            return properties
                .get("value")
                .map(|_| json!({"name": name.trim(), "value": value.trim()}));
        }
        if let [name] = required(schema).as_slice()
            && *name == "name"
        {
            return Some(json!({"name": text}));
        }
        if let Some(object) = with_option(text, schema, levels) {
            return Some(object);
        }
    }
    if let [only] = required(schema).as_slice() {
        return field_with(only, given, properties);
    }
    if given.is_array() && properties.get("sizes").is_some() {
        return Some(json!({"sizes": given}));
    }
    // A single number where a range is expected is its lower end.
    if given.is_number() && properties.get("max").is_some() {
        return field_with("min", given, properties);
    }
    let [item] = given.as_array()?.as_slice() else {
        return None;
    };
    item.is_object().then(|| item.clone())
}

/// The object with one field, if the value fits it.
fn field_with(name: &str, given: &Value, properties: &Value) -> Option<Value> {
    let schema = properties.get(name)?;
    let value = match fits(given, schema) {
        true => given.clone(),
        false => right_form(given, schema)?,
    };
    Some(json!({name: value}))
}

/// The object in which a field has the value `text`, for example `{libfabric: {provider: tcp}}` for `tcp`; or the object
/// with the field `text`, if exactly one field must be set, for example `{loopback: {}}`.
fn with_option(text: &str, schema: &Value, levels: usize) -> Option<Value> {
    if levels == 0 {
        return None;
    }
    let properties = schema.get("properties")?.as_object()?;
    let choices = alternatives(schema);
    if choices.contains(&text) {
        return Some(json!({text: minimal_object(properties.get(text)?)}));
    }
    let candidates = properties.iter().filter(|(name, inner)| {
        // Other fields than these are optional, so an option among them says nothing about the shape.
        choices.contains(&name.as_str())
            || required(schema).contains(&name.as_str())
            || inner.get("items").is_some()
    });
    let mut found = candidates.filter_map(|(name, inner)| {
        let value = match inner.get("items") {
            Some(items) if options(items).contains(&text) => json!([text]),
            _ if options(inner).contains(&text) => json!(text),
            _ => with_option(text, inner, levels - 1)?,
        };
        Some(json!({name: value}))
    });
    found.next()
}

/// An object with the first option of each required field.
fn minimal_object(schema: &Value) -> Value {
    let fields = required(schema).into_iter().filter_map(|name| {
        let inner = schema.get("properties")?.get(name)?;
        let first = options(inner).first().map(|option| Value::from(*option))?;
        Some((name.to_owned(), first))
    });
    Value::Object(fields.collect())
}

/// A number or a boolean where the schema expects a string.
fn as_string(given: &Value) -> Option<Value> {
    match given {
        Value::Number(number) => Some(Value::from(number.to_string())),
        Value::Bool(value) => Some(Value::from(value.to_string())),
        Value::Array(items) => match items.as_slice() {
            [Value::String(only)] => Some(Value::from(only.as_str())),
            _ => None,
        },
        _ => None,
    }
}

/// A number where the schema expects a duration: it is likely a number of seconds.
fn as_duration(given: &Value) -> Option<Value> {
    let seconds = given.as_u64()?;
    Some(Value::from(format!("{seconds}s")))
}

/// A string or a whole number with decimals where the schema expects an integer.
fn as_integer(given: &Value) -> Option<Value> {
    match given {
        Value::String(text) if starts_with_zero(text) => None,
        Value::String(text) => text.trim().parse::<i64>().ok().map(Value::from),
        Value::Array(items) => match items.as_slice() {
            [only] if only.is_u64() => Some(only.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a text is a number that starts with 0, which some programs read as octal.
pub(super) fn starts_with_zero(text: &str) -> bool {
    text.len() > 1 && text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A word for a boolean where the schema expects a boolean.
fn as_boolean(given: &Value) -> Option<Value> {
    match given {
        Value::String(text) => match text.to_ascii_lowercase().as_str() {
            "yes" | "on" | "true" | "y" => Some(Value::Bool(true)),
            "no" | "off" | "false" | "n" => Some(Value::Bool(false)),
            _ => None,
        },
        Value::Number(number) => match number.as_u64() {
            Some(0) => Some(Value::Bool(false)),
            Some(1) => Some(Value::Bool(true)),
            _ => None,
        },
        _ => None,
    }
}

/// Writes a value as YAML on one line.
pub fn yaml(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| format!("{name}: {}", yaml(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(yaml).collect();
            format!("[{}]", items.join(", "))
        }
        Value::String(text) if is_plain(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Whether YAML reads the text as a string without quotation marks, also inside of brackets.
fn is_plain(text: &str) -> bool {
    let starts_as_text = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    let is_word = text
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ';'));
    let other_meanings = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    starts_as_text && is_word && !other_meanings.contains(&text.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use crds::units::DURATION_PATTERN;

    use super::*;

    /// The right form as YAML.
    fn form(given: Value, schema: &Value) -> Option<String> {
        right_form(&given, schema).map(|form| yaml(&form))
    }

    #[test]
    fn a_single_value_becomes_a_list() {
        let sizes = json!({"type": "array", "items": {"x-kubernetes-int-or-string": true}});
        assert_eq!(form(json!(64), &sizes).unwrap(), "[64]");
        assert_eq!(form(json!("32Ki"), &sizes).unwrap(), "[\"32Ki\"]");
        assert_eq!(form(json!("64, 1Mi"), &sizes).unwrap(), "[64, \"1Mi\"]");
        assert_eq!(form(json!(null), &sizes), None);
        let words = json!({"type": "array", "items": {"type": "string", "maxLength": 1000}});
        assert_eq!(
            form(json!("fi_pingpong -e 'a b' {server}"), &words).unwrap(),
            "[fi_pingpong, \"-e\", \"a b\", \"{server}\"]"
        );
        assert_eq!(form(json!("a,b"), &words).unwrap(), "[\"a,b\"]");
        assert_eq!(form(json!("echo 'a"), &words), None);
        let names = json!({"type": "array", "items": {"type": "string", "pattern": "^[a-z0-9_]+$"}});
        assert_eq!(form(json!("mlx5_0, mlx5_1"), &names).unwrap(), "[mlx5_0, mlx5_1]");
        assert_eq!(form(json!("mlx5_0 mlx5_1"), &names).unwrap(), "[mlx5_0, mlx5_1]");
        let transports = json!({"type": "array", "items": {"type": "string", "enum": ["tcp", "rc"]}});
        assert_eq!(form(json!("tcp"), &transports).unwrap(), "[tcp]");
        assert_eq!(form(json!("tcp,rc"), &transports).unwrap(), "[tcp, rc]");
        assert_eq!(form(json!("tcp rc"), &transports).unwrap(), "[tcp, rc]");
        assert_eq!(form(json!("mpi,rc"), &transports), None);
        let selectors = json!({"type": "array", "items": {"type": "string", "pattern": EXPRESSION_PATTERN}});
        assert_eq!(
            form(json!("device.driver == \"a\""), &selectors).unwrap(),
            "[\"device.driver == \\\"a\\\"\"]"
        );
    }

    #[test]
    fn names_as_fields_become_a_list_of_names_and_values() {
        let env = json!({"type": "array", "items": {
            "type": "object", "required": ["name", "value"],
            "properties": {"name": {"type": "string"}, "value": {"type": "string"}},
        }});
        for given in [
            json!({"FI_EFA_X": "1"}),
            json!({"FI_EFA_X": 1}),
            json!("FI_EFA_X=1"),
            json!("FI_EFA_X='1'"),
            json!({"name": "FI_EFA_X", "value": "1"}),
        ] {
            assert_eq!(
                form(given.clone(), &env).unwrap(),
                "[{name: FI_EFA_X, value: \"1\"}]",
                "{given}"
            );
        }
        assert_eq!(
            form(json!("A=1 B='2 3'"), &env).unwrap(),
            "[{name: A, value: \"1\"}, {name: B, value: \"2 3\"}]"
        );
        assert_eq!(form(json!("A=1 B"), &env), None);
        let variants = json!({"type": "array", "items": {
            "type": "object", "required": ["name"],
            "properties": {"name": {"type": "string"}, "inject": {"type": "object"}},
        }});
        let given = json!({"base": null, "other": {"inject": {"maxBytes": 64}}});
        assert_eq!(
            form(given, &variants).unwrap(),
            "[{name: base}, {inject: {maxBytes: 64}, name: other}]"
        );
        assert_eq!(form(json!("base"), &variants).unwrap(), "[{name: base}]");
    }

    #[test]
    fn a_single_value_becomes_an_object_with_its_field() {
        let provider = json!({"type": "string", "enum": ["tcp", "shm"]});
        let libfabric =
            json!({"type": "object", "required": ["provider"], "properties": {"provider": provider}});
        let transport = json!({"type": "object",
            "oneOf": [{"required": ["libfabric"]}, {"required": ["loopback"]}],
            "properties": {"libfabric": libfabric, "loopback": {"type": "object"}},
        });
        assert_eq!(
            form(json!("tcp"), &transport).unwrap(),
            "{libfabric: {provider: tcp}}"
        );
        assert_eq!(form(json!("loopback"), &transport).unwrap(), "{loopback: {}}");
        assert_eq!(
            form(json!("libfabric"), &transport).unwrap(),
            "{libfabric: {provider: tcp}}"
        );
        assert_eq!(form(json!("shm"), &libfabric).unwrap(), "{provider: shm}");
        assert_eq!(form(json!("mpi"), &transport), None);
        let inject = json!({"type": "object", "required": ["maxBytes"],
            "properties": {"maxBytes": {"x-kubernetes-int-or-string": true}}});
        assert_eq!(form(json!(64), &inject).unwrap(), "{maxBytes: 64}");
    }

    #[test]
    fn scalars_change_their_type() {
        let duration = json!({"type": "string", "pattern": DURATION_PATTERN});
        assert_eq!(form(json!(10), &duration).unwrap(), "\"10s\"");
        assert_eq!(form(json!(true), &duration), None);
        assert_eq!(form(json!("64"), &json!({"type": "integer"})).unwrap(), "64");
        assert_eq!(form(json!("many"), &json!({"type": "integer"})), None);
        assert_eq!(form(json!(1), &json!({"type": "string"})).unwrap(), "\"1\"");
        assert_eq!(form(json!(true), &json!({"type": "string"})).unwrap(), "\"true\"");
        assert_eq!(form(json!("yes"), &json!({"type": "boolean"})).unwrap(), "true");
    }
}

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;

use super::*;
use crate::units::Size;

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Example {
    #[serde(default)]
    sizes: Vec<Size>,
    #[serde(default)]
    provider: Option<Provider>,
    count: u32,
    #[serde(default)]
    pair: Option<(bool, f64)>,
    #[serde(default)]
    named: BTreeMap<String, i8>,
    #[serde(default)]
    library: Option<Library>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Provider {
    Tcp,
    Shm,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Library {
    Libfabric(Libfabric),
    Ucx { rails: u8 },
    Loopback,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Libfabric {
    provider: Provider,
}

fn described(value: &Value) -> String {
    from_value::<Example>(value).unwrap_err().to_string()
}

#[test]
fn reads_what_serde_json_reads() {
    for value in [
        json!({"count": 1}),
        json!({"count": 7, "sizes": [64, "1Ki"], "provider": "tcp", "pair": [true, 1.5], "named": {"a": -1}}),
        json!({"count": 7, "provider": null, "pair": null, "library": "loopback"}),
        json!({"count": 7, "library": {"loopback": null}}),
        json!({"count": 7, "library": {"ucx": {"rails": 4}}}),
        json!({"count": 7, "library": {"libfabric": {"provider": {"shm": null}}}}),
    ] {
        let read = from_value::<Example>(&value).unwrap();
        assert_eq!(read, serde_json::from_value::<Example>(value.clone()).unwrap());
        assert_eq!(from_json::<Example>(&value.to_string()).unwrap(), read);
    }
}

#[test]
fn names_the_field_and_the_cause_without_words_of_a_library() {
    for (value, expected) in [
        (
            json!({"count": 1, "provider": "tpc"}),
            "provider: `tpc` is not a valid value. Did you mean `tcp`? Use one of tcp, shm",
        ),
        (
            json!({"count": 1, "size": [1]}),
            "size: unknown field `size`. Did you mean `sizes`? Use one of sizes, provider, count, pair, named, library",
        ),
        (json!({"sizes": []}), "count: is missing; this field is required"),
        (
            json!({"count": 1, "sizes": {"a": 1}}),
            "sizes: an object is not valid here; use a list",
        ),
        (
            json!({"count": "1"}),
            "count: \"1\" is not valid here; use a whole number from 0 to 4294967295",
        ),
        (
            json!({"count": -1}),
            "count: -1 is not valid here; use a whole number from 0 to 4294967295",
        ),
        (
            json!({"count": null}),
            "count: an empty value is not valid here; use a whole number from 0 to 4294967295",
        ),
        (
            json!({"count": 1, "provider": "a`, expected b"}),
            "provider: `a`, expected b` is not a valid value. Use one of tcp, shm",
        ),
        (
            json!({"count": 1, "provider": 3}),
            "provider: 3 is not valid here; use a string, or an object with exactly one field",
        ),
        (
            json!({"count": 1, "sizes": [1, "x"]}),
            "sizes[1]: `x` does not start with a whole number; write for example 64, 1Ki or 16M",
        ),
        (
            json!({"count": 1, "pair": [true, 1.5, 2]}),
            "pair: a list of 3 is not valid here; use fewer items",
        ),
        (
            json!({"count": 1, "named": {"a.b": 1000}}),
            "named.a.b: 1000 is not valid here; use a whole number",
        ),
        (
            json!({"count": 1, "library": {}}),
            "library: exactly one field must be set, but none is",
        ),
        (
            json!({"count": 1, "library": {"ucx": {}, "loopback": null}}),
            "library: exactly one field must be set, but there are loopback and ucx",
        ),
        (
            json!({"count": 1, "library": "libfabric"}),
            "library: `libfabric` has no value; write `libfabric: {...}`",
        ),
        (
            json!({"count": 1, "library": {"libfabric": {"provider": "efa"}}}),
            "library.libfabric.provider: `efa` is not a valid value. Use one of tcp, shm",
        ),
        (
            json!({"count": 1, "library": {"libfabric": {}}}),
            "library.libfabric.provider: is missing; this field is required",
        ),
        (
            json!({"count": 1, "library": {"ucx": {"rails": 256}}}),
            "library.ucx.rails: 256 is not valid here; use a whole number from 0 to 255",
        ),
        (
            json!({"count": 1, "library": {"ucy": {}}}),
            "library.ucy: `ucy` is not a valid value. Did you mean `ucx`? Use one of libfabric, ucx, loopback",
        ),
        (json!(3), "3 is not valid here; use an object"),
    ] {
        assert_eq!(described(&value), expected, "{value}");
    }
}

#[test]
fn says_where_a_text_is_not_json() {
    let read = |text: &str| from_json::<Example>(text).unwrap_err();
    assert_eq!(read("{\"count\": 1").cause, Cause::Incomplete);
    assert_eq!(read("").cause, Cause::Incomplete);
    assert_eq!(
        read("{count: 1}").to_string(),
        "the text is not valid JSON at line 1, column 2; check the quotation marks, commas and brackets"
    );
    assert_eq!(read("{}").path, "count");
}

//! Tables of variables, as libfabric and UCX report them. Performs no I/O.

use std::collections::{BTreeMap, BTreeSet};

use libfabric_sys::{Parameter, ParameterKind};

/// Variable in libfabric's table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FabricVariable {
    /// Provider that defines the variable; `None` for the library itself.
    pub provider: Option<String>,
    /// Effective value: the value that is set, or the default that the description states.
    pub effective: Option<String>,
}

/// Returns libfabric's variables by name.
pub(super) fn fabric_variables(parameters: &[Parameter]) -> BTreeMap<String, FabricVariable> {
    let entry = |parameter: &Parameter| {
        let value = match &parameter.value {
            Some(value) => canonical(value, parameter.kind),
            None => stated_default(&parameter.help, parameter.kind),
        };
        let variable = FabricVariable {
            provider: provider(parameter),
            effective: value,
        };
        (parameter.name.clone(), variable)
    };
    parameters.iter().map(entry).collect()
}

/// Provider that defines the parameter: its description then starts with the provider's name, which is also part of the
/// variable's name.
fn provider(parameter: &Parameter) -> Option<String> {
    let (provider, _) = parameter.help.split_once(": ")?;
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let prefix = format!("FI_{}_", provider.to_ascii_uppercase());
    (provider.bytes().all(is_name) && parameter.name.starts_with(&prefix)).then(|| provider.to_owned())
}

/// Value as libfabric's parser reads it: `fi_param_get` accepts `0`, `false`, `no` and `off`, and their opposites. `None`
/// if the parser rejects the value, so that the default applies.
fn canonical(value: &str, kind: ParameterKind) -> Option<String> {
    match kind {
        ParameterKind::Text => Some(value.to_owned()),
        ParameterKind::Boolean => match value.to_ascii_lowercase().as_str() {
            "0" | "false" | "no" | "off" => Some("false".to_owned()),
            "1" | "true" | "yes" | "on" => Some("true".to_owned()),
            _ => None,
        },
        ParameterKind::Number => {
            let text = value.trim();
            let (negative, digits) = text
                .strip_prefix('-')
                .map_or((false, text), |digits| (true, digits));
            let number = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
                Some(digits) => u64::from_str_radix(digits, 16).ok()?,
                // The C library reads a leading 0 as octal.
                None if digits.len() > 1 && digits.starts_with('0') => u64::from_str_radix(digits, 8).ok()?,
                None => digits.parse().ok()?,
            };
            Some(format!("{}{number}", if negative { "-" } else { "" }))
        }
    }
}

/// Default that a description states, such as `(default: 256)` or `Default: false`. `None` if it states none, several,
/// or one that depends on something else.
fn stated_default(help: &str, kind: ParameterKind) -> Option<String> {
    let lower = help.to_ascii_lowercase();
    let mut statements = lower
        .match_indices("(default")
        .map(|(start, word)| (start + word.len(), true));
    let (start, in_parentheses) = match (statements.next(), statements.next()) {
        (Some(first), None) => first,
        (Some(_), Some(_)) => return None,
        (None, _) => (lower.rfind("default: ")? + "default".len(), false),
    };
    let statement = help.get(start..)?.trim_start_matches([':', ' ', '\t']);
    let value = if in_parentheses {
        statement.split_once(')')?.0
    } else {
        statement.trim_end_matches(['.', ' '])
    };
    // Some descriptions state a Boolean default twice, such as `false/no`.
    let value = match kind {
        ParameterKind::Boolean => value.split('/').next().unwrap_or(value),
        ParameterKind::Number | ParameterKind::Text => value,
    };
    let is_single = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_graphic());
    is_single.then(|| canonical(value, kind)).flatten()
}

/// UCX's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct UcxVariables {
    /// Effective values by name; `None` for deprecated settings, which UCX ignores.
    pub listed: BTreeMap<String, Option<String>>,
    /// Variables with UCX's prefix in the environment that no setting has used.
    pub unused: BTreeSet<String>,
}

/// Parses the list of settings, and UCX's warning about unused variables.
pub(super) fn ucx_variables(list: &str, warning: &str) -> UcxVariables {
    let listed = list.lines().filter_map(|line| {
        let line = line.trim().trim_start_matches("# ");
        if let Some(name) = line.strip_suffix(" (deprecated)") {
            return Some((name.to_owned(), None));
        }
        let (name, value) = line.split_once('=')?;
        name.starts_with("UCX_")
            .then(|| (name.to_owned(), Some(value.to_owned())))
    });
    // 1.13: "unused env variables: UCX_A,UCX_B (set UCX_WARN_UNUSED_ENV_VARS=n …)". 1.22: "unused environment variables:
    // UCX_A (maybe: UCX_B?); UCX_C", and the advice in another line.
    let mut unused = BTreeSet::new();
    for line in warning.lines() {
        let Some((_, names)) = line.split_once("unused env") else {
            continue;
        };
        let Some((_, names)) = names.split_once(": ") else {
            continue;
        };
        let names = names.split("(set UCX_WARN").next().unwrap_or(names);
        let without_suggestions = remove_parentheses(names);
        let words = without_suggestions.split([',', ';', ' ']).map(str::trim);
        unused.extend(words.filter(|word| word.starts_with("UCX_")).map(str::to_owned));
    }
    UcxVariables {
        listed: listed.collect(),
        unused,
    }
}

/// Removes the text in parentheses.
fn remove_parentheses(text: &str) -> String {
    let mut depth = 0_u32;
    text.chars()
        .filter(|character| {
            match character {
                '(' => depth += 1,
                ')' => {
                    depth = depth.saturating_sub(1);
                    return false;
                }
                _ => {}
            }
            depth == 0
        })
        .collect()
}

impl UcxVariables {
    /// Settings that the variable `name` sets through a prefix that several transports share, such as `UCX_IB_SEG_SIZE`:
    /// the listed settings whose names end with the same words. The longest common end decides.
    pub(super) fn settings_with_end(&self, name: &str) -> Vec<(&str, &str)> {
        let mut end = name.strip_prefix("UCX_").unwrap_or(name);
        while let Some((_, shorter)) = end.split_once('_') {
            end = shorter;
            let suffix = format!("_{end}");
            let settings = self.listed.iter().filter(|(listed, _)| listed.ends_with(&suffix));
            let settings: Vec<(&str, &str)> = settings
                .filter_map(|(name, value)| Some((name.as_str(), value.as_deref()?)))
                .collect();
            if !settings.is_empty() {
                return settings;
            }
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_defaults_only_where_they_are_stated_as_one_value() {
        use ParameterKind::{Boolean, Number, Text};
        for (kind, help, expected) in [
            (
                Number,
                "tcp: define default tx context size (default: 256)",
                Some("256"),
            ),
            (Number, "ofi_rxm: … inject limit. (default 16384)", Some("16384")),
            (
                Number,
                "shm: Max number of outstanding tx operations \t\t\t Default: 1024",
                Some("1024"),
            ),
            (
                Number,
                "efa: … entries in SHM provider's address vector (Default 128).",
                Some("128"),
            ),
            (
                Boolean,
                "shm: Manually disables CMA. Default: false",
                Some("false"),
            ),
            (
                Boolean,
                "ofi_rxm: … even if app requested (default: false/no).",
                Some("false"),
            ),
            (Boolean, "verbs: … (default: 0)", Some("false")),
            (
                Text,
                "Specify logging level: warn, trace (default: warn)",
                Some("warn"),
            ),
            // Not stated, not one value, or not of this type.
            (Boolean, "tcp: overrides default TCP_NODELAY socket setting", None),
            (
                Boolean,
                "net: overrides default TCP_NODELAY socket setting (default -1)",
                None,
            ),
            (Number, "(default: total memory / number of cpu cores / 2)", None),
            (Number, "(default: 1 if affinity is set, 1000 if not)", None),
            (Number, "(Default: 0 [random])", None),
            (Number, "(default: 128, 4096 with srx", None),
            (Number, "Default: SIZE_MAX (18446744073709551615)", None),
            (Number, "provider specific (default: a) and (default: 4)", None),
            (Text, "Only use specified provider (default: all available)", None),
            (Text, "verbs: The prefix (default: )", None),
        ] {
            assert_eq!(stated_default(help, kind).as_deref(), expected, "{help}");
        }
    }

    #[test]
    fn values_are_compared_as_libfabric_reads_them() {
        let boolean = |value| canonical(value, ParameterKind::Boolean);
        assert_eq!(boolean("YES"), boolean("1"));
        assert_ne!(boolean("0"), boolean("1"));
        assert_eq!(boolean("maybe"), None);
        let number = |value| canonical(value, ParameterKind::Number);
        assert_eq!(number("0x100"), number("256"));
        assert_eq!(number("0400"), number("256"));
        assert_eq!(number("-1").as_deref(), Some("-1"));
        assert_eq!(number("1k"), None);
    }

    #[test]
    fn names_the_provider_of_a_variable() {
        let parameter = |name: &str, help: &str| Parameter {
            name: name.to_owned(),
            kind: ParameterKind::Number,
            help: help.to_owned(),
            value: None,
        };
        let provider_of = |name, help| provider(&parameter(name, help));
        assert_eq!(
            provider_of("FI_OFI_RXM_TX_SIZE", "ofi_rxm: size"),
            Some("ofi_rxm".to_owned())
        );
        assert_eq!(provider_of("FI_LOG_LEVEL", "Specify logging level: warn"), None);
    }

    #[test]
    fn reads_the_warning_of_both_releases() {
        let list = "UCX_TLS=all\nUCX_TCP_MAX_SHORT (deprecated)\n# comment\nUCX_RC_VERBS_SEG_SIZE=8256\n";
        let old = "[1.5] [vm:1:0] parser.c:1908 UCX  WARN  unused env variables: UCX_FOO,UCX_NET_DEVICE (set \
                   UCX_WARN_UNUSED_ENV_VARS=n to suppress this warning)";
        let new = "[1.5] [vm:1:0] parser.c:2578 UCX  WARN  unused environment variables: UCX_FOO (maybe: UCX_TLS?); \
                   UCX_NET_DEVICE (maybe: UCX_NET_DEVICES, UCX_X?)\n[1.5] parser.c:2578 UCX  WARN  (set \
                   UCX_WARN_UNUSED_ENV_VARS=n to suppress this warning)";
        let single = "UCX  WARN  unused env variable: UCX_FOO (set UCX_WARN_UNUSED_ENV_VARS=n to …)";
        let expected: BTreeSet<String> = ["UCX_FOO".to_owned(), "UCX_NET_DEVICE".to_owned()].into();
        assert_eq!(ucx_variables(list, old).unused, expected);
        assert_eq!(ucx_variables(list, new).unused, expected);
        assert_eq!(ucx_variables(list, single).unused.len(), 1);
        let found = ucx_variables(list, "");
        assert!(found.unused.is_empty());
        assert_eq!(found.listed["UCX_TCP_MAX_SHORT"], None);
        assert_eq!(found.listed["UCX_TLS"].as_deref(), Some("all"));
        assert_eq!(
            found.settings_with_end("UCX_IB_SEG_SIZE"),
            [("UCX_RC_VERBS_SEG_SIZE", "8256")]
        );
    }
}

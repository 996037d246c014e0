//! Placeholders in command arguments.

use snafu::Snafu;

/// Argument that is replaced by the arm's arguments.
pub const ARGUMENTS: &str = "{arguments}";
/// Names of the placeholders within arguments.
pub const PLACEHOLDERS: [&str; 4] = ["server", "port", "size", "device"];

/// Values of the placeholders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values {
    /// Address of the worker that runs the server.
    pub server: String,
    /// TCP port.
    pub port: u16,
    /// Size in bytes.
    pub size: u64,
    /// Network interface or RDMA device of the worker's first rail; `None` if the rail has none.
    pub device: Option<String>,
}

/// Reason that an argument cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Snafu)]
pub enum TemplateError {
    /// The placeholder is unknown.
    #[snafu(display(
        "the placeholder `{{{name}}}` is unknown. Use {{server}}, {{port}}, {{size}} or {{device}}, {{arguments}} as \
         a separate argument, or write {{{{ and }}}} for literal braces"
    ))]
    Unknown {
        /// Name of the placeholder.
        name: String,
    },
    /// A brace is unmatched.
    #[snafu(display("`{text}` has an unmatched brace. Write {{{{ and }}}} for literal braces"))]
    Unbalanced {
        /// The argument.
        text: String,
    },
    /// The worker has no device.
    #[snafu(display(
        "the placeholder {{device}} has no value, because the first rail uses neither a network interface nor an \
         RDMA device"
    ))]
    NoDevice,
}

/// A part of an argument.
enum Part<'a> {
    Text(char),
    Placeholder(&'a str),
}

/// Whether one of `arguments` contains the placeholder `name`.
pub fn contains(arguments: &[String], name: &str) -> bool {
    arguments.iter().any(|argument| {
        let mut found = false;
        let read = parts(argument, |part| {
            found |= matches!(part, Part::Placeholder(other) if other == name)
        });
        read.is_ok() && found
    })
}

/// Checks the placeholders of `argument`.
///
/// # Errors
/// Returns an error if a placeholder is unknown, or a brace is unmatched.
pub fn check(argument: &str) -> Result<(), TemplateError> {
    if argument == ARGUMENTS {
        return Ok(());
    }
    let mut unknown = None;
    parts(argument, |part| {
        if let Part::Placeholder(name) = part
            && !PLACEHOLDERS.contains(&name)
        {
            unknown.get_or_insert_with(|| name.to_owned());
        }
    })?;
    unknown.map_or(Ok(()), |name| UnknownSnafu { name }.fail())
}

/// Replaces the placeholders in `arguments`, and replaces the argument `{arguments}` with `own`, the arguments of the
/// arm. Placeholders in `own` are also replaced.
///
/// # Errors
/// Returns an error if a placeholder is unknown or has no value.
pub fn expand(arguments: &[String], own: &[String], values: &Values) -> Result<Vec<String>, TemplateError> {
    let expanded = arguments.iter().flat_map(|argument| {
        let is_own = argument == ARGUMENTS;
        if is_own {
            own
        } else {
            std::slice::from_ref(argument)
        }
    });
    expanded.map(|argument| replace(argument, values)).collect()
}

fn replace(argument: &str, values: &Values) -> Result<String, TemplateError> {
    let mut text = String::new();
    let mut problem = None;
    parts(argument, |part| match part {
        Part::Text(character) => text.push(character),
        Part::Placeholder("server") => text.push_str(&values.server),
        Part::Placeholder("port") => text.push_str(&values.port.to_string()),
        Part::Placeholder("size") => text.push_str(&values.size.to_string()),
        Part::Placeholder("device") => match &values.device {
            Some(device) => text.push_str(device),
            None => problem = problem.take().or(Some(TemplateError::NoDevice)),
        },
        Part::Placeholder(name) => {
            let name = name.to_owned();
            problem = problem.take().or(Some(TemplateError::Unknown { name }));
        }
    })?;
    problem.map_or(Ok(text), Err)
}

fn parts<'a>(argument: &'a str, mut each: impl FnMut(Part<'a>)) -> Result<(), TemplateError> {
    let unbalanced = || TemplateError::Unbalanced {
        text: argument.chars().take(200).collect(),
    };
    let mut rest = argument;
    while let Some(character) = rest.chars().next() {
        let after = &rest[character.len_utf8()..];
        rest = match character {
            '{' | '}' if after.starts_with(character) => {
                each(Part::Text(character));
                &after[1..]
            }
            '{' => {
                let (name, after) = after.split_once('}').ok_or_else(unbalanced)?;
                if name.contains('{') {
                    return Err(unbalanced());
                }
                each(Part::Placeholder(name));
                after
            }
            '}' => return Err(unbalanced()),
            _ => {
                each(Part::Text(character));
                after
            }
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn values() -> Values {
        Values {
            server: "10.0.0.1".to_owned(),
            port: 5,
            size: 64,
            device: None,
        }
    }

    #[test]
    fn placeholders_are_replaced() {
        let own = strings(&["-p", "tcp:{port}"]);
        let given = strings(&["tool", "{arguments}", "--to={server}:{port}", "{{é}}", "{size}"]);
        let expected = strings(&["tool", "-p", "tcp:5", "--to=10.0.0.1:5", "{é}", "64"]);
        assert_eq!(expand(&given, &own, &values()), Ok(expected));
    }

    #[test]
    fn rejects_unknown_placeholders_and_unmatched_braces() {
        assert_eq!(check("{server}-{port}"), Ok(()));
        assert_eq!(check("{arguments}"), Ok(()));
        for unknown in ["{peer}", "{}", "x{arguments}"] {
            assert!(
                matches!(check(unknown), Err(TemplateError::Unknown { .. })),
                "{unknown}"
            );
        }
        for unbalanced in ["{port", "port}", "{a{port}"] {
            assert!(
                matches!(check(unbalanced), Err(TemplateError::Unbalanced { .. })),
                "{unbalanced}"
            );
        }
    }

    #[test]
    fn a_missing_device_is_an_error() {
        let given = strings(&["-d", "{device}"]);
        assert_eq!(expand(&given, &[], &values()), Err(TemplateError::NoDevice));
        assert!(contains(&given, "device") && !contains(&given, "port"));
    }
}

//! Command line of the Starway benchmark suite (`python -m starway.bench`). Performs no I/O.

use super::Role;

/// Flag of each role, and its subcommand.
pub(super) const ROLES: [Role; 3] = [
    ("--role server", "serve"),
    ("--role client", "connect"),
    ("--role loopback", "loopback"),
];

/// The value of `--role`, if `words` contain it.
pub(super) fn role<'a>(words: &[&'a str]) -> Option<&'a str> {
    let position = words.iter().rposition(|word| is_role(word))?;
    let value = words[position].split_once('=').map(|(_, value)| value);
    value.or_else(|| words.get(position + 1).copied()).or(Some(""))
}

fn is_role(word: &str) -> bool {
    word == "--role" || word.starts_with("--role=")
}

/// The subcommand of `role`, and its flags: `words` without `--role`.
///
/// # Errors
/// Returns an error if the role is missing or unknown.
pub(super) fn rewrite(role: Option<&str>, words: &[&str]) -> Result<(&'static str, Vec<String>), String> {
    let role = role.ok_or("--role is missing: use --role server, client or loopback")?;
    let selects = |(flag, _): &&Role| flag.strip_prefix("--role ") == Some(role);
    let Some((_, subcommand)) = ROLES.iter().find(selects) else {
        return Err(format!("--role is {role:?}: use server, client or loopback"));
    };
    let mut flags = Vec::new();
    let mut words = words.iter().copied();
    let mut is_size = false;
    while let Some(word) = words.next() {
        if is_role(word) {
            if !word.contains('=') {
                words.next();
            }
            continue;
        }
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        match value {
            Some(value) if names_size(name) => flags.push(format!("{name}={}", binary_size(value))),
            _ if is_size => flags.push(binary_size(word)),
            _ => flags.push(word.to_owned()),
        }
        is_size = value.is_none() && names_size(name);
    }
    Ok((subcommand, flags))
}

/// Whether the value of the flag `name` is a size: `--large-bytes`, `--small-bytes`, `--stream-bytes` or `--max-bytes`.
fn names_size(name: &str) -> bool {
    name.starts_with("--") && name.ends_with("-bytes")
}

/// Size with a binary suffix. In the suite, `k`, `kb`, `ki` and `kib` are all 1024 bytes, in any case.
fn binary_size(text: &str) -> String {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let suffix = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "k" | "kb" | "ki" | "kib" => "Ki",
        "m" | "mb" | "mi" | "mib" => "Mi",
        "g" | "gb" | "gi" | "gib" => "Gi",
        // The command reports an unknown suffix.
        _ => return text.to_owned(),
    };
    format!("{}{suffix}", digits.replace('_', ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(line: &str) -> Result<String, String> {
        let words: Vec<_> = line.split_whitespace().collect();
        let (command, flags) = rewrite(role(&words), &words)?;
        Ok([&[command.to_owned()], flags.as_slice()].concat().join(" "))
    }

    #[test]
    fn the_role_is_the_subcommand() {
        for (line, expected) in [
            (
                "--role server --addr 0.0.0.0 --port 17777 --tls tcp",
                "serve --addr 0.0.0.0 --port 17777 --tls tcp",
            ),
            ("--tls sm --role=loopback", "loopback --tls sm"),
        ] {
            assert_eq!(rewritten(line).unwrap(), expected);
        }
        assert!(
            rewritten("--role peer")
                .unwrap_err()
                .contains("use server, client or loopback")
        );
        assert!(rewritten("--tls tcp").unwrap_err().contains("--role is missing"));
    }

    #[test]
    fn suffixes_of_sizes_are_binary() {
        for (text, expected) in [
            ("512M", "512Mi"),
            ("1g", "1Gi"),
            ("64KiB", "64Ki"),
            ("1_024k", "1024Ki"),
            ("4096", "4096"),
            ("4T", "4T"),
        ] {
            let line = format!("--role client --large-bytes {text} --stream-bytes={text} --scenarios all");
            let expected =
                format!("connect --large-bytes {expected} --stream-bytes={expected} --scenarios all");
            assert_eq!(rewritten(&line).unwrap(), expected);
        }
    }
}

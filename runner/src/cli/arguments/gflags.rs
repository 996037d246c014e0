//! Spellings of flags that programs with gflags accept: underscores, one hyphen instead of two, `--noNAME` for a flag
//! without a value, and `true`, `yes`, `t`, `y` and `1` for true. Performs no I/O. Source: the gflags documentation,
//! "Setting Flags on the Command Line".

use clap::{Arg, ArgAction, Command};

/// Flag of a command, with its role in the rewriting.
struct Flag {
    /// Long name.
    name: String,
    kind: FlagKind,
}

/// What follows the name of a flag.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FlagKind {
    /// A value.
    Value,
    /// Nothing, or `=true` or `=false`.
    Boolean,
    /// Nothing: the flag is either present or absent.
    Switch,
}

/// Rewrites `words` to the spelling of `command`. Words that are not flags of `command` remain as they are, so that the
/// command reports them.
pub(super) fn rewrite(words: &[&str], command: &Command) -> Vec<String> {
    let mut rewritten = Vec::new();
    let mut words = words.iter().copied().peekable();
    while let Some(word) = words.next() {
        if word == "--" {
            rewritten.push(word.to_owned());
            rewritten.extend(words.map(str::to_owned));
            break;
        }
        let Some((flag, negated, value)) = parse(word, command) else {
            rewritten.push(word.to_owned());
            continue;
        };
        let Flag { name, kind } = flag;
        if kind == FlagKind::Value {
            match value {
                Some(value) => rewritten.push(format!("--{name}={value}")),
                None => {
                    rewritten.push(format!("--{name}"));
                    // The next word is a value, even if it looks like a flag.
                    rewritten.extend(words.next().map(str::to_owned));
                }
            }
            continue;
        }
        let value = match value {
            None if negated => Some("false"),
            None => words.next_if(|next| boolean(next).is_some()).or(Some("true")),
            value => value,
        };
        match (kind, value.and_then(boolean)) {
            (FlagKind::Switch, Some(true)) => rewritten.push(format!("--{name}")),
            (FlagKind::Switch, Some(false)) => {}
            (_, Some(value)) => rewritten.push(format!("--{name}={value}")),
            // The command reports the value.
            (_, None) => rewritten.push(format!("--{name}={}", value.unwrap_or_default())),
        }
    }
    rewritten
}

/// Finds the flag of `command` that `word` names, whether `word` negates it, and the value after `=`. `None` if there
/// is no such flag.
fn parse<'a>(word: &'a str, command: &Command) -> Option<(Flag, bool, Option<&'a str>)> {
    let text = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    // Short flags, such as -h, have one letter.
    if name.len() < 2 {
        return None;
    }
    let name = name.replace('_', "-");
    if let Some(flag) = find(&name, command) {
        return Some((flag, false, value));
    }
    let negated = find(name.strip_prefix("no")?.trim_start_matches('-'), command)?;
    (negated.kind != FlagKind::Value && value.is_none()).then_some((negated, true, None))
}

fn find(name: &str, command: &Command) -> Option<Flag> {
    let has_name = |argument: &&Arg| {
        let aliases = argument.get_all_aliases().unwrap_or_default();
        argument.get_long() == Some(name) || aliases.contains(&name)
    };
    let argument = command.get_arguments().find(has_name)?;
    let is_optional = argument
        .get_num_args()
        .is_some_and(|range| range.min_values() == 0);
    let kind = match argument.get_action() {
        ArgAction::Set if is_optional => FlagKind::Boolean,
        ArgAction::Set | ArgAction::Append => FlagKind::Value,
        _ => FlagKind::Switch,
    };
    Some(Flag {
        name: argument.get_long()?.to_owned(),
        kind,
    })
}

/// Value of a word that gflags accepts for a boolean flag.
fn boolean(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "true" | "t" | "yes" | "y" | "1" => Some(true),
        "false" | "f" | "no" | "n" | "0" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_spelling_of_gflags_is_accepted() {
        let mut command = Cli::command();
        command.build();
        let initiator = command.find_subcommand("initiator").unwrap();
        let rewritten = |line: &str| {
            let words: Vec<_> = line.split_whitespace().collect();
            rewrite(&words, initiator).join(" ")
        };
        for (line, expected) in [
            ("-remote_segment=a", "--remote-segment=a"),
            ("--remote_segment a", "--remote-segment a"),
            ("--remote_segment -a", "--remote-segment -a"),
            ("--integrity_check", "--integrity-check=true"),
            ("--nointegrity_check", "--integrity-check=false"),
            ("-nointegrity_check", "--integrity-check=false"),
            ("--no-integrity-check", "--integrity-check=false"),
            (
                "--integrity_check false --threads 8",
                "--integrity-check=false --threads 8",
            ),
            (
                "--integrity_check --threads=8",
                "--integrity-check=true --threads=8",
            ),
            ("--integrity_check=No", "--integrity-check=false"),
            ("--check", "--integrity-check=true"),
            ("--shmfs 1", "--shmfs=true"),
            ("--noshmfs", "--shmfs=false"),
            ("--use_dram=f -use_vram", "--use-dram=false --use-vram=true"),
            ("--allow_emulation=true", "--allow-emulation"),
            ("--noallow_emulation", ""),
            ("--size 65536 -batch=16", "--size 65536 --batch=16"),
            ("--report_unit=GiB", "--report-unit=GiB"),
            // The command reports these.
            ("--integrity_check=maybe", "--integrity-check=maybe"),
            ("--noallow_emulation=1", "--noallow_emulation=1"),
            ("--nothreads", "--nothreads"),
            ("--unknown_flag=1 -h a", "--unknown_flag=1 -h a"),
        ] {
            assert_eq!(rewritten(line), expected, "{line}");
        }
    }
}

//! Command lines of the benchmarks whose roles this binary has, rewritten to its own subcommands and spellings. Performs
//! no I/O.
//!
//! - `transfer-engine FLAGS` is `initiator FLAGS` if the flags name a remote segment, and `target FLAGS` otherwise. Both
//!   accept the spellings of gflags.
//! - `starway --role ROLE FLAGS` is `serve`, `connect` or `loopback`. `M` in a size means `Mi`, as in the Starway benchmark
//!   suite.

mod gflags;
mod starway;

use std::ffi::OsString;

use clap::Command;

/// Subcommand with the command line of the Transfer Engine Benchmark.
const TRANSFER_ENGINE: &str = "transfer-engine";
/// Subcommand with the command line of the Starway benchmark suite.
const STARWAY: &str = "starway";

/// Role of the Transfer Engine Benchmark: the flags that select it, and its subcommand.
const TRANSFER_ENGINE_ROLES: [Role; 2] = [
    ("without --remote_segment", "target"),
    ("with --remote_segment NAME", "initiator"),
];

/// Flags that select a role, and the subcommand of this role.
pub(super) type Role = (&'static str, &'static str);

/// What a command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CommandLine {
    /// Command line with this binary's subcommands and spellings.
    Arguments(Vec<OsString>),
    /// The help of all roles of a benchmark, because no role is selected.
    Help(&'static [Role]),
}

/// Rewrites `arguments`, which start with the program's name, for `command`. Other command lines, and arguments that are
/// not UTF-8, remain as they are.
///
/// # Errors
/// Returns an error if the role is missing or unknown.
pub(super) fn rewrite(arguments: Vec<OsString>, command: &mut Command) -> Result<CommandLine, String> {
    command.build();
    let words: Option<Vec<&str>> = arguments.iter().map(|argument| argument.to_str()).collect();
    let Some([program, role, flags @ ..]) = words.as_deref() else {
        return Ok(CommandLine::Arguments(arguments));
    };
    let asks_for_help = flags
        .iter()
        .any(|flag| ["-h", "--help", "-help", "--helpfull"].contains(flag));
    let flags_of = |role: &str| {
        let found = command.get_subcommands().find(|found| found.get_name() == role);
        found.map_or_else(Vec::new, |found| gflags::rewrite(flags, found))
    };
    let (role, flags) = match *role {
        TRANSFER_ENGINE => {
            let initiator = flags_of("initiator");
            match names_remote_segment(&initiator) {
                true => ("initiator", initiator),
                false if asks_for_help => return Ok(CommandLine::Help(&TRANSFER_ENGINE_ROLES)),
                false => ("target", flags_of("target")),
            }
        }
        "initiator" | "target" => (*role, flags_of(role)),
        STARWAY => match starway::role(flags) {
            None if asks_for_help => return Ok(CommandLine::Help(&starway::ROLES)),
            role => starway::rewrite(role, flags)?,
        },
        _ => return Ok(CommandLine::Arguments(arguments)),
    };
    let start = [*program, role].map(OsString::from);
    let words = start.into_iter().chain(flags.into_iter().map(OsString::from));
    Ok(CommandLine::Arguments(words.collect()))
}

/// Whether rewritten flags name a remote segment. An empty name means the same as none.
fn names_remote_segment(flags: &[String]) -> bool {
    let flag = "--remote-segment";
    let mut following = flags.iter().skip(1);
    flags.iter().any(|word| {
        let next = following.next();
        match word.split_once('=') {
            Some((name, value)) => name == flag && !value.is_empty(),
            None => word == flag && next.is_some_and(|value| !value.is_empty()),
        }
    })
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::cli::Cli;

    fn rewritten(line: &str) -> String {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let CommandLine::Arguments(words) = rewrite(words, &mut Cli::command()).unwrap() else {
            return "help".to_owned();
        };
        words
            .into_iter()
            .map(|word| word.into_string().unwrap())
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn the_remote_segment_decides_the_role() {
        assert_eq!(rewritten("x transfer-engine"), "x target");
        assert_eq!(
            rewritten("x transfer-engine --remote_segment="),
            "x target --remote-segment="
        );
        assert_eq!(
            rewritten("x transfer-engine -remote_segment mySegment --threads 8"),
            "x initiator --remote-segment mySegment --threads 8"
        );
        assert_eq!(rewritten("x transfer-engine --help"), "help");
        assert_eq!(
            rewritten("x transfer-engine --remote_segment=mySegment --help"),
            "x initiator --remote-segment=mySegment --help"
        );
        assert_eq!(rewritten("x starway --help"), "help");
        assert_eq!(rewritten("x starway --role client -h"), "x connect -h");
    }

    #[test]
    fn both_roles_accept_the_names_of_both_segments() {
        for line in [
            "x transfer-engine --remote_segment= --local_segment=127.0.0.1:80",
            "x transfer-engine --local_segment=own --remote_segment=a",
        ] {
            let words = rewritten(line);
            Cli::try_parse_from(words.split_whitespace()).unwrap();
        }
        let CommandLine::Arguments(words) = rewrite(
            ["x", "transfer-engine", "--remote_segment", ""]
                .map(OsString::from)
                .to_vec(),
            &mut Cli::command(),
        )
        .unwrap() else {
            panic!("help");
        };
        assert!(Cli::try_parse_from(words).is_ok());
        let error = Cli::try_parse_from(rewritten("x target --check=maybe").split_whitespace()).unwrap_err();
        assert!(error.to_string().contains("invalid value 'maybe'"), "{error}");
    }

    #[test]
    fn every_role_is_a_subcommand() {
        let command = Cli::command();
        for (_, subcommand) in TRANSFER_ENGINE_ROLES.iter().chain(&starway::ROLES) {
            assert!(command.find_subcommand(subcommand).is_some(), "{subcommand}");
        }
    }

    #[test]
    fn other_commands_are_unchanged() {
        for line in [
            "x",
            "x probe --format=json",
            "x loopback --no-integrity --large_bytes 5",
        ] {
            assert_eq!(rewritten(line), line);
        }
    }
}

//! Checks of the flags of a command line.

use clap::error::ErrorKind;
use clap::{Arg, Command};

/// Values that no flag for a number, a size or an address accepts.
const BAD_VALUES: [&str; 6] = ["abc", "-1", "1.5", "99999999999999999999999", "0x10", "64QB"];
/// Words of the standard library and of the parser of the command line, which say nothing to a user.
const LIBRARY_WORDS: [&str; 8] = [
    "invalid digit",
    "number too",
    "invalid float",
    "cannot parse",
    "socket address syntax",
    "..=",
    "is not in ",
    "did not match any variant",
];

/// Checks that every flag of `command` and its subcommands describes a bad value without words of a library. Returns the
/// number of messages about bad values.
///
/// # Panics
/// Panics if a message contains such a word.
pub fn check_messages_about_bad_values(command: &Command) -> usize {
    let mut checked = 0;
    for_each_command(command, &mut Vec::new(), &mut |path, subcommand| {
        for flag in subcommand.get_arguments().filter_map(flag_with_value) {
            for value in BAD_VALUES {
                let words = path.iter().cloned().chain([format!("--{flag}={value}")]);
                let Err(error) = command.clone().try_get_matches_from(words) else {
                    continue;
                };
                if !matches!(error.kind(), ErrorKind::ValueValidation | ErrorKind::InvalidValue) {
                    continue;
                }
                let message = error.to_string();
                checked += 1;
                let word = LIBRARY_WORDS.iter().find(|word| message.contains(**word));
                assert_eq!(word, None, "{path:?} --{flag}={value}: {message}");
            }
        }
    });
    checked
}

/// Calls `visit` with `command` and each of its subcommands, and with the names that lead to it.
fn for_each_command(command: &Command, path: &mut Vec<String>, visit: &mut impl FnMut(&[String], &Command)) {
    path.push(command.get_name().to_owned());
    visit(path, command);
    for subcommand in command.get_subcommands() {
        for_each_command(subcommand, path, visit);
    }
    path.pop();
}

/// Name of a flag that takes a value.
fn flag_with_value(argument: &Arg) -> Option<&str> {
    argument
        .get_long()
        .filter(|_| argument.get_action().takes_values())
}

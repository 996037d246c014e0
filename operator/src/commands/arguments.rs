//! Reads the command line of this process.

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Command, CommandFactory, Error, FromArgMatches};
use crds::printable::printable_line;

use crate::terminal::print_error;

/// Reads the arguments of this process. `named` may change the name of the command.
///
/// # Errors
/// Returns the exit status if the help was printed or an argument is invalid. The error has been printed then.
pub fn parse_arguments<T: CommandFactory + FromArgMatches>(
    named: impl Fn(Command) -> Command,
) -> Result<T, ExitCode> {
    let arguments: Vec<OsString> = env::args_os().collect();
    read(named(T::command()), &arguments).map_err(|error| {
        if !error.use_stderr() {
            // Help and version.
            error.exit();
        }
        let error = with_printable_arguments::<T>(named(T::command()), &arguments, error);
        print_error(error.render().to_string().trim_end());
        ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(u8::MAX))
    })
}

fn read<T: FromArgMatches>(command: Command, arguments: &[OsString]) -> Result<T, Error> {
    command
        .try_get_matches_from(arguments)
        .and_then(|matches| T::from_arg_matches(&matches))
}

/// The error that quotes the arguments with their hidden characters escaped. A shell may have replaced an argument by the
/// name of a file. The text of `error` itself lacks these characters.
fn with_printable_arguments<T: FromArgMatches>(
    command: Command,
    arguments: &[OsString],
    error: Error,
) -> Error {
    let printable = arguments.iter().map(|argument| {
        let text = argument.to_string_lossy();
        OsString::from(printable_line(&text).into_owned())
    });
    let printable: Vec<OsString> = printable.collect();
    read::<T>(command, &printable).err().unwrap_or(error)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Cli {
        #[arg(long)]
        number: Option<u32>,
    }

    #[test]
    fn an_error_shows_hidden_characters_as_escape_sequences() {
        let arguments = ["test", "--number", "1\u{1b}[31m2"].map(OsString::from);
        let error = read::<Cli>(Cli::command(), &arguments).unwrap_err();
        let error = with_printable_arguments::<Cli>(Cli::command(), &arguments, error);
        assert!(
            error.render().to_string().contains("'1\\u{1b}[31m2'"),
            "{}",
            error.render()
        );
    }
}

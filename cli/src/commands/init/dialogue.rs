//! Asks for the question on a terminal. Performs I/O only through its arguments.

use std::io::{self, BufRead};

use super::question::{Flags, Place};

/// A choice: its text, and what it adds to the flags.
type Choice<T> = (&'static str, T);

/// What can be compared, and the question for the value of the flag.
const SUBJECTS: [Choice<(Subject, &str)>; 6] = [
    (
        "environment variables",
        (Subject::Env, "Variable and value, such as FI_X=1"),
    ),
    (
        "two container images",
        (
            Subject::Images,
            "Image of the baseline, and the other image, separated by a space",
        ),
    ),
    (
        "two versions of a library",
        (
            Subject::Library,
            "Directory with the other version, such as /opt/libfabric/lib",
        ),
    ),
    (
        "inject calls for small messages",
        (
            Subject::Inject,
            "Size of the largest message to inject, such as 1Ki",
        ),
    ),
    (
        "a benchmark command of your own",
        (
            Subject::Command,
            "Command, such as ib_write_bw -p {port} -s {size}",
        ),
    ),
    (
        "nodes: which one is slow",
        (Subject::Nodes, "Number of nodes, or all"),
    ),
];

const PLACES: [Choice<Place>; 3] = [
    ("this machine", Place::ThisMachine),
    ("several machines, with ssh", Place::Machines),
    ("p5 nodes in Kubernetes", Place::P5),
];

/// What is compared.
#[derive(Clone, Copy)]
enum Subject {
    Env,
    Images,
    Library,
    Inject,
    Command,
    Nodes,
}

/// A terminal: prints a question, and reads lines.
pub(super) struct Dialogue<'a, I> {
    pub(super) input: I,
    pub(super) show: &'a dyn Fn(&str) -> io::Result<()>,
}

impl<I: BufRead> Dialogue<'_, I> {
    /// Asks what is compared and, if `flags` do not say so, where.
    ///
    /// # Errors
    /// Returns an error if the input ends before the last answer, or the terminal cannot be read or written.
    pub(super) fn complete(&mut self, flags: &mut Flags) -> io::Result<()> {
        let (subject, prompt) = self.choice("What do you want to compare?", &SUBJECTS)?;
        let answer = self.answer(prompt)?;
        match subject {
            Subject::Env => flags.env = vec![answer],
            Subject::Images => flags.image = answer.split_whitespace().map(str::to_owned).collect(),
            Subject::Library => flags.library = vec![answer],
            Subject::Inject => flags.inject = Some(answer),
            Subject::Command => flags.command = vec![answer],
            Subject::Nodes => flags.nodes = Some(answer),
        }
        if flags.on.is_none() {
            let places = match subject {
                // Only pods have images, and workers of one machine are not different nodes.
                Subject::Images => &PLACES[2..],
                Subject::Nodes => &PLACES[1..],
                _ => &PLACES,
            };
            flags.on = match places {
                [(_, place)] => Some(*place),
                places => Some(self.choice("Where does it run?", places)?),
            };
        }
        Ok(())
    }

    fn choice<T: Copy>(&mut self, question: &str, choices: &[Choice<T>]) -> io::Result<T> {
        let lines = choices.iter().zip(1..);
        let lines: String = lines
            .map(|((text, _), number)| format!("  {number}  {text}\n"))
            .collect();
        (self.show)(&format!("{question}\n{lines}"))?;
        let prompt = format!("Number from 1 to {}", choices.len());
        loop {
            let number = self.answer(&prompt)?.parse::<usize>().unwrap_or_default();
            if let Some((_, chosen)) = number.checked_sub(1).and_then(|index| choices.get(index)) {
                return Ok(*chosen);
            }
        }
    }

    /// Reads an answer that is not empty.
    fn answer(&mut self, prompt: &str) -> io::Result<String> {
        loop {
            (self.show)(&format!("{prompt}: "))?;
            let mut line = String::new();
            if self.input.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            match line.trim() {
                "" => {}
                answer => return Ok(answer.to_owned()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// The flags, and what is shown, for answers on separate lines.
    fn dialogue(answers: &str) -> (io::Result<Flags>, String) {
        let shown = RefCell::new(String::new());
        let show = |text: &str| {
            shown.borrow_mut().push_str(text);
            Ok(())
        };
        let mut flags = Flags::default();
        let result = Dialogue {
            input: answers.as_bytes(),
            show: &show,
        }
        .complete(&mut flags);
        (result.map(|()| flags), shown.into_inner())
    }

    #[test]
    fn answers_become_flags() {
        let (flags, shown) = dialogue("1\nFI_X=1\n3\n");
        let flags = flags.unwrap();
        assert_eq!(
            (flags.env.as_slice(), flags.on),
            (["FI_X=1".to_owned()].as_slice(), Some(Place::P5))
        );
        assert!(
            shown.starts_with("What do you want to compare?\n  1  environment variables\n"),
            "{shown}"
        );
        assert!(
            shown.contains("Variable and value, such as FI_X=1: Where does it run?\n  1  this machine\n"),
            "{shown}"
        );

        // Only pods have images.
        let flags = dialogue("2\na b\n").0.unwrap();
        assert_eq!(flags.image, ["a", "b"]);
        assert_eq!(flags.on, Some(Place::P5));
        let flags = dialogue("6\nall\n1\n").0.unwrap();
        assert_eq!(
            (flags.nodes.as_deref(), flags.on),
            (Some("all"), Some(Place::Machines))
        );
    }

    #[test]
    fn a_wrong_answer_is_asked_for_again_and_the_end_of_the_input_is_an_error() {
        let (flags, shown) = dialogue("0\n7\nx\n\n4\n\n256\n1\n");
        assert_eq!(flags.unwrap().inject.as_deref(), Some("256"));
        assert_eq!(shown.matches("Number from 1 to 6: ").count(), 5, "{shown}");
        assert_eq!(
            dialogue("1\n").0.unwrap_err().kind(),
            io::ErrorKind::UnexpectedEof
        );
    }
}

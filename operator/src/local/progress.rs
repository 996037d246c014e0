//! How far a run is: a bar on a terminal, plain lines otherwise. I/O: writes to standard error.

use std::fmt;
use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// Time between two plain lines.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);

/// Progress of one run.
pub struct Progress {
    bar: ProgressBar,
    plain: Option<PlainLines>,
}

struct PlainLines {
    name: String,
    next: Instant,
    done: Option<u64>,
}

impl Progress {
    /// Progress of the run `name` with `total` blocks, of which `done` are already measured.
    pub fn start(name: &str, done: u64, total: u64) -> Self {
        let terminal = stderr().is_terminal();
        let target = if terminal {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(total), target).with_position(done);
        bar.reset_eta();
        if let Ok(style) =
            ProgressStyle::with_template("{prefix} {wide_bar} {pos}/{len} blocks, {elapsed}{left}, {msg}")
        {
            // Nothing is known before a block is measured.
            let left = move |state: &ProgressState, text: &mut dyn fmt::Write| {
                if state.pos() > done {
                    let _ = write!(text, ", {:#} left", HumanDuration(state.eta()));
                }
            };
            bar.set_style(style.with_key("left", left));
        }
        bar.set_prefix(name.to_owned());
        let plain = (!terminal).then(|| PlainLines {
            name: name.to_owned(),
            next: Instant::now(),
            done: None,
        });
        Self { bar, plain }
    }

    /// So many blocks are measured; `what` is being measured now.
    pub fn at(&mut self, done: u64, what: &str) {
        self.bar.set_position(done);
        self.bar.set_message(what.to_owned());
        let total = self.bar.length().unwrap_or(0);
        if let Some(plain) = &mut self.plain
            && plain.done != Some(done)
            && (Instant::now() >= plain.next || done == total)
        {
            plain.done = Some(done);
            plain.next = Instant::now() + PLAIN_INTERVAL;
            say(&format!("{}: {done}/{total} blocks, {what}", plain.name));
        }
    }

    /// Something a person should know while the run goes on.
    pub fn note(&self, text: &str) {
        if self.plain.is_some() {
            say(text);
        } else {
            self.bar.println(text);
        }
    }

    /// The run is over; the bar goes.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}

#[allow(clippy::print_stderr, reason = "progress of a program that runs at a prompt")]
fn say(text: &str) {
    eprintln!("{text}");
}

//! Shows a run's progress, with a progress bar on a terminal and with lines of text elsewhere. Performs I/O: writes to
//! standard error.

use std::fmt;
use std::time::{Duration, Instant};

use crds::printable::{printable, printable_line};
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use operator::terminal::{is_error_terminal, print_error};

/// Minimum time between two progress lines.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// Progress of one run.
pub(super) struct Progress {
    bar: ProgressBar,
    plain: Option<PlainProgress>,
}

struct PlainProgress {
    name: String,
    next: Instant,
    done: Option<u64>,
}

impl Progress {
    /// Starts the progress display for the run `name`. `done` of its `total` blocks have already been measured.
    pub(super) fn start(name: &str, done: u64, total: u64) -> Self {
        let terminal = is_error_terminal();
        let target = if terminal {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(total), target).with_position(done);
        if let Ok(style) =
            ProgressStyle::with_template("{prefix} {wide_bar} {pos}/{len} blocks, {elapsed}{left}, {msg}")
        {
            // The bar's own estimate would count the blocks that an earlier command measured.
            let left = move |state: &ProgressState, text: &mut dyn fmt::Write| {
                let total = state.len().unwrap_or_default();
                if let Some(left) = time_left(state.elapsed(), done, state.pos(), total) {
                    let _ = write!(text, ", {:#} left", HumanDuration(left));
                }
            };
            bar.set_style(style.with_key("left", left));
        }
        bar.set_prefix(printable_line(name).into_owned());
        let plain = (!terminal).then(|| PlainProgress {
            name: name.to_owned(),
            next: Instant::now(),
            done: None,
        });
        Self { bar, plain }
    }

    /// Sets the number of blocks that the run needs.
    pub(super) fn set_total(&mut self, total: u64) {
        self.bar.set_length(total);
    }

    /// Sets the number of measured blocks and the current activity.
    pub(super) fn update(&mut self, done: u64, activity: &str) {
        self.bar.set_position(done);
        self.bar.set_message(printable_line(activity).into_owned());
        let total = self.bar.length().unwrap_or(0);
        if let Some(plain) = &mut self.plain
            && plain.done != Some(done)
            && (Instant::now() >= plain.next || done == total)
        {
            plain.done = Some(done);
            plain.next = Instant::now() + LINE_INTERVAL;
            print_error(&format!("{}: {done}/{total} blocks, {activity}", plain.name));
        }
    }

    /// Prints a message while the run is in progress.
    pub(super) fn note(&self, text: &str) {
        if self.plain.is_some() {
            print_error(text);
        } else {
            self.bar.println(printable(text));
        }
    }

    /// Removes the progress bar.
    pub(super) fn finish(self) {
        self.bar.finish_and_clear();
    }
}

/// Estimates the remaining time from the mean time of the blocks that this command has measured: those after the first
/// `resumed` ones, in `elapsed`. Returns `None` before the first of them.
fn time_left(elapsed: Duration, resumed: u64, done: u64, total: u64) -> Option<Duration> {
    let measured = done.checked_sub(resumed).filter(|measured| *measured > 0)?;
    let ratio = total.saturating_sub(done) as f64 / measured as f64;
    Duration::try_from_secs_f64(elapsed.as_secs_f64() * ratio).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_the_remaining_time_from_the_blocks_of_this_command() {
        let seconds = Duration::from_secs;
        assert_eq!(time_left(seconds(10), 0, 5, 20), Some(seconds(30)));
        // After 90 of 100 blocks, a resumed command has measured one in 10 s, and measures 9 more.
        assert_eq!(time_left(seconds(10), 90, 91, 100), Some(seconds(90)));
        assert_eq!(time_left(seconds(10), 90, 90, 100), None);
        assert_eq!(time_left(seconds(10), 0, 20, 20), Some(seconds(0)));
    }
}

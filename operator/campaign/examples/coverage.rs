//! Prints `docs/simulated-coverage.md`.
#![allow(clippy::disallowed_methods, reason = "an example prints its result")]

use std::io::{self, Write};

#[path = "../tests/coverage"]
mod coverage {
    pub mod simulation;
}

use coverage::simulation::{experiments, report, settled};

fn main() -> io::Result<()> {
    let sections = [
        report::INTRODUCTION.to_owned(),
        report::random_order(1, &experiments::random_order(1)),
        report::random_order(16, &experiments::random_order(16)),
        report::fixed_order(&experiments::fixed_order()),
        report::pairs_as_repetitions(&experiments::pairs_as_repetitions()),
        report::false_verdicts(&experiments::false_verdicts()),
        report::between_runs(&experiments::between_runs()),
        report::power(&experiments::power()),
        report::settled_coverage(&settled::coverage()),
        report::costs(&settled::costs()),
    ];
    io::stdout().write_all(sections.join("\n").as_bytes())
}

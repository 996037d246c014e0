//! What is printed: medians with their range.

use crds::units::Size;

use crate::ours::Found;

pub const HEADER: &str =
    "| libfabric | provider | size | runner, us | fi_pingpong, us | ratio | fabtests, us | ratio |
|---|---|---|---|---|---|---|---|";

/// One size over one library and provider; values of one repeat have the same place.
#[derive(Default)]
pub struct Row {
    pub version: String,
    pub provider: String,
    pub ours: Vec<f64>,
    pub fi_pingpong: Vec<f64>,
    pub fabtests: Vec<f64>,
}

impl Row {
    pub fn add_ours(&mut self, found: Found) {
        self.ours.push(found.micros);
        (self.version, self.provider) = (found.version, found.provider);
    }

    pub fn line(&self, size: u64) -> String {
        let ratio = |theirs: &[f64]| {
            let ratios = self.ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs);
            spread(&ratios.collect::<Vec<_>>(), 2)
        };
        format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            self.version,
            self.provider,
            Size(size),
            spread(&self.ours, 2),
            spread(&self.fi_pingpong, 2),
            ratio(&self.fi_pingpong),
            spread(&self.fabtests, 2),
            ratio(&self.fabtests),
        )
    }
}

/// Median and range.
fn spread(values: &[f64], digits: usize) -> String {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (sorted.first(), sorted.get(sorted.len() / 2), sorted.last()) {
        (Some(least), Some(median), Some(most)) => {
            format!("{median:.digits$} [{least:.digits$}, {most:.digits$}]")
        }
        _ => "-".to_owned(),
    }
}

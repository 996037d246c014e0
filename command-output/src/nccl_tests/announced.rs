//! Sizes that nccl-tests announces in `# nThread 1 nGpus 1 minBytes 8 maxBytes 64 step: 2(factor) ...` before it measures
//! them (`writeDeviceReport` in src/util.cu and `TimeTest` in src/common.cu).

use std::collections::BTreeMap;

use super::row::Measurement;
use crate::ParsedOutput;

/// Maximum number of announced sizes that are compared with the rows.
const MAX_SIZES: usize = 4096;

/// Number of bytes by which a small size may be reduced to a multiple of the number of ranks.
const MAX_REDUCTION: u64 = 4096;

/// Announced sizes.
#[derive(Default)]
pub(super) struct Announced {
    sizes: Vec<u64>,
    largest: Option<u64>,
    is_contradicted: bool,
}

impl Announced {
    /// Reads the words of the line, and stores its other settings.
    pub(super) fn read(&mut self, words: &[&str], found: &mut ParsedOutput) {
        let after = |name: &str| {
            let at = words.iter().position(|word| *word == name)?;
            words.get(at + 1).copied()
        };
        let range = |name: &str| after(name).and_then(|word| word.parse::<u64>().ok());
        if let (Some(least), Some(most), Some(step)) = (range("minBytes"), range("maxBytes"), after("step:"))
        {
            self.sizes = sizes(least, most, step).unwrap_or_default();
        }
        let sizes = ["minBytes", "maxBytes", "step:"];
        let is_size = |at: usize| sizes.contains(&words[at]) || (at > 0 && sizes.contains(&words[at - 1]));
        let others = (0..words.len()).filter(|at| !is_size(*at));
        let others: Vec<&str> = others.map(|at| words[at]).collect();
        found.add_setting("options", &others.join(" "), false);
    }

    /// Reads `# Reducing maxBytes to 1024 due to memory limitation`.
    pub(super) fn reduce(&mut self, words: &[&str]) {
        self.largest = words.iter().find_map(|word| word.parse().ok());
    }

    /// Whether the rows contain sizes that were not announced.
    pub(super) fn is_contradicted(&self) -> bool {
        self.is_contradicted
    }

    /// Compares the rows with the announced sizes. Results that are missing make the log incomplete. If the rows contain
    /// other sizes, the announcement does not describe them, which is noted.
    pub(super) fn check(&mut self, rows: &[Measurement], found: &mut ParsedOutput) {
        let mut kinds: BTreeMap<&[String; 3], Vec<u64>> = BTreeMap::new();
        for row in rows {
            kinds.entry(row.kind()).or_default().push(row.size);
        }
        if let Some(largest) = self.largest {
            self.sizes.retain(|size| *size <= largest);
        }
        let cycles: Vec<Option<usize>> = kinds.values().map(|sizes| cycles(sizes)).collect();
        if let [Some(count)] = cycles.as_slice() {
            found.cycles = *count;
        }
        if self.sizes.is_empty() || rows.is_empty() {
            return;
        }
        for sizes in kinds.values() {
            let foreign = sizes.iter().find(|size| !self.is_announced(**size));
            let missing = self.sizes.iter().find(|size| !sizes.contains(size));
            match (foreign, missing) {
                (Some(foreign), Some(_)) => {
                    self.is_contradicted = true;
                    found.notes.push(format!(
                        "the output announces {} sizes from {} to {} bytes, but contains a result for {foreign} bytes; \
                         whether it is complete is unknown",
                        self.sizes.len(),
                        self.sizes.first().copied().unwrap_or_default(),
                        self.sizes.last().copied().unwrap_or_default(),
                    ));
                }
                (None, Some(missing)) if sizes.len() % self.sizes.len() != 0 => {
                    found.missing = Some(format!(
                        "the output announces {missing} bytes, but has no result for them"
                    ));
                }
                _ => {}
            }
        }
    }

    /// Whether `size` is an announced size. Programs reduce a size to a multiple of the number of ranks and of the size of
    /// an element.
    fn is_announced(&self, size: u64) -> bool {
        let mut announced = self.sizes.iter();
        announced.any(|announced| {
            announced
                .checked_sub(size)
                .is_some_and(|difference| difference <= (announced / 20).max(MAX_REDUCTION))
        })
    }
}

/// Number of times that the sequence `sizes` repeats itself; `None` if a part of it is repeated, but not all of it.
fn cycles(sizes: &[u64]) -> Option<usize> {
    let first = sizes.first()?;
    let length = sizes
        .iter()
        .skip(1)
        .position(|size| size == first)
        .map_or(sizes.len(), |at| at + 1);
    let (cycle, _) = sizes.split_at(length);
    let is_whole = sizes.len().is_multiple_of(length) && sizes.chunks(length).all(|chunk| chunk == cycle);
    let mut sorted = cycle.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    (is_whole && sorted.len() == length).then_some(sizes.len() / length)
}

/// Sizes from `least` to `most` with a step such as `2(factor)` or `1048576(bytes)`.
fn sizes(least: u64, most: u64, step: &str) -> Option<Vec<u64>> {
    let (step, unit) = step.trim_end_matches(')').split_once('(')?;
    let step: u64 = step.parse().ok().filter(|step| *step > 0)?;
    let mut sizes = Vec::new();
    let mut size = least;
    while size <= most {
        if sizes.len() == MAX_SIZES || (unit == "factor" && (size == 0 || step == 1)) {
            return None;
        }
        sizes.push(size);
        size = match unit {
            "factor" => size.checked_mul(step)?,
            "bytes" => size.checked_add(step)?,
            _ => return None,
        };
    }
    Some(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announced_sizes_follow_from_the_step() {
        assert_eq!(sizes(8, 64, "2(factor)"), Some(vec![8, 16, 32, 64]));
        assert_eq!(sizes(8, 30, "10(bytes)"), Some(vec![8, 18, 28]));
        assert_eq!(sizes(0, 30, "2(factor)"), None);
        assert_eq!(sizes(8, 30, "0(bytes)"), None);
        assert_eq!(sizes(0, u64::MAX, "1(bytes)"), None);
    }

    #[test]
    fn only_whole_repetitions_are_cycles() {
        assert_eq!(cycles(&[8, 16, 8, 16]), Some(2));
        assert_eq!(cycles(&[8, 16]), Some(1));
        assert_eq!(cycles(&[8, 16, 8]), None);
        assert_eq!(cycles(&[8, 16, 16]), None);
        assert_eq!(cycles(&[]), None);
    }
}

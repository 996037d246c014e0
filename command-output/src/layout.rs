//! Positions of the words of a row. The columns of most tools are padded to a fixed width, so a character that was lost or
//! added shifts all later words of the row. This shows damage that leaves a row with the right number of numbers.

/// Largest number of shifts that are the result of damage. In a row that was reformatted, nearly every word is shifted.
const MAX_SHIFTS: usize = 2;

/// Description of [`Layout::Shifted`].
pub const SHIFTED: &str = "a character was lost or added in it";

/// How the positions of a row's words compare with those that the tool prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// All words are where the tool prints them.
    Aligned,
    /// The words are where the tool prints them, except that characters were lost or added at one or two places.
    Shifted,
    /// The row does not have the layout of the tool, for example because its white space was changed.
    Free,
}

/// Compares the positions `found` of a row's words with `expected`.
pub fn compare(expected: &[usize], found: &[usize]) -> Layout {
    if expected.len() != found.len() {
        return Layout::Free;
    }
    let mut previous = 0;
    let mut shifts = 0;
    for (expected, found) in expected.iter().zip(found) {
        let shift = *found as i64 - *expected as i64;
        if shift != previous {
            shifts += 1;
            previous = shift;
        }
    }
    match shifts {
        0 => Layout::Aligned,
        1..=MAX_SHIFTS => Layout::Shifted,
        _ => Layout::Free,
    }
}

/// Positions of the first character of each word in `text`, and behind its last character.
pub fn word_positions(text: &str) -> Vec<(usize, usize)> {
    let mut words = Vec::new();
    let mut start = None;
    let mut length = 0;
    for (index, character) in text.chars().enumerate() {
        length = index + 1;
        match (character.is_whitespace(), start) {
            (false, None) => start = Some(index),
            (true, Some(first)) => {
                words.push((first, index));
                start = None;
            }
            _ => {}
        }
    }
    words.extend(start.map(|first| (first, length)));
    words
}

/// Column of a `printf` format with left-aligned columns.
#[derive(Clone, Copy, Debug)]
pub struct Padded {
    /// Text before the column.
    pub before: &'static str,
    /// Least width of the column, in characters.
    pub width: usize,
}

/// Positions at which a tool with this format prints the first characters of `words`.
pub fn padded_starts(format: &[Padded], words: &[&str]) -> Vec<usize> {
    let mut position = 0;
    let mut starts = Vec::with_capacity(words.len());
    for (column, word) in format.iter().zip(words) {
        position += column.before.chars().count();
        starts.push(position);
        position += word.chars().count().max(column.width);
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_lost_character_shifts_the_later_words() {
        assert_eq!(compare(&[3, 8, 12], &[3, 8, 12]), Layout::Aligned);
        assert_eq!(compare(&[3, 8, 12], &[3, 7, 11]), Layout::Shifted);
        assert_eq!(compare(&[3, 8, 12, 20], &[2, 8, 15, 16]), Layout::Free);
        assert_eq!(compare(&[3], &[3, 8]), Layout::Free);
    }

    #[test]
    fn positions_follow_from_the_format() {
        let format = [
            Padded {
                before: " ",
                width: 4,
            },
            Padded {
                before: "  ",
                width: 0,
            },
        ];
        assert_eq!(padded_starts(&format, &["12", "3"]), [1, 7]);
        assert_eq!(padded_starts(&format, &["123456", "3"]), [1, 9]);
        assert_eq!(word_positions(" 12    3"), [(1, 3), (7, 8)]);
    }
}

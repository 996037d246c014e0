//! Lines of an output without the text that launchers and log collectors put before them, such as `[1,0]<stdout>:` of
//! mpirun or the time of `kubectl logs --timestamps`.
//!
//! Lines of different processes belong to different [streams](Lines::streams), so that tables of several processes are
//! never mixed. Lines with and without the same kinds of prefixes are also different streams: a result whose prefix was
//! damaged can then not be mistaken for a result of the table that precedes it.

mod prefix;

use std::borrow::Cow;
use std::collections::BTreeMap;

use prefix::{Prefix, WEAK};

/// Maximum number of prefixes before a line.
const MAX_PREFIXES: usize = 6;

/// Line of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Number of the line, from 1.
    pub number: usize,
    /// The line as it was printed, without its line break.
    pub raw: &'a str,
    /// The line without prefixes, colors and white space at its end.
    pub text: Cow<'a, str>,
    /// Index of its stream in [`Lines::streams`].
    pub stream: usize,
}

/// Stream of lines with the same prefixes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Name of the process that printed the lines, as in the prefixes, such as `[1,0]<stdout>`. Empty if the prefixes
    /// contain none.
    pub tag: String,
}

/// Lines of an output, with the streams to which they belong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines<'a> {
    /// All lines, in output order.
    pub lines: Vec<Line<'a>>,
    /// Streams, in the order of their first line.
    pub streams: Vec<Stream>,
}

/// A line while its prefixes are removed, and the prefixes that were removed.
struct Rest<'a> {
    text: Cow<'a, str>,
    /// Kinds and tags of the removed prefixes.
    key: String,
    tag: String,
    /// Whether no more prefix can be removed.
    is_done: bool,
}

impl<'a> Lines<'a> {
    /// Splits `output` into lines and removes their prefixes.
    ///
    /// Prefixes that cannot be confused with text of a tool, such as a time, are removed from every line that has one. A
    /// prefix that could be a part of the line, such as `0: `, is removed only if all lines of the stream have it, except
    /// lines before the first or after the last of them, which the launcher itself may have printed.
    pub fn read(output: &'a str) -> Self {
        let raw: Vec<(usize, &str)> = split(output).collect();
        let mut rests: Vec<Rest<'_>> = raw.iter().map(|(_, raw)| Rest::new(raw)).collect();
        for _ in 0..MAX_PREFIXES {
            let has_strong = rests
                .iter_mut()
                .fold(false, |any, rest| rest.strip_strong() | any);
            if !has_strong && !strip_weak(&mut rests) {
                break;
            }
        }
        let mut ids: BTreeMap<String, usize> = BTreeMap::new();
        let mut streams = Vec::new();
        let mut lines = Vec::with_capacity(raw.len());
        for ((number, raw), rest) in raw.into_iter().zip(rests) {
            let stream = *ids.entry(rest.key).or_insert_with(|| {
                streams.push(Stream { tag: rest.tag });
                streams.len() - 1
            });
            lines.push(Line {
                number,
                raw,
                text: trim_end(rest.text),
                stream,
            });
        }
        Self { lines, streams }
    }

    /// Lines of each stream, in the order of [`Self::streams`].
    pub fn by_stream(&self) -> Vec<Vec<&Line<'a>>> {
        let mut streams = vec![Vec::new(); self.streams.len()];
        for line in &self.lines {
            if let Some(own) = streams.get_mut(line.stream) {
                own.push(line);
            }
        }
        streams
    }
}

/// Splits `output` at line breaks, and numbers the lines. A carriage return also ends a line: what follows it overwrites
/// the line on a terminal.
fn split(output: &str) -> impl Iterator<Item = (usize, &str)> {
    let output = output.strip_prefix('\u{feff}').unwrap_or(output);
    let lines = output.lines().enumerate();
    lines.flat_map(|(index, line)| {
        let line = line.trim_end_matches('\r');
        line.split('\r').map(move |part| (index + 1, part))
    })
}

impl<'a> Rest<'a> {
    fn new(raw: &'a str) -> Self {
        Self {
            text: without_colors(raw),
            key: String::new(),
            tag: String::new(),
            is_done: raw.trim().is_empty(),
        }
    }

    /// Removes a prefix that cannot be confused with other text. Returns whether there was one.
    fn strip_strong(&mut self) -> bool {
        let found = (!self.is_done).then(|| prefix::strong(&self.text)).flatten();
        found.map(|found| self.strip(&found)).is_some()
    }

    fn strip(&mut self, found: &Prefix) {
        self.key.push(found.kind);
        if !found.tag.is_empty() {
            self.key.push_str(&found.tag);
            self.key.push('\n');
            if !self.tag.is_empty() {
                self.tag.push(' ');
            }
            self.tag.push_str(&found.tag);
        }
        let rest = &self.text[found.length.min(self.text.len())..];
        self.is_done = rest.trim().is_empty();
        self.text = Cow::Owned(rest.to_owned());
    }
}

/// Removes a prefix that could be a part of the line, if all lines of a stream have it. Returns whether there was one.
fn strip_weak(rests: &mut [Rest<'_>]) -> bool {
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, rest) in rests.iter().enumerate() {
        if !rest.text.trim().is_empty() {
            groups.entry(rest.key.clone()).or_default().push(index);
        }
    }
    let mut has_any = false;
    for members in groups.into_values() {
        for find in WEAK {
            let after_time = rests[members[0]].key.ends_with(prefix::TIME);
            let found: Vec<Option<Prefix>> = members
                .iter()
                .map(|index| find(&rests[*index].text, after_time))
                .collect();
            if !is_consistent(&found) {
                continue;
            }
            for (index, found) in members.iter().zip(found) {
                if let Some(found) = found {
                    rests[*index].strip(&found);
                }
            }
            has_any = true;
            break;
        }
    }
    has_any
}

/// Whether at least two lines have a prefix, and all lines between the first and the last of them. At most half of the
/// lines may have none.
fn is_consistent(found: &[Option<Prefix>]) -> bool {
    let count = found.iter().flatten().count();
    let first = found.iter().position(Option::is_some);
    let last = found.iter().rposition(Option::is_some);
    match (first, last) {
        (Some(first), Some(last)) => count >= 2 && count > last - first && count * 2 >= found.len(),
        _ => false,
    }
}

fn trim_end(text: Cow<'_, str>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim_end()),
        Cow::Owned(text) => Cow::Owned(text.trim_end().to_owned()),
    }
}

/// Removes the control sequences that color a terminal: ESC, `[`, parameters, and a letter (ECMA-48), and sequences that
/// begin with ESC, `]` and end with BEL or ESC `\`.
fn without_colors(raw: &str) -> Cow<'_, str> {
    if !raw.contains('\u{1b}') {
        return Cow::Borrowed(raw);
    }
    let mut text = String::with_capacity(raw.len());
    let mut characters = raw.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '\u{1b}' {
            text.push(character);
            continue;
        }
        match characters.peek() {
            Some('[') => {
                characters.next();
                let is_parameter = |character: &char| matches!(*character, '\u{20}'..='\u{3f}');
                while characters.next_if(is_parameter).is_some() {}
                characters.next_if(|character| matches!(*character, '\u{40}'..='\u{7e}'));
            }
            Some(']') => {
                while let Some(character) = characters.next() {
                    if character == '\u{7}' {
                        break;
                    }
                    if character == '\u{1b}' {
                        characters.next_if_eq(&'\\');
                        break;
                    }
                }
            }
            _ => {}
        }
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests;

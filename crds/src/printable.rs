//! Characters that cannot be seen, or that look like others: text that is printed never contains the former. Performs no
//! I/O.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character changes how the text around it is displayed, or is not displayed at all: control characters,
/// marks of the writing direction, zero-width characters, fillers, separators and tags.
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(u32::from(character),
            0x00AD | 0x034F | 0x061C | 0x115F..=0x1160 | 0x17B4..=0x17B5 | 0x180B..=0x180F
            | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F | 0x3164 | 0xFE00..=0xFE0F
            | 0xFEFF | 0xFFA0 | 0xFFF0..=0xFFFB | 0xE0000..=0xE0FFF)
}

/// Replaces each hidden character with its escape sequence, such as `\u{200b}` or `\u{1b}`. Keeps line feeds and tabs.
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |character| matches!(character, '\n' | '\t'))
}

/// Like [`printable`], but for text within a line: line feeds and tabs are also replaced.
pub fn printable_line(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// Like [`printable`], but replaces line feeds and tabs with spaces, so that text from elsewhere cannot add a line that
/// looks like one of ours.
pub fn printable_on_one_line(text: &str) -> String {
    printable(&text.replace(['\n', '\t'], " ")).into_owned()
}

/// Like [`printable`], but keeps the escape sequences that set colors and styles (`ESC [ NUMBERS m`, ECMA-48, section
/// 8.3.117), with which reports mark verdicts. Only for text whose values were made printable before it was styled.
pub fn printable_with_styles(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut printed = printable(parts.next().unwrap_or_default()).into_owned();
    for part in parts {
        let end = part.find(|c: char| !(c.is_ascii_digit() || c == ';'));
        match end.map(|end| part.split_at(end)) {
            Some((numbers, rest)) if rest.starts_with('m') => {
                printed.push_str("\u{1b}[");
                printed.push_str(numbers);
                printed.push_str(&printable(rest));
            }
            _ => {
                printed.push_str("\\u{1b}[");
                printed.push_str(&printable(part));
            }
        }
    }
    printed
}

/// Replaces the hidden characters in a JSON document by the escape sequences of JSON, so that all values stay as they are.
/// Keeps line feeds and tabs, which a document contains only between its values.
pub fn printable_json(document: &str) -> Cow<'_, str> {
    let mut units = [0; 2];
    replaced(
        document,
        |character| matches!(character, '\n' | '\t'),
        |printable, character| {
            for unit in character.encode_utf16(&mut units) {
                // Writing to a string cannot fail.
                let _ = write!(printable, "\\u{unit:04x}");
            }
        },
    )
}

fn escaped(text: &str, keep: impl Fn(char) -> bool) -> Cow<'_, str> {
    replaced(text, keep, |printable, character| {
        printable.extend(character.escape_unicode())
    })
}

fn replaced(
    text: &str,
    keep: impl Fn(char) -> bool,
    mut replace: impl FnMut(&mut String, char),
) -> Cow<'_, str> {
    let is_replaced = |character: char| is_hidden(character) && !keep(character);
    if !text.contains(is_replaced) {
        return Cow::Borrowed(text);
    }
    let mut printable = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match is_replaced(character) {
            true => replace(&mut printable, character),
            false => printable.push(character),
        }
    }
    Cow::Owned(printable)
}

/// Name of a character in a message: `U+200B (zero-width space)`, or only its code point.
pub fn character_name(character: char) -> String {
    let mut name = format!("U+{:04X}", u32::from(character));
    let description = match character {
        '\0' => "the NUL character",
        '\n' => "a line feed",
        '\r' => "a carriage return",
        '\t' => "a tab",
        '\u{1b}' => "the escape character",
        '\u{a0}' => "a no-break space",
        '\u{ad}' => "a soft hyphen",
        '\u{200b}' => "a zero-width space",
        '\u{200c}' => "a zero-width non-joiner",
        '\u{200d}' => "a zero-width joiner",
        '\u{feff}' => "a byte order mark",
        '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            "a mark of the writing direction"
        }
        '\u{2010}'..='\u{2015}' | '\u{2212}' => "a dash, not the minus sign of a keyboard",
        '\u{2018}'..='\u{201f}' => "a typographic quotation mark",
        '\u{ff01}'..='\u{ff5e}' => "a fullwidth character",
        '\u{370}'..='\u{3ff}' => "a Greek letter",
        '\u{400}'..='\u{52f}' => "a Cyrillic letter",
        character if character.is_control() => "a control character",
        character if character.is_whitespace() => "a space that is not the space of a keyboard",
        character if is_hidden(character) => "an invisible character",
        _ => "a character that looks like another one",
    };
    // Writing to a string cannot fail.
    let _ = write!(name, " ({description})");
    name
}

/// Returns the first character of `text` that is hidden or looks like a character of a keyboard, so that the text does
/// not mean what it seems to mean. Line feeds and tabs are allowed, and so are words in another script, unless all of their
/// letters look like Latin letters.
pub fn deceptive_character(text: &str) -> Option<char> {
    let hidden = |character: char| is_hidden(character) && !matches!(character, '\n' | '\t');
    if let Some(found) = text.chars().find(|c| hidden(*c) || is_deceptive_sign(*c)) {
        return Some(found);
    }
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| !word.is_ascii()).find_map(|word| {
        let first = word.chars().find(|c| LOOK_ALIKE_LETTERS.contains(*c))?;
        let is_mixed = word.chars().any(|c| c.is_ascii_alphanumeric());
        let all_alike = word.chars().all(|c| LOOK_ALIKE_LETTERS.contains(c));
        (is_mixed || all_alike).then_some(first)
    })
}

/// Whether a character that is not a letter of a script looks like a character of a keyboard: other spaces, dashes,
/// quotation marks, slashes, dots, fullwidth forms and mathematical letters.
fn is_deceptive_sign(character: char) -> bool {
    (character.is_whitespace() && !character.is_ascii())
        || matches!(u32::from(character),
            0x02B9..=0x02BF | 0x02C8 | 0x02D0 | 0x0589 | 0x05F3..=0x05F4 | 0x2010..=0x2015 | 0x2018..=0x201F
            | 0x2024..=0x2026 | 0x2032..=0x2037 | 0x2039..=0x203A | 0x2044 | 0x2212 | 0x2215..=0x2217
            | 0x2160..=0x217F | 0x2223 | 0x2236 | 0x29F5 | 0xA789 | 0xFF01..=0xFF5E | 0x1D400..=0x1D7FF)
}

/// Greek, Cyrillic and Armenian letters with the shape of a Latin letter or of a digit (a selection from the Unicode
/// Consortium's confusables.txt, Unicode Technical Standard 39).
const LOOK_ALIKE_LETTERS: &str = "АВЕЅІЈКМНОРСТУХаеѕіјорсухһԁԛԝӀӏѵΑΒΕΖΗΙΚΜΝΟΡΤΥΧαιονρυϲϳհոսցօՏՕᏟᎢɑɡɩı";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_everything_that_a_terminal_obeys_or_hides() {
        assert_eq!(
            printable("a\u{1b}[2Jb\u{202e}c\u{200b}d\u{85}e\0"),
            "a\\u{1b}[2Jb\\u{202e}c\\u{200b}d\\u{85}e\\u{0}"
        );
        assert_eq!(printable("Größe \t→ 1\n"), "Größe \t→ 1\n");
        assert!(matches!(printable("plain"), Cow::Borrowed(_)));
        assert_eq!(printable_line("a\nb\t"), "a\\u{a}b\\u{9}");
        assert_eq!(printable("a\rb"), "a\\u{d}b");
        assert_eq!(printable_on_one_line("a\nb\tc\u{1b}"), "a b c\\u{1b}");
        assert_eq!(
            printable_json("{\"a\": \"\u{9b}\u{202e}\u{e0041}\"\n}"),
            "{\"a\": \"\\u009b\\u202e\\udb40\\udc41\"\n}"
        );
        assert_eq!(
            printable_with_styles("\u{1b}[1;31mbad\u{1b}[0m\u{1b}[2J\u{1b}]0;x\u{7}"),
            "\u{1b}[1;31mbad\u{1b}[0m\\u{1b}[2J\\u{1b}]0;x\\u{7}"
        );
    }

    #[test]
    fn finds_characters_that_deceive_a_reader() {
        for (text, found) in [
            ("\u{200b}1", '\u{200b}'),
            ("1\0", '\0'),
            ("a\u{202e}b", '\u{202e}'),
            ("\u{435}fa", '\u{435}'),
            ("/opt/\u{430}mazon/lib", '\u{430}'),
            ("\u{441}\u{43e}\u{440}", '\u{441}'),
            ("\u{2013}-size", '\u{2013}'),
            ("a\u{a0}b", '\u{a0}'),
            ("\u{ff11}", '\u{ff11}'),
            ("\u{201c}x\u{201d}", '\u{201c}'),
        ] {
            assert_eq!(deceptive_character(text), Some(found), "{text:?}");
        }
        for text in [
            "",
            "1",
            "/data/данные",
            "Größe",
            "a\nb\tc",
            "値=1",
            "naïve",
            "µs",
            "Ωmega",
        ] {
            assert_eq!(deceptive_character(text), None, "{text:?}");
        }
    }

    #[test]
    fn names_the_character() {
        assert_eq!(character_name('\u{200b}'), "U+200B (a zero-width space)");
        assert_eq!(character_name('\u{1}'), "U+0001 (a control character)");
        assert_eq!(character_name('\u{435}'), "U+0435 (a Cyrillic letter)");
    }
}

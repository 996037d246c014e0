//! Searches files for the names of environment variables. Performs no I/O.
//!
//! A compiler stores the name that a program passes to `getenv` as a string with a terminating NUL. A linker may store a
//! string as the end of a longer one. A compiler may also copy a short name into a string object with instructions that
//! contain 8 or 16 bytes of it each.

use std::collections::{BTreeMap, BTreeSet};

/// Minimum length of a word that is compared with the names.
const MIN_WORD_BYTES: usize = 4;
/// Number of bytes that one instruction copies.
const PART_BYTES: [usize; 2] = [8, 16];
/// Number of bytes after the first part of a name, within which its other parts are.
const PART_DISTANCE: usize = 96;

/// Names that were found in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FoundNames {
    /// Names of variables that were searched for.
    pub found: BTreeSet<String>,
    /// Strings that start with one of the prefixes.
    pub with_prefix: BTreeSet<String>,
}

/// Searches `bytes` for the variables `names`, and for all strings that start with one of `prefixes`.
pub(super) fn search(bytes: &[u8], names: &[String], prefixes: &[&str]) -> FoundNames {
    let mut by_end: BTreeMap<&[u8], Vec<&String>> = BTreeMap::new();
    for name in names.iter().filter(|name| name.len() >= MIN_WORD_BYTES) {
        let end = &name.as_bytes()[name.len() - MIN_WORD_BYTES..];
        by_end.entry(end).or_default().push(name);
    }
    let mut result = FoundNames::default();
    let is_word = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    let mut rest = bytes;
    while let Some(start) = rest.iter().position(is_word) {
        rest = &rest[start..];
        let length = rest.iter().position(|byte| !is_word(byte)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length);
        rest = after;
        if word.len() < MIN_WORD_BYTES {
            continue;
        }
        let is_string = after.first() == Some(&0);
        let candidates = by_end.get(&word[word.len() - MIN_WORD_BYTES..]);
        for name in candidates.into_iter().flatten() {
            if word == name.as_bytes() || (is_string && word.ends_with(name.as_bytes())) {
                result.found.insert((*name).clone());
            }
        }
        if is_string
            && let Ok(word) = std::str::from_utf8(word)
            && prefixes.iter().any(|prefix| word.starts_with(prefix))
        {
            result.with_prefix.insert(word.to_owned());
        }
    }
    result
}

/// Whether `bytes` contains instructions or constants from which a program may assemble `name`.
pub(super) fn may_be_assembled(bytes: &[u8], name: &str) -> bool {
    let name = name.as_bytes();
    PART_BYTES
        .into_iter()
        .filter(|part| name.len() > *part)
        .any(|part| {
            let (head, tail) = name.split_at(part);
            let mut from = 0;
            while let Some(position) = find(&bytes[from..], head) {
                let end = from + position + part;
                from += position + 1;
                // A string that continues with the next character is the name itself or another name.
                if bytes.get(end) == tail.first() {
                    continue;
                }
                let near = &bytes[end..bytes.len().min(end + PART_DISTANCE)];
                if contains_parts(near, tail)
                    || (part == 16 && find(bytes, &name[name.len() - part..]).is_some())
                {
                    return true;
                }
            }
            false
        })
}

/// Whether `bytes` contains `tail`, or two overlapping or adjacent parts of it.
fn contains_parts(bytes: &[u8], tail: &[u8]) -> bool {
    if find(bytes, tail).is_some() {
        return true;
    }
    [8, 4].into_iter().any(|part| {
        let fits = part < tail.len() && tail.len() <= 2 * part;
        fits && find(bytes, &tail[..part]).is_some() && find(bytes, &tail[tail.len() - part..]).is_some()
    })
}

/// Position of the first occurrence of `needle` in `bytes`.
fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    let first = needle.first()?;
    let mut from = 0;
    while let Some(position) = bytes.get(from..)?.iter().position(|byte| byte == first) {
        let start = from + position;
        if bytes[start..].starts_with(needle) {
            return Some(start);
        }
        from = start + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn only_whole_names_are_found() {
        let file = b"\x7fELF\0NCCL_IB_HCA\0xNCCL_DEBUG_FILE\0OFI_NCCL_PROTOCOL\0set NCCL_ALGO=ring\0";
        let searched = names(&[
            "NCCL_IB_HCA",
            "NCCL_IB_HC",
            "NCCL_DEBUG",
            "NCCL_DEBUG_FILE",
            "NCCL_ALGO",
            "NCCL_PROTOCOL",
            "CCL_IB_HCAA",
        ]);
        let result = search(file, &searched, &["NCCL_"]);
        // The end of a longer string may be a string of its own.
        let expected = names(&["NCCL_ALGO", "NCCL_DEBUG_FILE", "NCCL_IB_HCA", "NCCL_PROTOCOL"]);
        assert_eq!(result.found.into_iter().collect::<Vec<_>>(), expected);
        let expected = names(&["NCCL_DEBUG_FILE", "NCCL_IB_HCA"]);
        assert_eq!(result.with_prefix.into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn names_in_instructions_are_found() {
        let mut code = b"\x48\xb8NIXL_PLUAWAVAUATUSH\x89\xfb\x48\x81".to_vec();
        code.extend_from_slice(b"\xc7\x40GIN_\xc7\x43_DIR\x00");
        assert!(may_be_assembled(&code, "NIXL_PLUGIN_DIR"));
        assert!(!may_be_assembled(&code, "NIXL_PLUGIN_DIRS"));
        assert!(!may_be_assembled(&code, "NIXL_PLUGIN_FILE"));
        let constants = b"NIXL_TELEMETRY_RTRY_RUN_INTERVAL\0NIXL_LOG_LEVEL\0";
        assert!(may_be_assembled(constants, "NIXL_TELEMETRY_RUN_INTERVAL"));
        assert!(!may_be_assembled(constants, "NIXL_TELEMETRY_RUN_INTERVAK"));
        assert!(!may_be_assembled(constants, "NIXL_LOG_LEVELL"));
        assert!(!may_be_assembled(b"", "NIXL_PLUGIN_DIR"));
    }
}

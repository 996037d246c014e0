//! Lines in the format of glog and Abseil, such as `W0306 02:45:59.641780 157201 file.cpp:150] message`. Mooncake and NIXL
//! use it.

/// Parts of a line that affect its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Glog {
    /// Whether the level is a warning, an error or a fatal error.
    pub(crate) is_warning: bool,
    /// Position of the file name, which the message follows, in bytes.
    pub(crate) file: usize,
}

/// Reads the prefix of `line`. Returns `None` if the line does not have this format.
pub(crate) fn read(line: &str) -> Option<Glog> {
    let line_start = line.len() - line.trim_start().len();
    let (prefix, _) = line.split_once("] ")?;
    let (before, file) = prefix.rsplit_once(' ')?;
    let time = before.split_whitespace().next()?;
    let date = time.strip_prefix(['I', 'W', 'E', 'F'])?;
    let is_date = date.len() >= 4 && date.bytes().all(|byte| byte.is_ascii_digit());
    (is_date && file.contains(':')).then_some(Glog {
        is_warning: !line[line_start..].starts_with('I'),
        file: prefix.len() - file.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_and_the_file_are_read() {
        let found = read("W0306 02:45:59.641780 157201 file.cpp:150] no device").unwrap();
        assert_eq!((found.is_warning, found.file), (true, 29));
        assert!(
            !read(" I0306 02:45:59.641780 1 file.cpp:150] x")
                .unwrap()
                .is_warning
        );
        for line in ["", "I am here] now", "Wide 1 a:2] x", "E0306 file.cpp:150 x"] {
            assert_eq!(read(line), None, "{line}");
        }
    }
}

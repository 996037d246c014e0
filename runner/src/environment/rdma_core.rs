//! Versions of rdma-core's provider interface: the version that libibverbs expects, and the versions of the installed
//! EFA providers. Reads the directories of the installed libraries.

use std::fs;
use std::path::Path;

use crds::record::RdmaCoreFacts;

/// Text that precedes the version in the file name of a provider library and in a string in libibverbs.
const MARK: &[u8] = b"-rdmav";
/// Maximum size of a libibverbs file to read, in bytes. The file that rdma-core builds is about 150 KB.
const MAX_LIBRARY_BYTES: u64 = 16 << 20;

/// Facts about the libraries in `directory`; `None` if it does not contain libibverbs, or its version cannot be read.
pub(super) fn facts(directory: &Path) -> Option<RdmaCoreFacts> {
    let library = directory.join("libibverbs.so.1");
    let size = fs::metadata(&library).ok()?.len();
    if size > MAX_LIBRARY_BYTES {
        return None;
    }
    let expected = version_in(&fs::read(&library).ok()?)?;
    let entries = fs::read_dir(directory.join("libibverbs")).into_iter().flatten();
    let installed = entries.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        name.starts_with("libefa-")
            .then(|| version_in(name.as_bytes()))
            .flatten()
    });
    let mut installed_efa: Vec<u32> = installed.collect();
    installed_efa.sort_unstable();
    Some(RdmaCoreFacts {
        expected,
        installed_efa,
    })
}

/// Returns the number NN from the first `-rdmavNN.so` in `bytes`.
fn version_in(bytes: &[u8]) -> Option<u32> {
    let starts = bytes
        .windows(MARK.len())
        .enumerate()
        .filter(|(_, window)| *window == MARK);
    starts.into_iter().find_map(|(start, _)| {
        let rest = bytes.get(start + MARK.len()..)?;
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, end) = rest.split_at_checked(digits)?;
        let number = std::str::from_utf8(number).ok()?.parse().ok()?;
        end.starts_with(b".so").then_some(number)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_expected_and_the_installed_versions() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(facts(directory.path()), None);
        let library = b"\x7fELF...-rdmav\0lib%s-rdmav57.so\0-rdmav34.so";
        fs::write(directory.path().join("libibverbs.so.1"), library).unwrap();
        fs::create_dir(directory.path().join("libibverbs")).unwrap();
        for name in ["libefa-rdmav34.so", "libmlx5-rdmav57.so", "libefa-rdmav.so"] {
            fs::write(directory.path().join("libibverbs").join(name), "").unwrap();
        }
        let expected = RdmaCoreFacts {
            expected: 57,
            installed_efa: vec![34],
        };
        assert_eq!(facts(directory.path()), Some(expected));
    }
}

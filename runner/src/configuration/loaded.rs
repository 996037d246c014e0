//! Files that a process has loaded, from the kernel's memory maps. Reads `/proc/self`; parsing performs no I/O.

use std::collections::BTreeSet;
use std::fs;

/// Paths of the files that this process has loaded, sorted. The error explains why the list is incomplete.
///
/// # Errors
/// Returns an error if the memory maps cannot be read, or a loaded file has been replaced or removed.
pub fn own_files() -> Result<Vec<String>, String> {
    let text = fs::read_to_string("/proc/self/maps")
        .map_err(|error| format!("the memory maps of the process cannot be read: {error}"))?;
    executable_files(&text)
}

/// Paths of the files with executable pages in `maps`, which has the format of `/proc/PID/maps`.
fn executable_files(maps: &str) -> Result<Vec<String>, String> {
    let mut files = BTreeSet::new();
    for line in maps.lines() {
        // The address range, permissions, offset, device and inode precede the path, which may contain spaces.
        let mut rest = line;
        let mut permissions = "";
        for field in 0..5 {
            let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
            if field == 1 {
                permissions = word;
            }
            rest = after.trim_start();
        }
        if !permissions.contains('x') || !rest.starts_with('/') {
            continue;
        }
        // Memory files are not loaded libraries: drivers and language runtimes generate code in them.
        if rest.starts_with("/memfd:") || rest.starts_with("/dev/") {
            continue;
        }
        if let Some(path) = rest.strip_suffix(" (deleted)") {
            return Err(format!("{path} has been replaced or removed since it was loaded"));
        }
        files.insert(rest.to_owned());
    }
    Ok(files.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d0-55d1 r--p 00000000 08:01 12 /usr/bin/tool
55d1-55d2 r-xp 00001000 08:01 12 /usr/bin/tool
7f00-7f01 r-xp 00000000 08:01 13                         /opt/my libs/libfabric.so.1
7f02-7f03 r-xp 00000000 00:01 14 /memfd:code (deleted)
7f04-7f05 rw-p 00000000 08:01 15 /usr/share/data
7f06-7f07 r-xp 00000000 00:00 0 [vdso]
7f08-7f09 rwxp 00000000 00:00 0 
";

    #[test]
    fn lists_files_with_executable_pages() {
        let files = executable_files(MAPS).unwrap();
        assert_eq!(files, ["/opt/my libs/libfabric.so.1", "/usr/bin/tool"]);
        let replaced = MAPS.replace("libfabric.so.1", "libfabric.so.1 (deleted)");
        assert!(
            executable_files(&replaced)
                .unwrap_err()
                .contains("libfabric.so.1 has been replaced")
        );
        assert!(own_files().unwrap().len() > 1);
    }
}

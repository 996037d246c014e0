//! The runner binary that is copied to the workers' machines. Reads the file.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crds::file_error::with_remedy;
use crds::record::hex;
use sha2::{Digest, Sha256};

/// The runner binary that is copied to the workers' machines.
pub(super) struct RunnerFile {
    /// Contents of the file.
    pub(super) bytes: Arc<[u8]>,
    /// SHA-256 hash of the contents, in hexadecimal.
    pub(super) digest: String,
    /// Architecture, as `uname -m` prints it.
    pub(super) machine: &'static str,
}

impl RunnerFile {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or is not a program for Linux on a known architecture.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let bytes = fs::read(path).map_err(|error| format!("{shown}: {}", with_remedy(&error)))?;
        let machine = elf_machine(&bytes)
            .ok_or_else(|| format!("{shown}: not a program for Linux on x86_64 or aarch64"))?;
        Ok(Self {
            digest: hex(&Sha256::digest(&bytes)),
            bytes: bytes.into(),
            machine,
        })
    }
}

/// Architecture of a 64-bit little-endian ELF file, from `e_machine` in its header (System V ABI, chapter 4).
fn elf_machine(bytes: &[u8]) -> Option<&'static str> {
    let header = bytes.strip_prefix(b"\x7fELF\x02\x01")?;
    match header.get(12..14)? {
        [62, 0] => Some("x86_64"),
        [183, 0] => Some("aarch64"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_architecture_of_this_program() {
        let own = RunnerFile::read(&std::env::current_exe().unwrap()).unwrap();
        assert_eq!(own.machine, std::env::consts::ARCH);
        assert_eq!(own.digest.len(), 64);
        assert!(RunnerFile::read(Path::new("/etc/passwd")).is_err());
    }
}

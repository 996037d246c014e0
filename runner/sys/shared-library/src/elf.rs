//! Reads the ELF metadata of a library file, before or after the loader opens it. Only reads the file; executes no code
//! from the library.

use crate::error::{NotALibrarySnafu, OpenError, ReadSnafu, WrongArchitectureSnafu};
use object::read::elf::{Dyn, ElfFile64, FileHeader};
use object::{Architecture, Endianness, Object, elf};
use sha2::{Digest, Sha256};
use snafu::ResultExt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Size limit for a library file. A libfabric build with every provider is a few megabytes in size.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// ELF metadata of a library file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ElfMetadata {
    pub soname: Option<String>,
    pub needed: Vec<String>,
    /// GNU build ID of the file, or the SHA-256 of the file if it has no build ID (the case for PyPI wheels).
    pub build: String,
}

impl ElfMetadata {
    /// Whether the library is linked against musl.
    pub(crate) fn is_musl(&self) -> bool {
        self.needed.iter().any(|name| name.starts_with("libc.musl"))
    }
}

/// Reads the metadata, and rejects a file that cannot be loaded on this CPU architecture.
pub(crate) fn read_elf(path: &Path) -> Result<ElfMetadata, OpenError> {
    let mut data = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES).read_to_end(&mut data))
        .context(ReadSnafu { path })?;
    let not_a_library = |detail: String| NotALibrarySnafu { path, detail }.build();
    let kind = object::FileKind::parse(&*data).map_err(|_| not_a_library("no ELF header".to_owned()))?;
    if kind != object::FileKind::Elf64 {
        return WrongArchitectureSnafu {
            path,
            found: format!("{kind:?}"),
        }
        .fail();
    }
    let library = ElfFile64::<Endianness>::parse(&*data).map_err(|e| not_a_library(e.to_string()))?;
    if Some(library.architecture()) != own_architecture() {
        return WrongArchitectureSnafu {
            path,
            found: format!("{:?}", library.architecture()),
        }
        .fail();
    }
    if library.elf_header().e_type(library.endian()) != elf::ET_DYN {
        return Err(not_a_library("its ELF type is not ET_DYN".to_owned()));
    }
    metadata(&library).map_err(|e| not_a_library(e.to_string()))
}

/// Reads the metadata from the sections rather than the segments, because even a stripped library keeps the `.dynamic`
/// section, which links to its string table.
fn metadata(library: &ElfFile64<'_, Endianness>) -> Result<ElfMetadata, object::Error> {
    let (endian, data) = (library.endian(), library.data());
    let build = match library.build_id()? {
        Some(id) => format!("build-id:{}", hex(id)),
        None => format!("sha256:{}", hex(&Sha256::digest(data))),
    };
    let sections = library.elf_section_table();
    let mut metadata = ElfMetadata {
        soname: None,
        needed: Vec::new(),
        build,
    };
    let Some((entries, strings)) = sections.dynamic(endian, data)? else {
        return Ok(metadata);
    };
    let strings = sections.strings(endian, data, strings)?;
    let text = |entry: &elf::Dyn64<Endianness>| {
        entry
            .string(endian, strings)
            .map(|name| String::from_utf8_lossy(name).into_owned())
    };
    for entry in entries {
        match entry.tag32(endian) {
            Some(elf::DT_SONAME) => metadata.soname = Some(text(entry)?),
            Some(elf::DT_NEEDED) => metadata.needed.push(text(entry)?),
            _ => {}
        }
    }
    Ok(metadata)
}

/// CPU architecture of this binary; `None` on unsupported architectures, where every library is rejected.
fn own_architecture() -> Option<Architecture> {
    match std::env::consts::ARCH {
        "x86_64" => Some(Architecture::X86_64),
        "aarch64" => Some(Architecture::Aarch64),
        _ => None,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_a_text_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("libfabric.so.1");
        std::fs::write(&path, "INPUT(libfabric.so.1.19)").unwrap();
        assert!(matches!(read_elf(&path), Err(OpenError::NotALibrary { .. })));
    }

    #[test]
    fn rejects_a_library_for_another_architecture_by_its_header() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("libfabric.so.1");
        let mut header = vec![0_u8; 64];
        header[..8].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0]);
        header[16] = 3; // ET_DYN
        header[18] = 0xf3; // EM_RISCV
        header[20] = 1;
        header[52] = 64;
        std::fs::write(&path, header).unwrap();
        let error = read_elf(&path).unwrap_err();
        assert!(matches!(error, OpenError::WrongArchitecture { .. }), "{error}");
        assert!(error.to_string().contains("Riscv64"), "{error}");
    }

    #[test]
    fn detects_musl_by_its_c_library_name() {
        let linked_against = |name: &str| ElfMetadata {
            soname: None,
            needed: vec![name.to_owned()],
            build: String::new(),
        };
        assert!(linked_against("libc.musl-x86_64.so.1").is_musl());
        assert!(!linked_against("libc.so.6").is_musl());
    }

    #[test]
    fn reads_the_metadata_of_the_test_binary() {
        // The test binary is a position-independent executable: ET_DYN, dynamic section, glibc.
        let metadata = read_elf(&std::env::current_exe().unwrap()).unwrap();
        assert!(
            metadata.needed.iter().any(|name| name == "libc.so.6"),
            "{metadata:?}"
        );
    }
}

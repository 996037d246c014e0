//! Library directories that are copied from another image into the worker pods.

use sha2::{Digest, Sha256};

use crate::names::LIBRARIES_DIRECTORY;
use crate::record::hex;
use crate::v1alpha1::Variant;

/// Number of hexadecimal digits of a hash in names.
const HASH_DIGITS: usize = 12;
/// Maximum length of the readable part of a directory name.
const MAX_READABLE: usize = 40;

/// A directory in an image. Variants with the same directory in the same image share one copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LibraryCopy<'a> {
    /// Reference of the image.
    pub image: &'a str,
    /// Absolute path of the directory in the image.
    pub directory: &'a str,
}

impl LibraryCopy<'_> {
    /// Identifier that is valid in object names.
    pub fn id(&self) -> String {
        let digest = Sha256::digest(format!("{}\n{}", self.image, self.directory));
        hex(&digest).chars().take(HASH_DIGITS).collect()
    }

    /// Path of the copy in the worker pods. It contains the end of the image reference, to help readers of reports, and
    /// the identifier, so that runs with different images have different plans.
    pub fn path(&self) -> String {
        let name = self.image.rsplit('/').next().unwrap_or_default();
        let readable = |character: char| match character {
            character if character.is_ascii_alphanumeric() || ".-_".contains(character) => character,
            _ => '-',
        };
        let name: String = name.chars().map(readable).take(MAX_READABLE).collect();
        format!("{LIBRARIES_DIRECTORY}/{name}-{}", self.id())
    }
}

impl Variant {
    /// Directory of another image that contains the libraries of this variant; `None` if they are in the worker image.
    pub fn library_copy(&self) -> Option<LibraryCopy<'_>> {
        Some(LibraryCopy {
            image: self.library_image.as_deref()?,
            directory: self.library.as_deref()?,
        })
    }

    /// Directory in the worker pods whose libraries are loaded; `None` if the loader finds the libraries.
    pub fn library_directory(&self) -> Option<String> {
        let copied = self.library_copy().map(|copy| copy.path());
        copied.or_else(|| self.library.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(image: &str, directory: &str) -> String {
        LibraryCopy { image, directory }.path()
    }

    #[test]
    fn the_path_depends_on_the_image_and_the_directory() {
        let first = path("registry.example/team/efa:1.30", "/opt/lib");
        assert!(
            first.starts_with("/mnt/fabricbench-libraries/efa-1.30-"),
            "{first}"
        );
        assert_eq!(first, path("registry.example/team/efa:1.30", "/opt/lib"));
        assert_ne!(first, path("other.example/team/efa:1.30", "/opt/lib"));
        assert_ne!(first, path("registry.example/team/efa:1.30", "/opt/lib64"));
        let long = path(
            &format!("registry.example/x@sha256:{}", "0".repeat(64)),
            "/opt/lib",
        );
        assert!(long.len() < 100 && !long.contains('@'), "{long}");
    }

    #[test]
    fn a_library_without_an_image_is_a_directory_in_the_worker_image() {
        let variant = |image: Option<&str>| Variant {
            library: Some("/opt/lib".to_owned()),
            library_image: image.map(str::to_owned),
            ..Variant::default()
        };
        assert_eq!(variant(None).library_directory().as_deref(), Some("/opt/lib"));
        assert_eq!(variant(None).library_copy(), None);
        let copied = variant(Some("x:1"));
        assert_eq!(
            copied.library_directory(),
            copied.library_copy().map(|copy| copy.path())
        );
    }
}

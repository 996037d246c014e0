//! Interned names of one run.

use std::collections::HashMap;

/// Names by index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names(Box<[Box<str>]>);

impl Names {
    /// Returns the name at `index`, or an empty string if the index is invalid.
    pub fn get(&self, index: u32) -> &str {
        let name = usize::try_from(index).ok().and_then(|index| self.0.get(index));
        name.map_or("", |name| name)
    }
}

/// Builder of [`Names`].
#[derive(Debug, Default)]
pub(in crate::metrics) struct NameTable<'a> {
    indexes: HashMap<&'a str, u32>,
    names: Vec<Box<str>>,
}

impl<'a> NameTable<'a> {
    /// Returns the index of `name`, and adds the name if it is new.
    pub(in crate::metrics) fn index(&mut self, name: &'a str) -> u32 {
        let Self { indexes, names } = self;
        *indexes.entry(name).or_insert_with(|| {
            names.push(name.into());
            names.len() as u32 - 1
        })
    }
}

impl From<NameTable<'_>> for Names {
    fn from(table: NameTable<'_>) -> Self {
        Self(table.names.into())
    }
}

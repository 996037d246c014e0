//! Names of one run, each kept once.

use std::collections::HashMap;

/// Names, known by their place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names(Box<[Box<str>]>);

impl Names {
    /// The name at `place`; empty where there is none.
    pub fn at(&self, place: u32) -> &str {
        let name = usize::try_from(place).ok().and_then(|place| self.0.get(place));
        name.map_or("", |name| name)
    }
}

/// Names that are being gathered.
#[derive(Debug, Default)]
pub(super) struct NameTable<'a> {
    places: HashMap<&'a str, u32>,
    names: Vec<Box<str>>,
}

impl<'a> NameTable<'a> {
    /// The place of `name`.
    pub(super) fn place(&mut self, name: &'a str) -> u32 {
        let Self { places, names } = self;
        *places.entry(name).or_insert_with(|| {
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

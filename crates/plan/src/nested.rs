//! Sections that are the value of a key of another one.

use std::marker::PhantomData;

use serde_json::{Value as Json, json};

use crate::describe::Describe;
use crate::key::SectionKeys;
use crate::reading::Reading;
use crate::reading::tree::Node;
use crate::section::Section;
use crate::value::Takes;
use crate::write::Writer;

/// A section that is the value of a key of another one.
pub(crate) trait Nests: Sized {
    /// Its keys.
    const KEYS: &'static SectionKeys;

    /// Reads the section.
    fn read(section: &Section<'_>) -> Option<Self>;

    /// Writes its keys.
    fn write(&self, out: &mut Writer);
}

/// A section as the value of a key; the words of the manual for it.
pub(crate) struct Inner<T>(pub(crate) &'static str, PhantomData<fn() -> T>);

impl<T> Inner<T> {
    /// In these words.
    pub(crate) const fn told(words: &'static str) -> Self {
        Self(words, PhantomData)
    }
}

impl<T> Describe for Inner<T> {
    fn takes(&self) -> String {
        self.0.to_owned()
    }

    fn schema(&self) -> Json {
        json!({"type": "object"})
    }
}

impl<T: Nests> Takes for Inner<T> {
    type Value = T;

    fn read(&self, reading: &Reading, node: &Node) -> Option<T> {
        T::read(&Section::at(reading, node, T::KEYS))
    }

    fn write(&self, value: &T) -> String {
        Writer::table(|out| value.write(out))
    }
}

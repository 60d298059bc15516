//! What the keys of a scenario's tables are made of: a name, a meaning, and what is taken.

use serde_json::Value as Json;

/// What a value of a scenario may be.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    /// A text on one line, with something in it.
    Line,
    /// The same, of letters, digits, `_` and `-`.
    Name,
    /// A text that is filled in, or a number or a switch that is written as one.
    Text,
    /// A text with a grammar of its own, or a number that is written as one.
    Parsed,
    /// A whole number, or one in quotes.
    Whole(u64, u64),
    /// A number above zero.
    Positive,
    /// Any number.
    Number,
    /// A whole number without quotes.
    Plain(u64, u64),
    /// True or false.
    Switch,
    /// Nothing but true.
    True,
    /// One of some words.
    Words(fn() -> Json),
    /// This very word.
    Word(&'static str),
    /// A place in a JSON document.
    Pointer,
    /// Any value at all.
    Any,
    /// A table with these keys.
    Table(&'static Table),
    /// A table with names of the user's choice.
    Names(Naming, &'static Shape),
    /// A list.
    List(&'static Shape),
    /// One value, or a list of such.
    OneOrMore(&'static Shape),
    /// One of several.
    Either(&'static [Shape]),
    /// Steps, of which there is at least one.
    Steps,
    /// Bounds of a value of JSON, or a value that it has to be.
    BoundsOrValue,
}

/// What the names of a table may be that are of the user's choice.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Naming {
    /// Whatever they are.
    Free,
    /// What may be a name of a scenario.
    Name,
    /// What may be a name of a variable or a data file.
    Variable,
    /// Places in a JSON document.
    Pointer,
}

/// One key.
pub(super) struct Key {
    /// As it is written.
    pub(super) name: &'static str,
    /// What it means, in a sentence.
    pub(super) about: &'static str,
    /// What it takes.
    pub(super) shape: Shape,
}

/// A key, in the order of its fields: as a literal, what it refers to lives as long as it.
macro_rules! key {
    ($name:expr, $about:expr, $shape:expr $(,)?) => {
        Key { name: $name, about: $about, shape: $shape }
    };
}

/// A table of nothing but some keys.
pub(super) struct Table {
    /// Its keys.
    pub(super) keys: &'static [Key],
    /// Those that have to be there.
    pub(super) required: &'static [&'static str],
    /// Those of which there is one at most.
    pub(super) at_most_one: &'static [&'static str],
    /// Whether one of these has to be there.
    pub(super) is_one_needed: bool,
    /// Pairs: the first goes with the second only.
    pub(super) goes_with: &'static [(&'static str, &'static str)],
}

impl Table {
    /// A table without a key.
    pub(super) const NONE: Self =
        Self { keys: &[], required: &[], at_most_one: &[], is_one_needed: false, goes_with: &[] };

    /// The names of its keys.
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name).collect()
    }
}

/// A verb of steps, and the keys that may stand beside it.
pub(super) struct Verb {
    /// The verb itself.
    pub(super) key: Key,
    /// What may stand beside it.
    pub(super) beside: Table,
}

impl Verb {
    /// The names of all keys of such a step.
    pub(super) fn names(&self) -> Vec<&'static str> {
        std::iter::once(self.key.name).chain(self.beside.names()).collect()
    }
}

pub(super) use key;

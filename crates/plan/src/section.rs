//! Reading one section of a plan: typed values by key.

use crate::key::{Choice, Key, SectionKeys};
use crate::reading::Reading;
use crate::reading::error::Fault;
use crate::reading::source::Place;
use crate::reading::tree::{Node, Table, Value};
use crate::value::Takes;
use crate::write::Writer;

/// One section that is being read. A key that is not there gives `None`; so does one that is
/// wrong, after its fault was noted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Section<'a> {
    pub(crate) reading: &'a Reading,
    keys: &'static SectionKeys,
    table: &'a Table,
    /// Where a missing key is missing.
    place: Place,
    /// Whether what stands here is no table: then nothing is missing from it.
    broken: bool,
}

static NOTHING: Table = Table { place: Place { source: 0, span: None }, entries: Vec::new() };

/// Keys with their values as they stand in a plan.
pub(crate) trait KeyList: Sized {
    /// The keys.
    const KEYS: &'static [Key];

    /// Their values; none where one is missing that has to be there.
    fn read_keys(section: &Section<'_>) -> Option<Self>;

    /// Writes every key that has a value.
    fn write_keys(&self, out: &mut Writer);
}

/// Several keys that make one field of a section.
pub(crate) trait Part: Sized {
    /// The keys.
    type Keys: KeyList;

    /// What they say together; none where that is nothing, which has been noted then.
    fn of(keys: Self::Keys, section: &Section<'_>) -> Option<Self>;

    /// Those that say it.
    fn keys(&self) -> Self::Keys;

    /// Reads them.
    fn read(section: &Section<'_>) -> Option<Self> {
        Self::of(Self::Keys::read_keys(section)?, section)
    }

    /// Writes them.
    fn write(&self, out: &mut Writer) {
        self.keys().write_keys(out);
    }
}

impl<'a> Section<'a> {
    /// A section without a key.
    pub(crate) fn of_nothing(reading: &'a Reading, keys: &'static SectionKeys) -> Self {
        Self { reading, keys, table: &NOTHING, place: Place::whole(0), broken: false }
    }

    /// The section of that name in its parent; an empty one where there is none. Unknown keys are
    /// noted here.
    pub(crate) fn open(
        reading: &'a Reading,
        parent: &'a Table,
        keys: &'static SectionKeys,
    ) -> Self {
        let empty = Self::of_nothing(reading, keys);
        parent.get(keys.name()).map_or(empty, |entry| Self::at(reading, &entry.node, keys))
    }

    /// The section that a value is.
    pub(crate) fn at(reading: &'a Reading, node: &'a Node, keys: &'static SectionKeys) -> Self {
        let Value::Table(table) = &node.value else {
            let wanted = format!("a table {}", keys.title());
            reading.wrong_type(node, &wanted, None);
            return Self { broken: true, ..Self::of_nothing(reading, keys) };
        };
        Self::over(reading, table, keys)
    }

    /// The section whose keys stand in `table`.
    pub(crate) fn over(reading: &'a Reading, table: &'a Table, keys: &'static SectionKeys) -> Self {
        for entry in table.entries.iter().filter(|entry| !keys.has(&entry.key)) {
            reading.unknown(entry, keys);
        }
        Self::within(reading, table, keys)
    }

    /// The section whose keys stand in `table`, among others.
    pub(crate) fn within(
        reading: &'a Reading,
        table: &'a Table,
        keys: &'static SectionKeys,
    ) -> Self {
        Self { reading, keys, table, place: table.place, broken: false }
    }

    pub(crate) fn node(&self, key: &str) -> Option<&'a Node> {
        debug_assert!(self.keys.has(key), "{key} is not in the list of {}", self.keys.title());
        self.table.get(key).map(|entry| &entry.node)
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.node(key).is_some()
    }

    /// Whether a key was given by a flag.
    pub(crate) fn is_of_flag(&self, key: &str) -> bool {
        self.table.get(key).is_some_and(|entry| entry.key_place.span.is_none())
    }

    /// Where the value of a key stands; the section itself where it is missing.
    pub(crate) fn place(&self, key: &str) -> Place {
        self.node(key).map_or(self.place, |node| node.place)
    }

    /// Notes a fault at a key's value.
    pub(crate) fn fault(&self, key: &str, message: impl Into<String>, hint: Option<&str>) {
        self.reading.fault(self.place(key), message, hint.map(Into::into));
    }

    /// Notes a fault at a key's value that only makes sense beside another key's.
    pub(crate) fn fault_beside(&self, key: &str, other: &str, message: String, hint: Option<&str>) {
        self.reading.note(Fault {
            message,
            place: self.key_place(key),
            also: Some((format!("`{other}` is given here"), self.key_place(other))),
            hint: hint.map(Into::into),
        });
    }

    fn key_place(&self, key: &str) -> Place {
        let Some(entry) = self.table.get(key) else { return self.place };
        // A flag's key is the flag: its value is what can be shown.
        if entry.key_place.span.is_some() { entry.key_place } else { entry.node.place }
    }

    /// The value of a key; none where it is not given or wrong, which has been noted then, or where
    /// another key excludes it.
    pub(crate) fn get<T: Takes>(&self, key: &str, takes: &T) -> Option<T::Value> {
        let first = |choice: &&Choice| choice.keys().find(|key| self.has(key));
        let choice = self.keys.choices.iter().find(|choice| choice.keys().any(|of| of == key));
        match choice.and_then(first) {
            Some(first) if first != key => None,
            _ => takes.read(self.reading, self.node(key)?),
        }
    }

    /// The value of a key that has to be there.
    pub(crate) fn required<T: Takes>(
        &self,
        key: &str,
        takes: &T,
        what: &str,
        example: &str,
    ) -> Option<T::Value> {
        if !self.has(key) {
            self.missing(what, key, example);
        }
        self.get(key, takes)
    }

    /// Which of a choice's keys is given. A second one is a fault; so is a key that goes with
    /// others only.
    pub(crate) fn chosen(&self, choice: &Choice) -> Option<&'static str> {
        let mut given = choice.keys().filter(|key| self.has(key));
        let first = given.next()?;
        let others: Vec<_> = given.collect();
        for other in &others {
            let message = format!("`{first}` and `{other}` exclude each other");
            self.fault_beside(other, first, message, Some("keep one of them"));
        }
        for key in self.keys.keys() {
            let with = choice.companions_of(key.name);
            if others.is_empty() && self.has(key.name) && !with.is_empty() && !with.contains(&first)
            {
                let with = with.join(" or ");
                let message = format!("`{}` goes with {with}, not with {first}", key.name);
                self.fault_beside(key.name, first, message, None);
            }
        }
        Some(first)
    }

    /// Whether the section stands on the command line, rather than in a plan.
    pub(crate) fn is_typed(&self) -> bool {
        !self.broken && self.reading.is_flag(self.place)
    }

    /// Notes that something is missing from the section; `key` and `value` show how to say it.
    pub(crate) fn missing(&self, what: &str, key: &str, value: &str) {
        if !self.broken {
            let place = self.place;
            let message = match self.reading.is_flag(place) {
                true => format!("expected {what}, found none"),
                false => format!("expected {what} in {}, found none", self.keys.title()),
            };
            self.reading.fault(place, message, Some(self.reading.example(place, key, value)));
        }
    }

    /// Notes that a key is missing which another one needs.
    pub(crate) fn missing_beside(&self, key: &str, beside: &str, value: &str) {
        let place = self.place(beside);
        let message = format!("expected `{key}` beside `{beside}`, found none");
        let is_flag = self.reading.is_flag(place);
        let keys = || self.keys.keys().filter(|of| of.name == key).find_map(|of| of.flag.as_ref());
        let flag = is_flag.then(keys).flatten().map_or(key, |flag| flag.long);
        self.reading.fault(place, message, Some(self.reading.example(place, flag, value)));
    }
}

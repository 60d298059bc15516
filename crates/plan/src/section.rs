//! Reading one section of a plan: typed values by key, and every fault with its place.

use std::cell::{Cell, OnceCell, RefCell};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use plimsoll_units::{ParseError, count, nearest};

use crate::error::{Fault, PlanErrors};
use crate::key::{Choice, Key, SectionKeys};
use crate::secret;
use crate::sections::SECTIONS;
use crate::source::{Place, Source};
use crate::takes::Takes;
use crate::tree::{Entry, Node, Table, Value};
use crate::vocabulary::Vocabulary;
use crate::write::Writer;

/// What is being read, and what was found wrong so far.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) sources: Vec<Source>,
    /// Where the files are that the plan names.
    folder: OnceCell<PathBuf>,
    /// What higher floors know; without it any name is taken.
    pub(crate) vocabulary: Option<&'static Vocabulary>,
    faults: RefCell<Vec<Fault>>,
    /// Faults beyond those that are kept: a hostile plan may have millions.
    left_out: Cell<usize>,
}

/// How many faults are kept, to be put in order.
const MAX_FAULTS: usize = 1000;

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

impl Reading {
    pub(crate) fn new(source: Source) -> Self {
        Self {
            sources: vec![source],
            folder: OnceCell::new(),
            vocabulary: None,
            faults: RefCell::default(),
            left_out: Cell::new(0),
        }
    }

    /// Where the files are that the plan names.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.get_or_init(PathBuf::new)
    }

    /// Says where the files are that the plan names, before any of them is read.
    pub(crate) fn set_folder(&self, folder: PathBuf) {
        self.folder.get_or_init(|| folder);
    }

    /// Of a plan that says nothing.
    pub(crate) fn of_nothing() -> Self {
        Self::new(Source::flag("", ""))
    }

    pub(crate) fn note(&self, fault: Fault) {
        let mut faults = self.faults.borrow_mut();
        if faults.len() < MAX_FAULTS {
            faults.push(fault);
        } else {
            self.left_out.set(self.left_out.get() + 1);
        }
    }

    pub(crate) fn is_faulty(&self) -> bool {
        !self.faults.borrow().is_empty()
    }

    pub(crate) fn into_errors(self) -> PlanErrors {
        PlanErrors::from_faults(&self.sources, self.faults.into_inner(), self.left_out.get())
    }

    /// Whether a place is on the command line.
    pub(crate) fn is_flag(&self, place: Place) -> bool {
        self.sources.get(place.source).is_none_or(|source| source.flag)
    }

    /// How a key is given, in the form of the place where it is missing.
    fn example(&self, place: Place, key: &str, value: &str) -> String {
        match (self.is_flag(place), key) {
            (false, _) => format!("for example {key} = \"{value}\""),
            (true, "url") => format!("for example {value}"),
            (true, _) => format!("for example --{} {value}", key.replace('_', "-")),
        }
    }

    pub(crate) fn fault(&self, place: Place, message: impl Into<String>, hint: Option<String>) {
        self.note(Fault { message: message.into(), place, also: None, hint });
    }

    /// The fault of an inner parser, at its own position within the value.
    pub(crate) fn parse_fault(&self, node: &Node, error: &ParseError) {
        let source = &self.sources[node.place.source];
        let text = matches!(node.value, Value::Text(_) | Value::Typed(_));
        let place = if text { source.within(node.place, error.at, error.len) } else { node.place };
        let message = match source.hides(place) {
            true => format!("expected {}", error.wanted),
            false => error.to_string(),
        };
        self.fault(place, message, error.hint.clone());
    }

    pub(crate) fn wrong_type(&self, node: &Node, wanted: &str, hint: Option<String>) {
        let message = match self.sources[node.place.source].hides(node.place) {
            true => format!("expected {wanted}"),
            false => format!("expected {wanted}, found {}", node.value.describe()),
        };
        self.fault(node.place, message, hint);
    }

    /// A value through an inner parser.
    pub(crate) fn parsed<T>(
        &self,
        node: &Node,
        wanted: &str,
        parse: impl Fn(&str) -> Result<T, ParseError>,
    ) -> Option<T> {
        let parsed = match &node.value {
            Value::Text(text) | Value::Typed(text) => parse(text),
            Value::Whole(number) => parse(&number.to_string()),
            Value::Real(number) => parse(&number.to_string()),
            Value::Switch(_) | Value::Moment(_) | Value::List(_) | Value::Table(_) => {
                self.wrong_type(node, wanted, None);
                return None;
            }
        };
        parsed.map_err(|error| self.parse_fault(node, &error)).ok()
    }

    /// A number from `least` to `most`.
    pub(crate) fn number(&self, node: &Node, least: f64, most: f64) -> Option<f64> {
        let number = node.value.number();
        let fitting = number.filter(|number| (least..=most).contains(number));
        if fitting.is_none() {
            let wanted = match most {
                f64::MAX => "a number above zero".to_owned(),
                most => format!("a number from {least} to {most}"),
            };
            self.wrong_type(node, &wanted, None);
        }
        fitting
    }

    /// A whole number within a range.
    pub(crate) fn whole(&self, node: &Node, range: RangeInclusive<u64>) -> Option<u64> {
        let number = match &node.value {
            Value::Whole(number) => u64::try_from(*number).ok(),
            Value::Text(_) | Value::Typed(_) => Some(self.parsed(node, "a whole number", count)?),
            _ => {
                self.wrong_type(node, "a whole number", None);
                return None;
            }
        };
        if let Some(number) = number.filter(|number| range.contains(number)) {
            return Some(number);
        }
        let wanted = match (range.start(), range.end()) {
            (low, &u64::MAX) => format!("a whole number of at least {low}"),
            (low, high) => format!("a whole number from {low} to {high}"),
        };
        self.wrong_type(node, &wanted, None);
        None
    }

    /// Notes a key that is none of a section's.
    pub(crate) fn unknown(&self, entry: &Entry, keys: &SectionKeys) {
        let names = keys.keys().map(|key| key.name);
        let elsewhere = SECTIONS.iter().find(|section| section.has(&entry.key));
        let is_section = keys.path.is_empty() && matches!(entry.node.value, Value::Table(_));
        let quoted = |key: &str| if is_section { format!("[{key}]") } else { format!("`{key}`") };
        let hint = if let Some(near) = nearest(&entry.key, names.clone()) {
            format!("did you mean {}?", quoted(near))
        } else if let Some(section) = elsewhere {
            format!("`{}` belongs to {}", entry.key, section.title())
        } else {
            format!("known here: {}", names.collect::<Vec<_>>().join(", "))
        };
        let key = quoted(&entry.key.escape_debug().to_string());
        let message = if is_section {
            format!("unknown section {key}")
        } else {
            format!("unknown key {key} in {}", keys.title())
        };
        // The list of what is known is long: once is enough.
        let said = |fault: &Fault| fault.hint.as_ref() == Some(&hint);
        let again = self.faults.borrow().iter().any(said);
        self.fault(entry.key_place, message, (!again).then_some(hint));
    }

    /// A single value of any type, as text.
    pub(crate) fn level(&self, node: &Node) -> Option<String> {
        match &node.value {
            Value::Text(text) | Value::Typed(text) | Value::Moment(text) => Some(text.clone()),
            Value::Whole(number) => Some(number.to_string()),
            Value::Real(number) => Some(number.to_string()),
            Value::Switch(on) => Some(on.to_string()),
            Value::List(_) | Value::Table(_) => {
                self.wrong_type(node, "a number, a text or a switch", None);
                None
            }
        }
    }

    /// A value that must be text.
    pub(crate) fn text<'a>(&self, node: &'a Node) -> Option<&'a str> {
        match &node.value {
            Value::Text(text) | Value::Typed(text) => Some(text),
            Value::Whole(_) | Value::Real(_) | Value::Switch(_) | Value::Moment(_) => {
                self.wrong_type(node, "text", Some("put it in quotes".into()));
                None
            }
            Value::List(_) | Value::Table(_) => {
                self.wrong_type(node, "text", None);
                None
            }
        }
    }

    /// Text of at least one character, none of them a control character.
    pub(crate) fn line<'a>(&self, node: &'a Node) -> Option<&'a str> {
        let text = self.text(node)?;
        if text.is_empty() {
            self.fault(node.place, "expected text, found nothing", None);
            return None;
        }
        if let Some((at, c)) = text.char_indices().find(|(_, c)| c.is_control()) {
            let found = c.escape_default().to_string();
            self.parse_fault(node, &ParseError::new("text on one line", &found, at, c.len_utf8()));
            return None;
        }
        Some(text)
    }
}

/// Several keys that make one field of a section.
pub(crate) trait Part: Sized {
    /// The keys.
    const KEYS: &'static [Key];

    /// What they say together; none where that is nothing, which has been noted then.
    fn read(section: &Section<'_>) -> Option<Self>;

    /// Writes those that say it.
    fn write(&self, out: &mut Writer);
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
        let Some(Entry { node, .. }) = parent.get(keys.name()) else { return empty };
        let Value::Table(table) = &node.value else {
            let wanted = format!("a table {}", keys.title());
            reading.wrong_type(node, &wanted, None);
            return Self { broken: true, ..empty };
        };
        Self::over(reading, table, keys)
    }

    /// The section whose keys stand in `table`.
    pub(crate) fn over(reading: &'a Reading, table: &'a Table, keys: &'static SectionKeys) -> Self {
        let section = Self { reading, keys, table, place: table.place, broken: false };
        for entry in &table.entries {
            if !keys.has(&entry.key) {
                reading.unknown(entry, keys);
            }
        }
        section
    }

    pub(crate) fn node(&self, key: &str) -> Option<&'a Node> {
        debug_assert!(self.keys.has(key), "{key} is not in the list of {}", self.keys.title());
        self.table.get(key).map(|entry| &entry.node)
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.node(key).is_some()
    }

    /// The tables within this section.
    pub(crate) fn inner(&self, keys: &'static SectionKeys) -> Option<Section<'a>> {
        self.has(keys.name()).then(|| Section::open(self.reading, self.table, keys))
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

    pub(crate) fn text(&self, key: &str) -> Option<&'a str> {
        self.reading.text(self.node(key)?)
    }

    /// The value of a key; none where it is not given or wrong, which has been noted then.
    pub(crate) fn get<T: Takes>(&self, key: &str, takes: &T) -> Option<T::Of> {
        takes.read(self.reading, self.node(key)?)
    }

    /// The value of a key that has to be there.
    pub(crate) fn required<T: Takes>(
        &self,
        key: &str,
        takes: &T,
        what: &str,
        example: &str,
    ) -> Option<T::Of> {
        if !self.has(key) {
            self.missing(what, key, example);
        }
        self.get(key, takes)
    }

    /// A secret: faults about it never show it.
    pub(crate) fn secret(&self, key: &str) -> Option<secret::Secret> {
        match &self.node(key)?.value {
            Value::Text(text) | Value::Typed(text) => Some(secret::Secret::read(text)),
            _ => {
                self.fault(key, "expected text", Some("put it in quotes"));
                None
            }
        }
    }

    /// The entries of a map with names of the user's choice.
    pub(crate) fn map(&self, key: &str) -> &'a [Entry] {
        match self.node(key) {
            None => &[],
            Some(Node { value: Value::Table(table), .. }) => &table.entries,
            Some(node) => {
                self.reading.wrong_type(node, "a table of names and values", None);
                &[]
            }
        }
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
        self.reading.fault(place, message, Some(self.reading.example(place, key, value)));
    }
}

/// The values of a list; a single value is a list of one, and that of a flag may be several, with
/// commas, each at its place.
pub(crate) fn parts(node: &Node) -> Vec<Node> {
    let text = match &node.value {
        Value::List(items) => {
            let is_typed = |item: &Node| matches!(item.value, Value::Typed(_));
            let each = |item| if is_typed(item) { parts(item) } else { vec![item.clone()] };
            return items.iter().flat_map(each).collect();
        }
        Value::Typed(text) => text,
        _ => return vec![node.clone()],
    };
    let start = node.place.span.map_or(0, |(start, _)| start);
    let part = |part: &str| {
        let trimmed = part.trim();
        let at = start + (trimmed.as_ptr() as usize - text.as_ptr() as usize);
        let place = Place::new(node.place.source, at, at + trimmed.len());
        Node { value: Value::Typed(trimmed.to_owned()), place }
    };
    text.split(',').map(part).collect()
}

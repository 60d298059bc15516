//! Reading values of a plan, and every fault with its place.

pub(crate) mod error;
pub(crate) mod secret;
pub(crate) mod source;
pub(crate) mod standing;
pub(crate) mod text;
pub(crate) mod tree;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use plimsoll_units::{ParseError, count, nearest};

use crate::key::SectionKeys;
use crate::reading::error::{Fault, PlanErrors};
use crate::reading::source::{Place, Source};
use crate::reading::standing::Places;
use crate::reading::tree::{Entry, Node, Value};
use crate::vocabulary::Vocabulary;

/// What is being read, and what was found wrong so far.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) sources: Vec<Source>,
    /// Where the files are that the plan names.
    folder: OnceCell<PathBuf>,
    /// All sections that there are.
    sections: &'static [&'static SectionKeys],
    /// What higher floors know; without it any name is right.
    pub(crate) vocabulary: Option<&'static Vocabulary>,
    /// Keys that were filled in from the environment, as they were written.
    pub(crate) unfilled: Unfilled,
    /// Where the roles of the plan stand, where that is known.
    pub(crate) places: Places,
    faults: RefCell<Vec<Fault>>,
    /// Faults beyond those that are kept: a hostile plan may have millions.
    left_out: Cell<usize>,
}

/// Keys whose texts were filled in from the environment, with the values that they were written
/// with, as they stand behind the `=`.
pub type Unfilled = BTreeMap<String, String>;

/// How many faults are kept, to be put in order.
const MAX_FAULTS: usize = 1000;

impl Reading {
    pub(crate) fn new(source: Source, sections: &'static [&'static SectionKeys]) -> Self {
        Self {
            sources: vec![source],
            folder: OnceCell::new(),
            sections,
            vocabulary: None,
            unfilled: Unfilled::new(),
            places: Places::new(),
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
        Self::new(Source::flag("", ""), &[])
    }

    /// Notes a fault, once: what holds for several tables is read for each of them.
    pub(crate) fn note(&self, fault: Fault) {
        let mut faults = self.faults.borrow_mut();
        let is_same = |of: &Fault| of.place == fault.place && of.message == fault.message;
        if faults.iter().any(is_same) {
            return;
        }
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

    /// Whether files that are named at a place are told from the working folder, as those of the
    /// command line are.
    pub(crate) fn is_from_here(&self, place: Place) -> bool {
        self.sources.get(place.source).is_none_or(|source| source.flag && !source.is_level)
    }

    /// How a key is given, in the form of the place where it is missing.
    pub(crate) fn example(&self, place: Place, key: &str, value: &str) -> String {
        match (self.is_flag(place), key) {
            (false, _) => format!("for example {key} = \"{value}\""),
            (true, "url") => format!("for example {value}"),
            (true, _) => format!("for example --{} {}", key.replace('_', "-"), typed(value)),
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

    /// Whether a table has a name of 1 to `most` letters, digits and `_`, and of `-` too where it
    /// may have that; a fault where it has not.
    pub(crate) fn is_plain_name(&self, entry: &Entry, most: usize, may_dash: bool) -> bool {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || (may_dash && c == '-');
        let is_good = (1..=most).contains(&entry.key.len()) && entry.key.chars().all(is_plain);
        if !is_good {
            let of = if may_dash { "letters, digits, _ and -" } else { "letters, digits and _" };
            self.fault(entry.key_place, format!("expected a name of 1 to {most} {of}"), None);
        }
        is_good
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
        let elsewhere = self.sections.iter().find(|section| section.has(&entry.key));
        let is_section = keys.path.is_empty() && matches!(entry.node.value, Value::Table(_));
        let quoted = |key: &str| if is_section { format!("[{key}]") } else { format!("`{key}`") };
        let is_rented = keys.path == "testbed" || keys.path.starts_with("role.");
        let is_credential = is_rented
            && (secret::key_is_secret(&entry.key)
                || entry.key.to_lowercase().contains("access_key"));
        let hint = if is_credential {
            "credentials stand in no plan: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or \
             name a profile of ~/.aws/credentials by `profile` in [testbed]"
                .to_owned()
        } else if let Some(near) = nearest(&entry.key, names.clone()) {
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
        let level = node.value.level();
        if level.is_none() {
            self.wrong_type(node, "a number, a text or a switch", None);
        }
        level
    }

    /// The entries of a map with names of the user's choice.
    pub(crate) fn map<'a>(&self, node: &'a Node) -> &'a [Entry] {
        if let Value::Table(table) = &node.value {
            return &table.entries;
        }
        self.wrong_type(node, "a table of names and values", None);
        &[]
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

    /// Refuses a plan of what is only simulated that has something of the environment in it: its
    /// copies would have the values.
    pub(crate) fn refuse_environment(&self) {
        if let Some(key) = self.unfilled.keys().next() {
            let message = format!("expected `{key}` without {{{{env.…}}}} in a plan of caches");
            self.fault(Place::whole(0), message, None);
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

/// A value as a shell takes it for one word.
fn typed(value: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,%+@".contains(c);
    if value.chars().all(is_plain) { value.to_owned() } else { format!("'{value}'") }
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

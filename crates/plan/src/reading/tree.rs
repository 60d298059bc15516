//! A plan's text as a tree of values with their places, before anything is understood of it.
//!
//! Flags become nodes of the same tree ([`Value::Typed`]: text whose type its reader knows), so
//! one reader serves both.

use toml_edit::{Document, Item, TableLike};

use crate::reading::error::Fault;
use crate::reading::secret;
use crate::reading::source::{Place, Source};

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) place: Place,
}

/// What TOML can say, and what a flag can.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Text(String),
    Whole(i64),
    Real(f64),
    Switch(bool),
    /// A date or time, as written.
    Moment(String),
    List(Vec<Node>),
    Table(Table),
    /// The value of a flag: its reader says what type it has.
    Typed(String),
}

impl Value {
    /// The number that it is, written as one or as a text.
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            #[expect(clippy::cast_precision_loss, reason = "numbers of plans are far below 2^53")]
            Self::Whole(number) => Some(*number as f64),
            Self::Real(number) => Some(*number),
            Self::Text(text) | Self::Typed(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// A single value of any type, as text.
    pub(crate) fn level(&self) -> Option<String> {
        match self {
            Self::Text(text) | Self::Typed(text) | Self::Moment(text) => Some(text.clone()),
            Self::Whole(number) => Some(number.to_string()),
            Self::Real(number) => Some(number.to_string()),
            Self::Switch(on) => Some(on.to_string()),
            Self::List(_) | Self::Table(_) => None,
        }
    }

    /// What it is, for `found …`.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Text(text) | Self::Typed(text) => {
                let mut short: String = text.chars().filter(|c| !c.is_control()).take(40).collect();
                if text.chars().count() > 40 {
                    short.push('…');
                }
                format!("`{short}`")
            }
            Self::Whole(number) => format!("the number {number}"),
            Self::Real(number) => format!("the number {number:?}"),
            Self::Switch(value) => format!("{value}"),
            Self::Moment(text) => format!("the date {text}"),
            Self::List(_) => "a list".into(),
            Self::Table(_) => "a table".into(),
        }
    }
}

/// A table's entries in the order they were written.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) place: Place,
    pub(crate) entries: Vec<Entry>,
}

#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_place: Place,
    pub(crate) node: Node,
}

impl Table {
    pub(crate) fn empty(place: Place) -> Self {
        Self { place, entries: Vec::new() }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.key == key)
    }

    /// Sets a key, in the place of one of the same name if there is one.
    pub(crate) fn set(&mut self, entry: Entry) {
        match self.get_mut(&entry.key) {
            Some(there) => *there = entry,
            None => self.entries.push(entry),
        }
    }
}

/// Reads a plan's text, which is `sources[0]`, and marks the secrets in it.
///
/// A text that is not TOML gives an empty tree and one fault.
pub(crate) fn read(source: &mut Source) -> Result<Table, Box<Fault>> {
    let text = source.text.clone();
    match Document::parse(text.as_str()) {
        Ok(document) => {
            let root = table(document.as_table());
            let mut secrets = Vec::new();
            find_secrets(&root, &mut secrets);
            source.secrets = secrets;
            Ok(root)
        }
        Err(error) => {
            source.hide_by_line();
            let span = error.span().map(|span| (span.start, span.end));
            let hint = syntax_hint(&text, span);
            let mut message = error.message();
            if hint.is_some() {
                // What the parser would have taken instead is not what was meant.
                message = message.split(", expected").next().unwrap_or(message);
            }
            Err(Box::new(Fault {
                message: format!("expected TOML: {message}").replace('\n', ", "),
                place: Place { source: 0, span: span.or(Some((0, 0))) },
                also: None,
                hint,
            }))
        }
    }
}

/// Reads the text of another file, which is the source of that number.
pub(crate) fn read_as(source: &mut Source, number: usize) -> Result<Table, Box<Fault>> {
    let mut root = read(source).map_err(|mut fault| {
        fault.place.source = number;
        fault
    })?;
    renumber(&mut root, number);
    Ok(root)
}

fn renumber(table: &mut Table, source: usize) {
    table.place.source = source;
    for entry in &mut table.entries {
        entry.key_place.source = source;
        renumber_node(&mut entry.node, source);
    }
}

fn renumber_node(node: &mut Node, source: usize) {
    node.place.source = source;
    match &mut node.value {
        Value::Table(table) => renumber(table, source),
        Value::List(nodes) => nodes.iter_mut().for_each(|node| renumber_node(node, source)),
        _ => {}
    }
}

/// The commonest slip: a value with a unit and no quotes.
fn syntax_hint(text: &str, span: Option<(usize, usize)>) -> Option<String> {
    let at = crate::reading::source::floor_char(text, span?.0);
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = text[start..].lines().next()?;
    let (key, value) = line.split_once('=')?;
    let value = value.trim();
    let bare = value.starts_with(|c: char| c.is_ascii_alphanumeric())
        && value.bytes().all(|b| b.is_ascii_graphic() && !b"\"'#{}[]=,\\".contains(&b));
    let key = key.trim();
    let plain = key.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    let quote = bare && plain && !secret::line_is_secret(line);
    quote.then(|| format!("put quotes around it: {key} = \"{value}\""))
}

fn place_of(span: Option<std::ops::Range<usize>>) -> Place {
    span.map_or(Place::whole(0), |span| Place::new(0, span.start, span.end))
}

fn table(items: &dyn TableLike) -> Table {
    let mut entries = Vec::new();
    for (name, item) in items.iter() {
        let key = items.key(name);
        let node = node(item);
        let key_place = key.map_or(node.place, |key| place_of(key.span()));
        entries.push(Entry { key: name.to_owned(), key_place, node });
    }
    Table { place: Place::whole(0), entries }
}

fn node(item: &Item) -> Node {
    let place = place_of(item.span());
    let value = match item {
        Item::None => Value::List(Vec::new()),
        Item::Value(value) => return self::value(value),
        Item::Table(inner) => Value::Table(Table { place, ..table(inner) }),
        Item::ArrayOfTables(tables) => Value::List(
            tables
                .iter()
                .map(|inner| {
                    let place = place_of(inner.span());
                    Node { value: Value::Table(Table { place, ..table(inner) }), place }
                })
                .collect(),
        ),
    };
    Node { value, place }
}

fn value(value: &toml_edit::Value) -> Node {
    let place = place_of(value.span());
    let value = match value {
        toml_edit::Value::String(text) => Value::Text(text.value().clone()),
        toml_edit::Value::Integer(number) => Value::Whole(*number.value()),
        toml_edit::Value::Float(number) => Value::Real(*number.value()),
        toml_edit::Value::Boolean(switch) => Value::Switch(*switch.value()),
        toml_edit::Value::Datetime(moment) => Value::Moment(moment.value().to_string()),
        toml_edit::Value::Array(items) => Value::List(items.iter().map(self::value).collect()),
        toml_edit::Value::InlineTable(inner) => Value::Table(Table { place, ..table(inner) }),
    };
    Node { value, place }
}

/// Whether a table is where a value comes from, and no part of a name: `{ env = "NAME" }`,
/// `{ file = "F" }`, `{ file = "F", secret = true }`.
pub(crate) fn is_source(table: &Table) -> bool {
    let is_text = |entry: &Entry| matches!(entry.node.value, Value::Text(_) | Value::Typed(_));
    match &table.entries[..] {
        [of] => ["env", "file"].contains(&of.key.as_str()) && is_text(of),
        [_, _] => table.get("file").is_some_and(is_text) && table.get("secret").is_some(),
        _ => false,
    }
}

/// Whether a text is a variable of the environment and nothing else, but for the word that a header
/// begins with: its value is not in the plan.
fn names_variable(text: &str) -> bool {
    let text =
        ["Bearer ", "Basic "].iter().find_map(|word| text.strip_prefix(word)).unwrap_or(text);
    let inside = text.trim().strip_prefix("{{").and_then(|of| of.strip_suffix("}}"));
    inside.is_some_and(|of| of.trim().starts_with("env.") && !of.contains("{{"))
}

/// Collects the spans of what must not be shown: by the key it stands under, and URLs with a
/// password in them.
fn find_secrets(table: &Table, spans: &mut Vec<(usize, usize)>) {
    for entry in &table.entries {
        let is_proxy = |node: &Node| match &node.value {
            Value::Text(text) => secret::proxy_is_secret(&entry.key, text),
            _ => false,
        };
        let is_proxy = match &entry.node.value {
            Value::List(items) => items.iter().any(is_proxy),
            _ => is_proxy(&entry.node),
        };
        let by_key = secret::key_is_secret(&entry.key) || is_proxy;
        match &entry.node.value {
            // Where a secret comes from is none.
            Value::Table(inner) if by_key && is_source(inner) => {}
            Value::Text(text) if names_variable(text) => {}
            Value::Table(inner) if !by_key => find_secrets(inner, spans),
            Value::Text(text) if !by_key && !secret::text_is_secret(text) => {}
            Value::List(items) if !by_key => {
                let holds = |node: &&Node| match &node.value {
                    Value::Text(text) => secret::text_is_secret(text),
                    _ => false,
                };
                spans.extend(items.iter().filter(holds).filter_map(|node| node.place.span));
            }
            Value::Whole(_) | Value::Real(_) | Value::Switch(_) | Value::Moment(_) if !by_key => {}
            _ => spans.extend(entry.node.place.span),
        }
    }
}

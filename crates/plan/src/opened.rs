//! A plan's text with the flags over it, before anything is understood of it.

use std::path::{Path, PathBuf};

use plimsoll_units::ParseError;

use crate::merged;
use crate::overlay;
use crate::reading::error::PlanErrors;
use crate::reading::source::{Place, Source};
use crate::reading::standing::Places;
use crate::reading::tree::{self, Entry, Node, Table, Value, is_source};
use crate::reading::{Reading, parts};
use crate::roles::{Environment, fill_in, uses_environment};
use crate::sections::testbed::{join_names, leave_out_rented};
use crate::sections::{SECTIONS, campaign};
use crate::setting::{Setting, lay_over, write_out};
use crate::vocabulary::Vocabulary;

/// A plan as it was written.
#[derive(Debug, Clone, Copy)]
pub struct Written<'a> {
    /// The text; `None` where there are flags only.
    pub text: Option<&'a str>,
    /// The name of its file.
    pub origin: &'a str,
    /// What is laid over it.
    pub settings: &'a [Setting],
    /// Where the roles stand, once they do.
    pub places: Option<&'a Places>,
    /// What `{{env.NAME}}` is filled in by.
    pub environment: Environment,
    /// The file of a test-bed that is laid over the text, and its name.
    pub testbed: Option<(&'a str, &'a str)>,
}

/// What a floor above finds wrong with a key, which only it can know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFault {
    /// The section, the label where there is one, and the key. Where the table of that label does
    /// not have the key, what the section says for all labels is meant.
    pub path: Vec<String>,
    /// Which of its values, from 0, where it has several.
    pub value: usize,
    /// What is wrong with it.
    pub what: KeyFaultKind,
}

impl KeyFault {
    /// The fault of one of a key's texts, where it has one.
    pub fn of_text<T>(path: &[&str], value: usize, read: Result<T, ParseError>) -> Option<Self> {
        let path = path.iter().map(|&part| part.to_owned()).collect();
        read.err().map(|error| Self { path, value, what: KeyFaultKind::Text(error) })
    }
}

/// What is wrong with a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyFaultKind {
    /// A part of its text.
    Text(ParseError),
    /// That it has this value; with what to do.
    Value(String, Option<String>),
    /// That it is there at all; with what to do.
    Name(String, Option<String>),
}

impl<'a> Written<'a> {
    /// A text with flags over it.
    #[must_use]
    pub fn text(text: &'a str, origin: &'a str, settings: &'a [Setting]) -> Self {
        let (text, environment) = (Some(text), Environment::Unread);
        Self { text, origin, settings, places: None, environment, testbed: None }
    }

    /// Flags alone.
    #[must_use]
    pub fn flags(settings: &'a [Setting]) -> Self {
        let (origin, environment) = ("the command line", Environment::Unread);
        Self { text: None, origin, settings, places: None, environment, testbed: None }
    }

    /// As it is read when its roles stand.
    #[must_use]
    pub fn standing(self, places: &'a Places) -> Self {
        Self { places: Some(places), ..self }
    }

    /// As it is executed, with the values of variables of the environment.
    #[must_use]
    pub fn within(self, environment: fn(&str) -> Option<String>) -> Self {
        Self { environment: Environment::Of(environment), ..self }
    }

    /// On another test-bed: the text of its file, and the file's name.
    #[must_use]
    pub fn on(self, testbed: Option<(&'a str, &'a str)>) -> Self {
        Self { testbed, ..self }
    }

    /// As the plan of a run is read, which has nothing of the environment in it.
    #[must_use]
    pub fn stored(self) -> Self {
        Self { environment: Environment::StandIn, ..self }
    }

    /// The text with the flags over it, as it was written: defaults are not filled in, nor the
    /// places of roles; secrets are left out. `folder` says where the files of the text are, for a
    /// copy that is kept elsewhere, and `left_out` names keys and sections that are not wanted.
    /// Files that flags name are told from the working folder `here`.
    ///
    /// # Errors
    /// A text that is not TOML.
    pub fn merged(&self, here: &Path, left_out: &[&str]) -> Result<String, PlanErrors> {
        let (reading, mut root) = open(self)?;
        if reading.is_faulty() {
            return Err(reading.into_errors());
        }
        let folder = here.join(reading.folder());
        let place = Place::whole(0);
        let value = Value::Text(folder.display().to_string());
        let node = Node { value, place };
        root.set(Entry { key: "folder".to_owned(), key_place: place, node });
        Ok(merged::text(&root, &reading, here, left_out))
    }

    /// The test-bed with its roles and links, without what may be changed while servers stand: the
    /// files of roles, and parameters that hang on nothing secret.
    ///
    /// # Errors
    /// A text that is not TOML.
    pub fn frame(&self, here: &Path) -> Result<String, PlanErrors> {
        let (reading, mut root) = open(self)?;
        root.entries.retain(|entry| ["testbed", "role", "link"].contains(&entry.key.as_str()));
        for entry in root.entries.iter_mut().filter(|entry| entry.key == "role") {
            let Value::Table(roles) = &mut entry.node.value else { continue };
            roles.entries.iter_mut().for_each(leave_frame);
        }
        Ok(merged::text(&root, &reading, here, &[]))
    }

    /// Tells faults in their places.
    ///
    /// # Errors
    /// Where there are any.
    pub fn told(&self, faults: &[KeyFault]) -> Result<(), PlanErrors> {
        if faults.is_empty() {
            return Ok(());
        }
        let (reading, root) = open(self)?;
        faults.iter().for_each(|fault| tell(&reading, &root, fault));
        Err(reading.into_errors())
    }
}

/// Takes from a role what may be changed while its instances stand.
fn leave_frame(role: &mut Entry) {
    let Value::Table(role) = &mut role.node.value else { return };
    role.entries.retain(|entry| entry.key != "files");
    for entry in role.entries.iter_mut().filter(|entry| entry.key == "vars") {
        let Value::Table(vars) = &mut entry.node.value else { continue };
        vars.entries.retain(|entry| hangs_on_secret(&entry.node));
    }
    // Whether a table of parameters is there at all says nothing.
    let is_empty = |of: &Value| matches!(of, Value::Table(table) if table.entries.is_empty());
    role.entries.retain(|entry| entry.key != "vars" || !is_empty(&entry.node.value));
}

/// Whether a parameter is a secret, or has something of the environment in it.
fn hangs_on_secret(node: &Node) -> bool {
    matches!(&node.value, Value::Table(table) if is_source(table)) || uses_environment(node)
}

/// Notes a fault at its key's value; where that does not stand in the plan, at what encloses it.
fn tell(reading: &Reading, root: &Table, fault: &KeyFault) {
    let path: Vec<&str> = fault.path.iter().map(String::as_str).collect();
    let [section, label, key] = path[..] else {
        return tell_at(reading, root, (&path, &path), fault);
    };
    // What a table does not say itself the section may say for all.
    let for_all = [section, key];
    let path = if find(root, &path).is_some() { &path[..] } else { &for_all };
    tell_at(reading, root, (path, &[section, label]), fault);
}

fn tell_at(reading: &Reading, root: &Table, (path, around): (&[&str], &[&str]), fault: &KeyFault) {
    let subject = || match around {
        [section, label] if path.last() != Some(label) => format!("{section} `{label}`: "),
        _ => String::new(),
    };
    let found = find(root, path);
    let value = found.and_then(|(_, node)| parts(node).into_iter().nth(fault.value));
    let enclosing = || find(root, around).map_or(root.place, |(place, _)| place);
    match (&fault.what, value) {
        (KeyFaultKind::Text(error), Some(value)) => reading.parse_fault(&value, error),
        (KeyFaultKind::Text(error), None) => {
            reading.fault(enclosing(), format!("{}{error}", subject()), error.hint.clone());
        }
        (KeyFaultKind::Value(message, hint), value) => {
            let place = value.map_or_else(enclosing, |value| value.place);
            reading.fault(place, format!("{}{message}", subject()), hint.clone());
        }
        (KeyFaultKind::Name(message, hint), _) => {
            let place = found.map_or_else(enclosing, |(place, _)| place);
            reading.fault(place, format!("{}{message}", subject()), hint.clone());
        }
    }
}

/// The value at a path, and the place of its name.
fn find<'a>(root: &'a Table, path: &[&str]) -> Option<(Place, &'a Node)> {
    let (first, rest) = path.split_first()?;
    let entry = root.get(first)?;
    match (rest, &entry.node.value) {
        ([], _) if entry.key_place.span.is_some() => Some((entry.key_place, &entry.node)),
        ([], _) => Some((entry.node.place, &entry.node)),
        (rest, Value::Table(table)) => find(table, rest),
        _ => None,
    }
}

/// Reads a plan of any kind: a text that is TOML, with the flags over it, of which `read` makes the
/// plan.
pub(crate) fn plan_of<T>(
    of: &Written<'_>,
    vocabulary: &'static Vocabulary,
    read: impl FnOnce(&Reading, &Table) -> Option<T>,
) -> Result<T, PlanErrors> {
    let (mut reading, mut root) = open(of)?;
    let written = |path: &str, node: &Node| merged::value(&reading, path, node);
    let unfilled = fill_in(&mut root, &reading, (of.places, of.environment), &written);
    reading.unfilled = unfilled;
    reading.places = of.places.cloned().unwrap_or_default();
    reading.vocabulary = Some(vocabulary);
    match read(&reading, &root) {
        Some(plan) if !reading.is_faulty() => Ok(plan),
        _ => Err(reading.into_errors()),
    }
}

/// The tree of a text with the flags over it; what is wrong with the flags is noted.
pub(crate) fn open(of: &Written<'_>) -> Result<(Reading, Table), PlanErrors> {
    let mut file = match of.text {
        Some(text) => Source::file(of.origin, text),
        None => Source::flag(of.origin, ""),
    };
    let folder = Path::new(&file.origin).parent().unwrap_or(Path::new("")).to_path_buf();
    let root = tree::read(&mut file);
    let mut reading = Reading::new(file, &SECTIONS);
    let mut root = match root {
        Ok(root) => root,
        Err(fault) => {
            reading.note(*fault);
            return Err(reading.into_errors());
        }
    };
    write_out(&mut root);
    join_names(&mut root);
    if let Some(testbed) = of.testbed {
        overlay::lay(&mut root, &mut reading.sources, testbed)
            .into_iter()
            .for_each(|fault| reading.note(fault));
    }
    // A campaign is written out as factors, whose levels flags may choose.
    let (of_factors, others): (Vec<Setting>, Vec<Setting>) =
        of.settings.iter().cloned().partition(|of| of.key.starts_with("factor."));
    for fault in lay_over(&mut root, &mut reading.sources, &others) {
        reading.note(fault);
    }
    campaign::write_out(&reading, &mut root);
    for fault in lay_over(&mut root, &mut reading.sources, &of_factors) {
        reading.note(fault);
    }
    if of.testbed.is_some() || matches!(of.environment, Environment::StandIn) {
        leave_out_rented(&mut root);
    }
    // A plan that is kept elsewhere says where its files are.
    let given = root.get("folder").and_then(|entry| {
        let name = reading.line(&entry.node)?;
        let is_flag = reading.is_flag(entry.node.place);
        Some(if is_flag { PathBuf::from(name) } else { folder.join(name) })
    });
    reading.set_folder(given.unwrap_or(folder));
    Ok((reading, root))
}

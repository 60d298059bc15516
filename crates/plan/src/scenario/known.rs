//! What a scenario has names for: variables, data files, servers, figures, other scenarios.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_units::{ParseError, nearest, secret};
use plimsoll_workload::scenario::{
    Data, Encoding, Held, Host, Name, Step, Text, Value, forms, take,
};

use crate::reading::Reading;
use crate::reading::source::Place;
use crate::reading::tree::{Node, Table};
use crate::roles::Environment;
use crate::scenario::WrittenScenario;
use crate::scenario::names::Resolver;

/// Names that mean something of their own in a text.
pub(super) const RESERVED: [&str; 10] =
    ["counter", "user", "loop", "uuid", "date", "random", "traceparent", "sent", "env", "role"];

/// What a scenario's texts and steps are read with.
pub(super) struct Known<'a> {
    pub(super) reading: &'a Reading,
    pub(super) written: &'a WrittenScenario<'a>,
    /// Variables with what they hold at the beginning.
    pub(super) variables: Vec<(String, Held)>,
    /// Those that a step before the present one may have set.
    pub(super) set: BTreeSet<u16>,
    pub(super) data: Vec<Data>,
    /// Data files that could not be read, which is told once.
    pub(super) unread: BTreeSet<String>,
    pub(super) hosts: Vec<Host>,
    pub(super) names: Vec<Name>,
    /// What each name stands for, and where it was given first.
    pub(super) named: BTreeMap<String, (String, Place, u16)>,
    /// The scenarios that are called, as they are written.
    pub(super) scenarios: BTreeMap<String, &'a Table>,
    /// Those that were read, with the number of each.
    pub(super) called: Vec<(String, Vec<Step>)>,
    /// The sets of variables with which each was read already.
    pub(super) seen: BTreeMap<String, Vec<BTreeSet<u16>>>,
    /// Those that are being read.
    pub(super) within: Vec<String>,
    pub(super) places: u32,
    pub(super) on_failure: plimsoll_workload::scenario::OnFailure,
    pub(super) keep: u64,
    pub(super) follow: u32,
    pub(super) files: Vec<std::path::PathBuf>,
    /// What of the environment is in it, in all forms.
    /// The names of the WebSockets that steps have opened; of one without a name nothing.
    pub(super) channels: Vec<String>,
    /// Variables that the rules for messages may set.
    pub(super) ruled: BTreeSet<String>,
    /// Whether a text may speak of what its step has sent.
    pub(super) knows_sent: bool,
    pub(super) secrets: std::cell::RefCell<Vec<String>>,
}

impl<'a> Known<'a> {
    /// The number of a variable.
    pub(super) fn variable(&self, name: &str) -> Option<u16> {
        let at = self.variables.iter().position(|(of, _)| of == name)?;
        u16::try_from(at).ok()
    }

    /// The next place that draws.
    pub(super) fn place(&mut self) -> u32 {
        self.places += 1;
        self.places - 1
    }

    /// A text of a plan's value: one, or a number or a switch in words.
    pub(super) fn text(&mut self, node: &Node, encoding: Encoding) -> Option<Text> {
        match &node.value {
            crate::reading::tree::Value::Text(text) => {
                let reading = self.reading;
                let read = Text::parse(text, encoding, &mut Resolver(self));
                read.map_err(|error| reading.parse_fault(node, &error)).ok()
            }
            value => match value.level() {
                Some(text) => Some(Text::literal(text.as_bytes())),
                None => {
                    self.reading.wrong_type(node, "a text, a number or a switch", None);
                    None
                }
            },
        }
    }

    /// What a name within a text means.
    pub(super) fn value(&self, name: &str, has_default: bool) -> Result<Value, ParseError> {
        if let Some(variable) = name.strip_prefix("env.") {
            return self.environment(name, variable);
        }
        if let Some(of) = name.strip_prefix("role.") {
            return self.role(name, of);
        }
        if name == "sent" || name.starts_with("sent:") {
            return self.sent(name);
        }
        if let Some((data, column)) = name.split_once('.') {
            return self.column(name, data, column);
        }
        let Some(variable) = self.variable(name) else {
            let wanted = "a variable that an earlier step takes";
            let error = ParseError::new(wanted, name, 0, name.len());
            let known = self.variables.iter().map(|(name, _)| name.as_str());
            let words = ["counter", "user", "loop", "uuid", "date", "random:1..100", "traceparent"];
            let known = known.chain(words);
            return Err(match nearest(name, known) {
                Some(near) => error.hint(format!("did you mean {{{{{near}}}}}?")),
                None if !name.contains(' ') => error.hint(format!(
                    "take it in a step before: take.{name} = {{ … }}, or set it in [vars]"
                )),
                None => error,
            });
        };
        if !has_default && !self.set.contains(&variable) {
            let wanted = "a variable that an earlier step takes";
            let error = ParseError::new(wanted, name, 0, name.len());
            return Err(error.hint(format!(
                "only a later step takes it: write {{{{{name} or \"…\"}}}}, or change the order"
            )));
        }
        Ok(Value::Variable(variable))
    }

    /// A place of what the step has sent.
    fn sent(&self, name: &str) -> Result<Value, ParseError> {
        const WANTED: &str = "a place of what the step has sent, such as {{sent:/n}}";
        let wrong = || ParseError::new(WANTED, name, 0, name.len());
        if !self.knows_sent {
            return Err(wrong().hint("`sent` stands in `expect` beside `send` or `subscribe`"));
        }
        let pointer = name.strip_prefix("sent:").ok_or_else(wrong)?;
        take::check_pointer(pointer).map_err(|error| error.shifted(name.len() - pointer.len()))?;
        Ok(Value::Sent(pointer.into()))
    }

    fn column(&self, name: &str, data: &str, column: &str) -> Result<Value, ParseError> {
        let Some(at) = self.data.iter().position(|of| of.name == data) else {
            if self.unread.contains(data) {
                return Ok(Value::Fixed(Box::default()));
            }
            let error = ParseError::new("a data file", data, 0, data.len());
            let known = self.data.iter().map(|of| of.name.as_str());
            return Err(match nearest(data, known) {
                Some(near) => error.hint(format!("did you mean {{{{{near}.{column}}}}}?")),
                None => error.hint(format!("there is no [data.{data}]")),
            });
        };
        let of = &self.data[at];
        let Some(number) = of.column(column) else {
            let wanted = format!("a column of [data.{data}]");
            let error = ParseError::new(wanted, column, data.len() + 1, column.len());
            return Err(match of.nearest(column) {
                Some(near) => error.hint(format!("did you mean {{{{{data}.{near}}}}}?")),
                None => {
                    let has = of.columns().join(", ");
                    let commas = if has.contains(';') { "; commas set columns apart" } else { "" };
                    error.hint(format!("it has {has}{commas}"))
                }
            });
        };
        debug_assert!(name.contains('.'));
        Ok(Value::Column { data: u16::try_from(at).unwrap_or(u16::MAX), column: number })
    }

    fn environment(&self, name: &str, variable: &str) -> Result<Value, ParseError> {
        let wrong = |wanted: &str| ParseError::new(wanted, name, 0, name.len());
        match self.written.environment {
            Environment::StandIn => Ok(Value::Fixed(variable.to_ascii_lowercase().into())),
            Environment::Unread => Err(wrong("a text without {{env.…}}")
                .hint("`plimsoll run`, `load` and `scenario try` fill it in")),
            Environment::Of(value) => match value(variable).filter(|value| !value.is_empty()) {
                Some(value) => {
                    for form in forms(&value) {
                        secret::learn(&form);
                        self.secrets.borrow_mut().push(form);
                    }
                    Ok(Value::Fixed(value.into()))
                }
                None => Err(wrong("an environment variable that is set")
                    .hint(format!("export {variable}=…"))),
            },
        }
    }

    fn role(&self, name: &str, of: &str) -> Result<Value, ParseError> {
        let wrong = || ParseError::new("a role of the plan", name, 0, name.len());
        let Some((role, what @ ("address" | "port"))) = of.split_once('.') else {
            let hint = "write {{role.NAME.address}} or {{role.NAME.port}}";
            return Err(wrong().hint(hint));
        };
        let (address, port) = match self.written.places {
            None => crate::roles::NOWHERE,
            Some(places) => match places.get(role) {
                Some(place) => (place.address.as_str(), place.port),
                None => return Err(wrong().hint(format!("there is no [role.{role}]"))),
            },
        };
        let text = if what == "port" { port.to_string() } else { address.to_owned() };
        Ok(Value::Fixed(text.into()))
    }

    /// The number of the name of a figure. One that stands for something else already is a fault.
    pub(super) fn name(&mut self, name: &str, of: Name, what: &str, place: Place) -> Option<u16> {
        if let Some((known, first, number)) = self.named.get(name) {
            if known == what {
                return Some(*number);
            }
            self.reading.note(crate::reading::error::Fault {
                message: format!("expected a name for one thing, found `{name}` for two: {what}"),
                place,
                also: Some((format!("it is the name of {known}"), *first)),
                hint: Some("give one of them another name".to_owned()),
            });
            return None;
        }
        let number = super::narrow(self.reading, place, self.names.len(), "names")?;
        self.names.push(of);
        self.named.insert(name.to_owned(), (what.to_owned(), place, number));
        Some(number)
    }
}

//! `[instance]`: what one server of a pool can do, what it costs, how it begins, and how it fails;
//! `[instance.LABEL]`: instance types that are compared.
//!
//! What stands in `[instance]` itself holds for all types.

use std::path::PathBuf;
use std::time::Duration;

use plimsoll_units::{ParseError, duration, share, show_share_exact};
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::pool::{Discipline, Slowdown};
use serde_json::json;

use crate::describe::Describe;
use crate::key::Choice;
use crate::reading::Reading;
use crate::reading::source::Place;
use crate::reading::text::{exact, quoted};
use crate::reading::tree::{Entry, Node, Table, Value};
use crate::section::{Part, Section};
use crate::sections::billing::PRICE;
use crate::sections::pool::{INSTANCES, Pool};
use crate::takes::{
    Count, DISTRIBUTION, DURATION, File, Form, OrWord, Own, Parsed, RATE, SHARE, TIME, word,
};
use crate::write::Writer;

section! {
    /// What one server of a pool can do, what it costs, how it begins, and how it fails. A table
    /// `[instance.LABEL]` is a type of its own: types are compared, and what stands in `[instance]`
    /// itself holds for all of them.
    ["instance", choices &[&SERVICE, &LOADED]]
    pub struct Instance {
        /// How long service takes.
        service: Service { part }
        /// How many requests are served at once.
        cores: Option<u32> { Count(1..=1024_u32), said "1, or the model's", "2" }
        /// Processor time of a request, of one core.
        cpu: Option<Duration> { DURATION, said "service time, or the model's", "60ms" }
        /// The most requests of an instance, in service or waiting.
        limit: Option<Option<u32>> { OrWord(Count(1..=1_000_000_u32), "none"),
            said "none, or the model's", "10" }
        /// First come first served, or all share the cores.
        discipline: Discipline { word::<Discipline>(), or Discipline::Fcfs, "sharing" }
        /// So much slower for each request beyond the cores; or a factor for 1, 2, … requests.
        slowdown: Option<Slowdown> { SLOWER, "3%" }
        /// The most requests that one was measured to serve: with more than its cores have at once
        /// service is slower by what that lacks.
        capacity: Option<f64> { RATE, said "what its cores serve", "28/s" }
        /// The coefficient of variation of the speeds of instances.
        speed_variation: f64 { SHARE, or 0.0, "13%" }
        /// From the launch of an instance until it runs.
        boot: Distribution { DISTRIBUTION, or Distribution::NONE, "const:3m" }
        /// From then until it takes requests.
        configure: Distribution { DISTRIBUTION, or Distribution::NONE, "uniform:10s..30s" }
        /// So many times slower at first, fading over so long.
        slow_start: Option<(f64, Duration)> { SLOW_START, "3:60s" }
        /// How it fails.
        failures: Failures { part }
        /// What one costs per hour.
        price: Option<f64> { PRICE, said "that of `[billing]`", "0.17" }
        /// How many there are at the beginning.
        start: Option<u32> { INSTANCES, said "the pool's", "8" }
    }
}

/// An instance type: what it is called, and what one of it can do.
#[derive(Debug, Clone, PartialEq)]
pub struct InstanceType {
    /// The name that the plan gives it.
    pub label: String,
    /// What one of it can do.
    pub instance: Instance,
}

/// The most types of a plan.
const MOST_TYPES: usize = 100;
/// The most characters of a label.
const MOST_LABEL: usize = 64;

/// Reads the section: what an instance can do, and the types where the plan has some, of which it
/// is the first then.
pub(crate) fn read(reading: &Reading, root: &Table) -> Option<(Instance, Vec<InstanceType>)> {
    let plain =
        || Some((Instance::read(&Section::open(reading, root, Instance::SECTION))?, vec![]));
    let Some(Entry { node, .. }) = root.get(Instance::SECTION.path) else { return plain() };
    let Value::Table(all) = &node.value else { return plain() };
    let labels: Vec<&Entry> = all.entries.iter().filter(|entry| is_type(entry)).collect();
    if labels.is_empty() {
        return plain();
    }
    if labels.len() > MOST_TYPES {
        reading.fault(node.place, format!("expected at most {MOST_TYPES} instance types"), None);
        return None;
    }
    check_keys(reading, all);
    let types: Vec<Option<InstanceType>> =
        labels.into_iter().map(|entry| read_type(reading, all, entry)).collect();
    let types: Option<Vec<InstanceType>> = types.into_iter().collect();
    let types = types?;
    Some((types.first()?.instance.clone(), types))
}

/// The labels of the types of a plan, in its order.
pub(crate) fn labels(root: &Table) -> Vec<String> {
    match root.get(Instance::SECTION.path).map(|entry| &entry.node.value) {
        Some(Value::Table(all)) => {
            all.entries.iter().filter(|of| is_type(of)).map(|of| of.key.clone()).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether an entry of `[instance]` is the table of a type, and not a key of all.
fn is_type(entry: &Entry) -> bool {
    matches!(entry.node.value, Value::Table(_)) && !Instance::SECTION.has(&entry.key)
}

/// Notes keys that are not known.
fn check_keys(reading: &Reading, table: &Table) {
    let is_unknown = |entry: &&Entry| !is_type(entry) && !Instance::SECTION.has(&entry.key);
    for entry in table.entries.iter().filter(is_unknown) {
        reading.unknown(entry, Instance::SECTION);
    }
}

/// One type: what its own table does not say, the common one does.
fn read_type(reading: &Reading, all: &Table, entry: &Entry) -> Option<InstanceType> {
    let Value::Table(own) = &entry.node.value else { return None };
    let place = if entry.key_place.span.is_some() { entry.key_place } else { own.place };
    let is_short = (1..=MOST_LABEL).contains(&entry.key.chars().count());
    if !is_short || entry.key.chars().any(char::is_control) {
        let message = format!("expected a label of 1 to {MOST_LABEL} characters on one line");
        reading.fault(place, message, None);
        return None;
    }
    for entry in own.entries.iter().filter(|of| !Instance::SECTION.has(&of.key)) {
        reading.unknown(entry, Instance::SECTION);
    }
    let table = over(all, own, place);
    let instance = Instance::read(&Section::within(reading, &table, Instance::SECTION))?;
    Some(InstanceType { label: entry.key.clone(), instance })
}

/// The keys of a type over those of all, but for those that its own exclude.
fn over(all: &Table, own: &Table, place: Place) -> Table {
    let says = |key: &str| own.get(key).is_some();
    let excluded = |key: &str| {
        let choices = Instance::SECTION.choices.iter();
        let of = choices.filter(|choice| choice.keys().any(|of| of == key));
        of.flat_map(|choice| choice.keys()).any(says)
    };
    let common = all.entries.iter().filter(|of| !is_type(of));
    let common = common.filter(|of| !says(&of.key) && !excluded(&of.key));
    let entries = own.entries.iter().chain(common).cloned().collect();
    Table { place, entries }
}

/// Notes numbers at the beginning that the pool does not allow.
pub(crate) fn check_starts(reading: &Reading, root: &Table, pool: &Pool) {
    let Some(Entry { node, .. }) = root.get(Instance::SECTION.path) else { return };
    let Value::Table(all) = &node.value else { return };
    let (least, most) = (pool.least, pool.most);
    let tables = all.entries.iter().filter_map(|of| match &of.node.value {
        Value::Table(own) if is_type(of) => Some(own),
        _ => None,
    });
    for entry in tables.chain([all]).filter_map(|table| table.get("start")) {
        let start = entry
            .node
            .value
            .number()
            .filter(|start| !(f64::from(least)..=f64::from(most)).contains(start));
        if let Some(start) = start {
            let message = format!("expected `start` from {least} to {most}, found {start}");
            let hint = "these are `min` and `max` of [pool]".to_owned();
            reading.fault(entry.node.place, message, Some(hint));
        }
    }
}

/// Writes the section: the types where there are some.
pub(crate) fn write(instance: &Instance, types: &[InstanceType], out: &mut Writer) {
    let section = Instance::SECTION.path;
    if types.is_empty() {
        out.section(section);
        instance.write_keys(out, &[]);
    }
    for of in types {
        out.section_of(section, &of.label);
        of.instance.write_keys(out, &[]);
    }
}

impl Instance {
    fn read(section: &Section<'_>) -> Option<Self> {
        section.chosen(&LOADED);
        Self::read_keys(section)
    }

    /// The files that the section names.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let model = match &self.service {
            Service::Model(path) => Some(path),
            Service::Law(_) => None,
        };
        model.into_iter()
    }
}

/// How long service takes.
#[derive(Debug, Clone, PartialEq)]
pub enum Service {
    /// By a distribution.
    Law(Distribution),
    /// By a service model, which the executor reads.
    Model(PathBuf),
}

/// The ways to say how long service takes.
static SERVICE: Choice = Choice(&[("service", &[]), ("model", &[])]);

/// The ways to say how service slows down under load.
static LOADED: Choice = Choice(&[("slowdown", &[]), ("capacity", &[])]);

/// A distribution that takes time.
const LAW: Parsed<Distribution> = DISTRIBUTION
    .only(|text| match Distribution::parse(text)? {
        law if law.mean() > 0.0 => Ok(law),
        _ => Err(ParseError::new("a service time above zero", text, 0, text.len())),
    })
    .such_as("a distribution such as exp:70ms");

section! {
    [part]
    #[derive(Default)]
    pub(crate) struct ServiceKeys {
        /// How long the service of a request takes.
        service: Option<Distribution> { LAW, "exp:70ms" }
        /// A service model, as `plimsoll capacity --model-out` writes it.
        model: Option<PathBuf> { File, "server.json" }
    }
}

impl Part for Service {
    type Keys = ServiceKeys;

    fn of(keys: ServiceKeys, section: &Section<'_>) -> Option<Self> {
        match section.chosen(&SERVICE) {
            Some("model") => keys.model.map(Self::Model),
            Some(_) => keys.service.map(Self::Law),
            None => {
                section.missing("`service` or `model`", "service", "exp:70ms");
                None
            }
        }
    }

    fn keys(&self) -> ServiceKeys {
        match self.clone() {
            Self::Law(law) => ServiceKeys { service: Some(law), model: None },
            Self::Model(path) => ServiceKeys { service: None, model: Some(path) },
        }
    }
}

/// How an instance fails: not at all, or after mean times to failure and to repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Failures(pub Option<(Duration, Duration)>);

section! {
    [part]
    pub(crate) struct FailureKeys {
        /// Mean time from ready to failure; needs `mttr`.
        mttf: Option<Duration> { TIME, "48h" }
        /// Mean time from failure until another one is ready.
        mttr: Option<Duration> { DURATION, "5m" }
    }
}

impl Part for Failures {
    type Keys = FailureKeys;

    fn of(keys: FailureKeys, section: &Section<'_>) -> Option<Self> {
        match (section.has("mttf"), section.has("mttr")) {
            (true, false) => section.missing_beside("mttr", "mttf", "5m"),
            (false, true) => section.missing_beside("mttf", "mttr", "48h"),
            _ => {}
        }
        Some(Self(keys.mttf.zip(keys.mttr)))
    }

    fn keys(&self) -> FailureKeys {
        let (mttf, mttr) = self.0.unzip();
        FailureKeys { mttf, mttr }
    }
}

/// The most factors of a slowdown.
const MOST_FACTORS: usize = 10_000;

/// A share for each request beyond the cores, or a list of factors.
const SLOWER: Own<Slowdown> = Own {
    takes: "share or list of numbers",
    schema: || {
        let factor = json!({"type": ["number", "string"], "minimum": 0.001, "maximum": 1000});
        json!({"anyOf": [
            SHARE.schema(),
            {"type": "array", "items": factor, "minItems": 1, "maxItems": MOST_FACTORS},
        ]})
    },
    is_map: false,
    read: read_slower,
    write: write_slower,
};

fn read_slower(reading: &Reading, node: &Node) -> Option<Slowdown> {
    let Value::List(items) = &node.value else {
        let wanted = "a share such as 3%, or a list of factors";
        return reading.parsed(node, wanted, share).map(Slowdown::Each);
    };
    let factors: Vec<f64> =
        items.iter().filter_map(|item| reading.number(item, 0.001, 1000.0)).collect();
    if factors.is_empty() || factors.len() > MOST_FACTORS {
        reading.fault(node.place, "expected from 1 to 10000 factors", None);
        return None;
    }
    Some(Slowdown::Factors(factors))
}

fn write_slower(value: &Slowdown) -> String {
    match value {
        Slowdown::None => quoted(&show_share_exact(0.0)),
        Slowdown::Each(share) => quoted(&show_share_exact(*share)),
        Slowdown::Factors(factors) => format!("{factors:?}"),
    }
}

const SLOW_START: Parsed<(f64, Duration)> = Parsed {
    takes: "factor:duration",
    wanted: "a factor and a duration",
    form: Form::Text,
    parse: slow_start,
    show: |(factor, over)| format!("{factor:?}:{}", exact(*over)),
};

/// Reads `3:60s`.
fn slow_start(text: &str) -> Result<(f64, Duration), ParseError> {
    let wanted = "a factor from 1 to 1000 and a duration such as 3:60s";
    let wrong = || ParseError::new(wanted, text, 0, text.len());
    let (factor, over) = text.split_once(':').ok_or_else(wrong)?;
    let factor: f64 = factor.trim().parse().map_err(|_| wrong())?;
    if !(1.0..=1000.0).contains(&factor) {
        return Err(wrong());
    }
    let at = text.len() - over.len();
    Ok((factor, duration(over).map_err(|error| error.shifted(at))?))
}

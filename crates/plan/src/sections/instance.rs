//! `[instance]`: what one server of a pool can do, how it begins, and how it fails.

use std::path::PathBuf;
use std::time::Duration;

use plimsoll_units::{ParseError, duration, share, show_share_exact};
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::pool::{Discipline, Slowdown};
use serde_json::json;

use crate::describe::Describe;
use crate::key::Choice;
use crate::reading::Reading;
use crate::reading::text::{exact, quoted};
use crate::reading::tree::{Node, Value};
use crate::section::{Part, Section};
use crate::takes::{
    Count, DISTRIBUTION, DURATION, File, Form, OrWord, Own, Parsed, SHARE, TIME, word,
};

section! {
    /// What one server of a pool can do, how it begins, and how it fails.
    ["instance", choices &[&SERVICE]; read, write]
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
    }
}

impl Instance {
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

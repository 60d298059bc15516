//! `[instance]`: what one server of a pool can do, how it begins, and how it fails.

use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_units::{ParseError, duration, share, show_share_exact};
use plimsoll_workload::distribution::Distribution;

use crate::key::{Alternative, Choice, SectionKeys, key};
use crate::section::Section;
use crate::target_reader::file;
use crate::tree::Value;
use crate::write::{Writer, exact};

/// The ways to say how long service takes.
pub(crate) static SERVICE: Choice = Choice {
    among: &[Alternative { key: "service", with: &[] }, Alternative { key: "model", with: &[] }],
};

/// The keys of `[instance]`.
pub(crate) static INSTANCE: SectionKeys = SectionKeys {
    path: "instance",
    keys: &[
        key(
            "service",
            "distribution",
            "–",
            r#""exp:70ms""#,
            "How long the service of a request takes.",
        ),
        key(
            "model",
            "file",
            "–",
            r#""server.json""#,
            "A service model, as `plimsoll capacity --model-out` writes it.",
        ),
        key("cores", "count", "1, or the model's", "2", "How many requests are served at once."),
        key(
            "cpu",
            "duration",
            "service time, or the model's",
            r#""60ms""#,
            "Processor time of a request, of one core.",
        ),
        key(
            "limit",
            "count or none",
            "none, or the model's",
            "10",
            "The most requests of an instance, in service or waiting.",
        ),
        key(
            "discipline",
            "fcfs or sharing",
            "fcfs",
            r#""sharing""#,
            "First come first served, or all share the cores.",
        ),
        key(
            "slowdown",
            "share or list of numbers",
            "–",
            r#""3%""#,
            "So much slower for each request beyond the cores; or a factor for 1, 2, … requests.",
        ),
        key(
            "speed_variation",
            "share",
            "0%",
            r#""13%""#,
            "The coefficient of variation of the speeds of instances.",
        ),
        key(
            "boot",
            "distribution",
            "none",
            r#""const:3m""#,
            "From the launch of an instance until it runs.",
        ),
        key(
            "configure",
            "distribution",
            "none",
            r#""uniform:10s..30s""#,
            "From then until it takes requests.",
        ),
        key(
            "slow_start",
            "factor:duration",
            "–",
            r#""3:60s""#,
            "So many times slower at first, fading over so long.",
        ),
        key("mttf", "duration", "–", r#""48h""#, "Mean time from ready to failure; needs `mttr`."),
        key(
            "mttr",
            "duration",
            "–",
            r#""5m""#,
            "Mean time from failure until another one is ready.",
        ),
    ],
    shorthand: None,
    lists: &[],
    maps: &[],
    choices: &[&SERVICE],
};

/// The most factors of a slowdown.
const MOST_FACTORS: usize = 10_000;

/// What one server can do.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    /// How long service takes.
    pub service: Service,
    /// Requests served at once; without it the model's, or 1.
    pub cores: Option<u32>,
    /// Processor time of a request; without it the model's, or its service time.
    pub cpu: Option<Duration>,
    /// The most requests of an instance.
    pub limit: Limit,
    /// Whether requests share the cores.
    pub is_sharing: bool,
    /// How service slows down with the number of requests.
    pub slowdown: Slowdown,
    /// The coefficient of variation of the speeds of instances.
    pub speed_variation: f64,
    /// From launch until it runs.
    pub boot: Distribution,
    /// From then until it takes requests.
    pub configure: Distribution,
    /// So many times slower at first, fading over so long.
    pub slow_start: Option<(f64, Duration)>,
    /// Mean times to failure and to repair.
    pub failures: Option<(Duration, Duration)>,
}

/// How long service takes.
#[derive(Debug, Clone, PartialEq)]
pub enum Service {
    /// By a distribution.
    Law(Distribution),
    /// By a service model, which the executor reads.
    Model(PathBuf),
}

/// The most requests of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The model's, or none.
    Default,
    /// None.
    None,
    /// So many; at least 1.
    Of(u32),
}

/// How service slows down with the number of requests at an instance.
#[derive(Debug, Clone, PartialEq)]
pub enum Slowdown {
    /// Not at all.
    None,
    /// By this share for each request beyond the cores.
    Each(f64),
    /// By these factors for 1, 2, … requests, the last for all above.
    Factors(Vec<f64>),
}

impl Instance {
    /// Reads the section; `folder` is where its files are.
    pub(crate) fn read(section: &Section<'_>, folder: &Path) -> Option<Self> {
        let limit = match section.node("limit").map(|node| &node.value) {
            None => Limit::Default,
            Some(Value::Text(text) | Value::Typed(text)) if text == "none" => Limit::None,
            Some(_) => section.small("limit", 1..=1_000_000).map_or(Limit::Default, Limit::Of),
        };
        let distribution =
            |key| section.parsed(key, "a distribution such as const:3m", Distribution::parse);
        let rest = Self {
            service: Service::Law(Distribution::NONE),
            cores: section.small("cores", 1..=1024),
            cpu: section.duration("cpu"),
            limit,
            is_sharing: section.word("discipline", &DISCIPLINES).unwrap_or(false),
            slowdown: read_slowdown(section),
            speed_variation: section
                .parsed("speed_variation", "a share such as 13%", share)
                .unwrap_or(0.0),
            boot: distribution("boot").unwrap_or(Distribution::NONE),
            configure: distribution("configure").unwrap_or(Distribution::NONE),
            slow_start: section.parsed("slow_start", "a factor and a duration", slow_start),
            failures: read_failures(section),
        };
        Some(Self { service: read_service(section, folder)?, ..rest })
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        out.section(INSTANCE.path);
        match &self.service {
            Service::Law(law) => out.text("service", law),
            Service::Model(path) => out.text("model", path.display()),
        }
        if let Some(cores) = self.cores {
            out.whole("cores", u64::from(cores));
        }
        if let Some(cpu) = self.cpu {
            out.duration("cpu", cpu);
        }
        match self.limit {
            Limit::Default => {}
            Limit::None => out.text("limit", "none"),
            Limit::Of(limit) => out.whole("limit", u64::from(limit)),
        }
        for (word, _) in DISCIPLINES.iter().filter(|(_, sharing)| *sharing == self.is_sharing) {
            out.text("discipline", word);
        }
        match &self.slowdown {
            Slowdown::None => {}
            Slowdown::Each(share) => out.text("slowdown", show_share_exact(*share)),
            Slowdown::Factors(factors) => out.numbers("slowdown", factors),
        }
        out.text("speed_variation", show_share_exact(self.speed_variation));
        out.text("boot", self.boot);
        out.text("configure", self.configure);
        if let Some((factor, over)) = self.slow_start {
            out.text("slow_start", format!("{factor:?}:{}", exact(over)));
        }
        if let Some((mttf, mttr)) = self.failures {
            out.duration("mttf", mttf);
            out.duration("mttr", mttr);
        }
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

/// The words of `discipline`.
const DISCIPLINES: [(&str, bool); 2] = [("fcfs", false), ("sharing", true)];

fn read_service(section: &Section<'_>, folder: &Path) -> Option<Service> {
    match section.chosen(&SERVICE) {
        Some("model") => file(section, "model", folder).map(Service::Model),
        Some(key) => section
            .parsed(key, "a distribution such as exp:70ms", |text| {
                match Distribution::parse(text)? {
                    law if law.mean() > 0.0 => Ok(law),
                    _ => Err(ParseError::new("a service time above zero", text, 0, text.len())),
                }
            })
            .map(Service::Law),
        None => {
            section.missing("`service` or `model`", "service", "exp:70ms");
            None
        }
    }
}

fn read_slowdown(section: &Section<'_>) -> Slowdown {
    let Some(node) = section.node("slowdown") else { return Slowdown::None };
    let Value::List(items) = &node.value else {
        let each = section.parsed("slowdown", "a share such as 3%, or a list of factors", share);
        return each.map_or(Slowdown::None, Slowdown::Each);
    };
    let factors: Vec<f64> =
        items.iter().filter_map(|item| section.reading.number(item, 0.001, 1000.0)).collect();
    if factors.is_empty() || factors.len() > MOST_FACTORS {
        section.fault("slowdown", "expected from 1 to 10000 factors", None);
        return Slowdown::None;
    }
    Slowdown::Factors(factors)
}

fn read_failures(section: &Section<'_>) -> Option<(Duration, Duration)> {
    let pair = ("mttf", "mttr");
    let given = (section.has(pair.0), section.has(pair.1));
    match given {
        (true, false) => section.missing_beside(pair.1, pair.0, "5m"),
        (false, true) => section.missing_beside(pair.0, pair.1, "48h"),
        _ => {}
    }
    Some((section.positive_duration(pair.0)?, section.duration(pair.1)?))
}

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

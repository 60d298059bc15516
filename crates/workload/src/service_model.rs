//! The service model: how a server treats a request, as measured or assumed; one file format that
//! the capacity search writes and the simulator and the built-in target read.
//!
//! ```json
//! {
//!   "schema": 1,
//!   "service_time": { "quantiles": [[0, "57ms"], [0.5, "70ms"], [0.99, "96ms"], [1, "278ms"]] },
//!   "cores": 2,
//!   "cpu_per_request": "60ms",
//!   "concurrency": 10,
//!   "speed": 1
//! }
//! ```
//!
//! Only `schema` and `service_time` are needed. A service time is a table of quantiles, or the text
//! of a [`Distribution`] such as `"lognormal:70ms,0.1"`. Between the points of a table the quantile
//! runs in straight lines, so a table says nothing of the tail beyond its last points: measured
//! tables should have points close to 1.
//!
//! CPU time a request is apart from service time: a server that waits for its database is slow and
//! idle at once.

use plimsoll_units::failure::{Failure, FileError, Kind};
use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZeroU32;
use std::path::Path;

use plimsoll_units::{ParseError, duration, show_duration_exact};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::distribution::Distribution;
use crate::random::Stream;

/// The version of the format.
const SCHEMA: u32 = 1;
/// The largest file, in bytes.
const MAX_BYTES: u64 = 1 << 20;
/// The most points of a table of quantiles.
const MAX_POINTS: usize = 4096;

/// How a server treats a request.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceModel {
    /// Time a request takes in service, at speed 1.
    pub service_time: ServiceTime,
    /// Requests served at once.
    pub cores: NonZeroU32,
    /// CPU time of one request, at speed 1; none: as much as its mean service time.
    pub cpu_ns: Option<u64>,
    /// Requests accepted at once, in service or waiting; beyond it they are refused. None: any.
    pub concurrency: Option<NonZeroU32>,
    /// How much faster than the reference the server is; divides service and CPU time.
    pub speed: f64,
}

/// The law of a service time.
#[derive(Clone, Debug, PartialEq)]
pub enum ServiceTime {
    /// A distribution by name.
    Law(Distribution),
    /// A table of quantiles.
    Table(Quantiles),
}

/// A distribution of durations as a table of quantiles, in straight lines between its points.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantiles {
    /// Probability and nanoseconds, both never falling; from probability 0 to 1.
    points: Vec<(f64, u64)>,
}

/// Why a service model cannot be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServiceModelError {
    /// The file cannot be opened, read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// More than a megabyte: this is something else.
    #[error("{name} is larger than {MAX_BYTES} bytes: a service model is a small JSON file")]
    TooLarge {
        /// The file.
        name: String,
    },
    /// No JSON of the right shape.
    #[error("{name} is no service model: compare it with the example in the manual")]
    Shape {
        /// The file.
        name: String,
        /// What, and at which line and column.
        #[source]
        source: serde_json::Error,
    },
    /// A value out of its bounds.
    #[error("{name}, `{key}`: {error}")]
    Value {
        /// The file.
        name: String,
        /// The key.
        key: &'static str,
        /// What was wanted and found.
        error: Box<ParseError>,
    },
}

impl Quantiles {
    /// A table of points, each a probability and nanoseconds.
    ///
    /// # Errors
    /// Fewer than two points or too many; not from 0 to 1; falling.
    pub fn new(points: Vec<(f64, u64)>) -> Result<Self, ParseError> {
        let wrong = |wanted: &str, found: String| ParseError::new(wanted, &found, 0, 0);
        if !(2..=MAX_POINTS).contains(&points.len()) {
            return Err(wrong("from 2 to 4096 quantiles", points.len().to_string()));
        }
        let (first, last) = (points[0].0, points[points.len() - 1].0);
        let ends = first.abs() < f64::EPSILON && (last - 1.0).abs() < f64::EPSILON;
        if !ends {
            let found = format!("{first} to {last}");
            return Err(wrong("quantiles from 0 (the least) to 1 (the greatest)", found));
        }
        // Written so that a probability that is no number is refused too.
        let rises = |pair: &[(f64, u64)]| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1;
        match points.windows(2).find(|pair| !rises(pair)) {
            Some(pair) => {
                let shown = pair.iter().map(|&(p, ns)| format!("{p}: {}", show_duration_exact(ns)));
                let found = shown.collect::<Vec<_>>().join(", then ");
                Err(wrong("quantiles in rising order", found))
            }
            None => Ok(Self { points }),
        }
    }

    /// The points, probability and nanoseconds.
    #[must_use]
    pub fn points(&self) -> &[(f64, u64)] {
        &self.points
    }

    /// The value that a share of all values lies below, in seconds.
    #[must_use]
    pub fn at(&self, probability: f64) -> f64 {
        let after = self.points.partition_point(|point| point.0 <= probability);
        let after = after.clamp(1, self.points.len() - 1);
        let ((p, low), (q, high)) = (self.points[after - 1], self.points[after]);
        let share = ((probability - p) / (q - p)).clamp(0.0, 1.0);
        (low as f64 + share * (high - low) as f64) / 1e9
    }

    /// The mean, in seconds: the area under straight lines.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let areas = self
            .points
            .windows(2)
            .map(|pair| (pair[1].0 - pair[0].0) * 0.5 * (pair[0].1 as f64 + pair[1].1 as f64));
        areas.sum::<f64>() / 1e9
    }
}

impl ServiceTime {
    /// Draws a service time at speed 1, in seconds.
    #[must_use]
    pub fn sample(&self, stream: &mut Stream) -> f64 {
        match self {
            Self::Law(distribution) => distribution.sample(stream),
            Self::Table(quantiles) => quantiles.at(stream.uniform()),
        }
    }

    /// The same, so many times as long; `times` is above zero.
    #[must_use]
    pub fn scaled(&self, times: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let scale = |&(p, ns): &(f64, u64)| (p, (ns as f64 * times).round() as u64);
        match self {
            Self::Law(distribution) => Self::Law(distribution.scaled(times)),
            Self::Table(table) => {
                Self::Table(Quantiles { points: table.points.iter().map(scale).collect() })
            }
        }
    }

    /// The mean at speed 1, in seconds.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match self {
            Self::Law(distribution) => distribution.mean(),
            Self::Table(quantiles) => quantiles.mean(),
        }
    }
}

impl ServiceModel {
    /// A server of one core and speed 1 with this service time.
    #[must_use]
    pub fn new(service_time: ServiceTime) -> Self {
        let (cores, cpu_ns, concurrency, speed) = (NonZeroU32::MIN, None, None, 1.0);
        Self { service_time, cores, cpu_ns, concurrency, speed }
    }

    /// Draws the service time of a request on this server, in seconds.
    #[must_use]
    pub fn sample(&self, stream: &mut Stream) -> f64 {
        self.service_time.sample(stream) / self.speed
    }

    /// The mean service time on this server, in seconds.
    #[must_use]
    pub fn mean_service(&self) -> f64 {
        self.service_time.mean() / self.speed
    }

    /// The CPU time of a request on this server, in seconds.
    #[must_use]
    pub fn cpu_per_request(&self) -> f64 {
        self.cpu_ns.map_or_else(|| self.service_time.mean(), |ns| ns as f64 / 1e9) / self.speed
    }

    /// Reads a model from a file.
    ///
    /// # Errors
    /// A file that cannot be read, and what in it is no service model.
    pub fn read(path: &Path) -> Result<Self, ServiceModelError> {
        let failed = FileError::of("read the service model", path);
        let name = path.display().to_string();
        let mut text = String::new();
        let file = File::open(path).map_err(&failed)?;
        let read = file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
        if read as u64 > MAX_BYTES {
            return Err(ServiceModelError::TooLarge { name });
        }
        Self::from_json(&text, &name)
    }

    /// Reads a model from its text; `name` stands for it in messages.
    ///
    /// # Errors
    /// What is no service model.
    pub fn from_json(text: &str, name: &str) -> Result<Self, ServiceModelError> {
        let shape = |source| ServiceModelError::Shape { name: name.to_owned(), source };
        let file: OnFile = serde_json::from_str(text).map_err(shape)?;
        file.check().map_err(|(key, error)| {
            let name = name.to_owned();
            ServiceModelError::Value { name, key, error: Box::new(error) }
        })
    }

    /// The text of the model, which [`ServiceModel::from_json`] reads back to the same.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Texts and finite numbers only: there is nothing that could not be written.
        let mut text = serde_json::to_string_pretty(&OnFile::of(self)).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Writes the model to a file, over what was there.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), ServiceModelError> {
        let failed = FileError::of("write the service model", path);
        let mut file = File::create(path).map_err(&failed)?;
        Ok(file.write_all(self.to_json().as_bytes()).map_err(failed)?)
    }
}

/// The model as it stands in a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OnFile {
    schema: u32,
    service_time: TimeOnFile,
    #[serde(default = "one_core")]
    cores: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cpu_per_request: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    concurrency: Option<u32>,
    #[serde(default = "unit_speed")]
    speed: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "a distribution such as \"exp:70ms\", or { \"quantiles\": […] }")]
enum TimeOnFile {
    Law(String),
    Table(TableOnFile),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TableOnFile {
    quantiles: Vec<(f64, String)>,
}

fn one_core() -> u32 {
    1
}

fn unit_speed() -> f64 {
    1.0
}

fn nanoseconds(text: &str) -> Result<u64, ParseError> {
    let wanted = "a duration of at most 584 years";
    u64::try_from(duration(text)?.as_nanos())
        .map_err(|_| ParseError::new(wanted, text, 0, text.len()))
}

impl OnFile {
    fn of(model: &ServiceModel) -> Self {
        let service_time = match &model.service_time {
            ServiceTime::Law(distribution) => TimeOnFile::Law(distribution.to_string()),
            ServiceTime::Table(table) => TimeOnFile::Table(TableOnFile {
                quantiles: table
                    .points
                    .iter()
                    .map(|&(p, ns)| (p, show_duration_exact(ns)))
                    .collect(),
            }),
        };
        Self {
            schema: SCHEMA,
            service_time,
            cores: model.cores.get(),
            cpu_per_request: model.cpu_ns.map(show_duration_exact),
            concurrency: model.concurrency.map(NonZeroU32::get),
            speed: model.speed,
        }
    }

    /// The model, or the key that is wrong.
    fn check(self) -> Result<ServiceModel, (&'static str, ParseError)> {
        let wrong = |wanted: &str, found: String| ParseError::new(wanted, &found, 0, 0);
        if self.schema != SCHEMA {
            let error = wrong("schema 1", self.schema.to_string())
                .hint("this file is of another version of the program");
            return Err(("schema", error));
        }
        let service_time = match self.service_time {
            TimeOnFile::Law(text) => Distribution::parse(&text).map(ServiceTime::Law),
            TimeOnFile::Table(table) => table
                .quantiles
                .iter()
                .map(|(p, text)| nanoseconds(text).map(|ns| (*p, ns)))
                .collect::<Result<Vec<_>, _>>()
                .and_then(Quantiles::new)
                .map(ServiceTime::Table),
        };
        let service_time = service_time.map_err(|error| ("service_time", error))?;
        let above_zero = |n: u32, key| {
            NonZeroU32::new(n).ok_or_else(|| (key, wrong("a number above zero", n.to_string())))
        };
        let cpu_ns = self.cpu_per_request.as_deref().map(nanoseconds).transpose();
        if !(self.speed > 0.0 && self.speed.is_finite()) {
            return Err(("speed", wrong("a number above zero", self.speed.to_string())));
        }
        Ok(ServiceModel {
            service_time,
            cores: above_zero(self.cores, "cores")?,
            cpu_ns: cpu_ns.map_err(|error| ("cpu_per_request", error))?,
            concurrency: self.concurrency.map(|n| above_zero(n, "concurrency")).transpose()?,
            speed: self.speed,
        })
    }
}

/// A hint as the end of a sentence.
impl Failure for ServiceModelError {
    fn kind(&self) -> Kind {
        Kind::Usage
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::File(error) => error.hint(),
            Self::Value { error, .. } => error.hint.clone(),
            _ => None,
        }
    }
}

//! Service level objectives: the one grammar for what must hold of a run, and the verdicts.
//!
//! # Grammar
//!
//! Clauses joined by `,`, which means *and*; blanks do not matter.
//!
//! | clause | bound | over |
//! | --- | --- | --- |
//! | `p99.9<200ms`, `mean<=50ms`, `max<1s` | a duration | response time: from due |
//! | `service.p99<…`, `service.mean`, `service.max` | a duration | service time: from sent |
//! | `errors<0.1%` | a share | 1 − succeeded / offered |
//! | `lost<10`, `lost<0.1%` | a count, or a share | offered, but never completely answered |
//! | `availability>=99.999%` | a share | seconds up / (up + down) |
//! | `rate>=500/s` | a rate | completed answers per second |
//! | `memcached.hit_ratio>=97%` | the figure's unit | a figure of what is watched, in the mean |
//! | `instance.web*.cpu<20% for 60s` | the same | each such figure, in all samples of the last 60 s |
//! | `broadcast.latency_us.p99<50ms`, `users.failed<1` | the figure's unit | what is counted of users and WebSockets |
//! | `p99<50ms for 10s` | as without `for` | what ended in each of the last 10 seconds |
//!
//! Before a clause may stand whose requests it is about ([`Subject`]): `checkout: p99<300ms` is
//! about those called `checkout`, `checkout@eu: p99<300ms` about those of them that users of the
//! label `eu` made, and binds that clause alone. Figures by name and label are of the whole run, so
//! `availability`, what is watched, what is counted over the whole run and `for` do not exist by
//! them.
//!
//! # What counts
//!
//! A percentile is over **all requests due**: whatever did not succeed ranks slower than every
//! bound, so a server cannot improve its percentile by failing. `max` is the slowest of them in the
//! same sense. `mean` is over those that succeeded, and fails where none did. The rank is
//! [`crate::histogram::rank`]'s, and a percentile is the upper end of its bucket, less than 0.1%
//! above the truth.
//!
//! An availability finer than one second in those counted cannot be told from perfect by this run:
//! where no second too many was down it is *not resolvable*, and fails. A second too many breaks
//! it, however short the run is.
//!
//! A figure of what is watched that has no value in the run is *not resolvable* too. `for D` means
//! every sample of the last D, of which there are at least two, and none missing; of answers every
//! second of the last D, each judged as a run would be by what ended in it ([`Answers`]). A
//! measured phase that is shorter than D cannot tell.
//!
//! # Whose doing it was
//!
//! A run's clauses are judged twice ([`Slo::judge`]): as measured, and with the generator's own
//! part taken off ([`OwnPart`]). Only where the two differ there is no verdict.

mod evaluate;
mod foreign;
mod judge;
mod lasting;
mod parse;
mod rule;
mod watched;

pub use evaluate::{NOT_RESOLVABLE, NOTHING_DUE, SloInputs, Verdict, few_beyond};
pub use judge::{Judgement, NO_SUCH_SUBJECT, OwnPart, Times};
pub use lasting::Answers;
pub use parse::share;
pub use rule::{Rule, RuleState, SecondInputs};
pub use watched::Watched;

use std::time::Duration;

use plimsoll_units::ParseError;

use crate::figure::{self as registry, Family, Unit};
use crate::percentiles::to_us;
use crate::subject::Subject;

/// What must hold of a run: clauses, all of which must.
#[derive(Debug, Clone, PartialEq)]
pub struct Slo {
    clauses: Vec<Clause>,
}

/// One condition: a metric, a comparison, a bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Clause {
    /// The text as it was given, without blanks.
    pub expr: String,
    /// What is looked at.
    pub metric: Metric,
    /// How it must stand to the bound.
    pub comparison: Comparison,
    /// The bound.
    pub bound: Bound,
    /// For how long it must have held, sample by sample; `None` where it is about the whole.
    pub lasting: Option<Duration>,
    /// Whose requests it is about; `None` where it is about all.
    pub of: Option<Subject>,
}

/// What a clause looks at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Metric {
    /// A figure of the times.
    Time(Timing, Figure),
    /// Share of the requests due that did not succeed.
    Errors,
    /// Requests due that were never completely answered.
    Lost,
    /// Share of the seconds in which the service answered.
    Availability,
    /// Completed answers per second.
    Rate,
    /// Figures of what is watched, of this family.
    Watched(&'static Family),
    /// A figure that is counted over the whole run: of users, or of WebSockets.
    Counted(&'static registry::Figure),
}

impl Metric {
    /// The registered figure that it is, whose unit and direction are the metric's. A percentile
    /// without a figure of its own is of the kind of the 99th.
    #[must_use]
    pub fn figure(self) -> &'static registry::Figure {
        let (mean, max, p99) = match self {
            Self::Errors => return registry::ERRORS,
            Self::Lost => return registry::LOST,
            Self::Availability => return registry::AVAILABILITY_RATIO,
            Self::Rate => return registry::RATE_MEAN,
            Self::Watched(family) => return &family.figure,
            Self::Counted(figure) => return figure,
            Self::Time(Timing::Response, _) => {
                (registry::RESPONSE_US_MEAN, registry::RESPONSE_US_MAX, registry::RESPONSE_US_P99)
            }
            Self::Time(Timing::Service, _) => {
                (registry::SERVICE_US_MEAN, registry::SERVICE_US_MAX, registry::SERVICE_US_P99)
            }
        };
        match self {
            Self::Time(_, Figure::Mean) => mean,
            Self::Time(_, Figure::Max) => max,
            _ => p99,
        }
    }
}

/// Which times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// From due to the last byte.
    Response,
    /// From sent to the last byte.
    Service,
}

/// Which figure of the times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Figure {
    /// Over the requests that succeeded.
    Mean,
    /// The slowest of all requests due.
    Max,
    /// A quantile, above 0 and at most 1, of all requests due.
    Quantile(f64),
}

/// How a value must stand to its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
}

impl Comparison {
    /// Whether `value` stands so to `bound`; never for NaN.
    #[must_use]
    pub fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::Below => value < bound,
            Self::AtMost => value <= bound,
            Self::Above => value > bound,
            Self::AtLeast => value >= bound,
        }
    }

    /// How it is written.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Below => "<",
            Self::AtMost => "<=",
            Self::Above => ">",
            Self::AtLeast => ">=",
        }
    }
}

/// The bound of a clause.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// Nanoseconds.
    Time(u64),
    /// Between 0 and 1.
    Share(f64),
    /// Requests.
    Count(u64),
    /// Per second.
    Rate(f64),
    /// In the unit of a figure of what is watched.
    Value(f64),
}

impl Clause {
    /// The unit of its value and its bound.
    #[must_use]
    pub fn unit(&self) -> Unit {
        match self.bound {
            Bound::Time(_) => Unit::Micros,
            Bound::Share(_) => Unit::Share,
            Bound::Count(_) => Unit::Count,
            Bound::Rate(_) => Unit::PerSecond,
            Bound::Value(_) => self.metric.figure().unit,
        }
    }

    /// What it looks at, as it was written: `p99`, `instance.web*.cpu`, `checkout: p99`.
    #[must_use]
    pub fn word(&self) -> &str {
        // A name may have one of the two, a bound has none.
        let end = self.expr.rfind(['<', '>']).unwrap_or(0);
        &self.expr[..end]
    }
}

impl Bound {
    /// The bound in the unit of a verdict's value: microseconds, share, requests, per second.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "no run counts 2^53 requests")]
    pub fn value(self) -> f64 {
        match self {
            Self::Time(ns) => to_us(ns),
            Self::Share(value) | Self::Rate(value) | Self::Value(value) => value,
            Self::Count(n) => n as f64,
        }
    }
}

impl Slo {
    /// Reads an SLO; see the module for the grammar.
    ///
    /// # Errors
    /// Points at the first part that cannot be read; its hint names what is accepted there.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let wanted = "an SLO such as p99<200ms,errors<0.1%";
        let clauses = parse::clauses(text, parse::Purpose::Objective, wanted)?;
        Ok(Self { clauses })
    }

    /// The clauses, in the order given; at least one.
    #[must_use]
    pub fn clauses(&self) -> &[Clause] {
        &self.clauses
    }

    /// Whether it looks at figures of what is watched.
    #[must_use]
    pub fn is_of_watched(&self) -> bool {
        self.clauses.iter().any(|clause| matches!(clause.metric, Metric::Watched(_)))
    }

    /// Whether it looks at what is counted over the whole run: users, WebSockets.
    #[must_use]
    pub fn is_of_counts(&self) -> bool {
        self.clauses.iter().any(|clause| matches!(clause.metric, Metric::Counted(_)))
    }

    /// Whose requests its clauses are about, in their order.
    pub fn subjects(&self) -> impl Iterator<Item = &Subject> {
        self.clauses.iter().filter_map(|clause| clause.of.as_ref())
    }

    /// The first percentile of the response time of a whole run that it bounds: quantile and bound
    /// in nanoseconds.
    ///
    /// What a search steers by, and what slices count as *over SLO*.
    #[must_use]
    pub fn response_bound(&self) -> Option<(f64, u64)> {
        let is_of_all = |of: &&Clause| of.lasting.is_none() && of.of.is_none();
        let of_all = self.clauses.iter().filter(is_of_all);
        of_all.map(|clause| (clause.metric, clause.bound)).find_map(|of| match of {
            (Metric::Time(Timing::Response, Figure::Quantile(q)), Bound::Time(ns)) => Some((q, ns)),
            _ => None,
        })
    }
}

impl std::str::FromStr for Slo {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

/// The clauses joined by commas; parses back to the same.
impl std::fmt::Display for Slo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (n, clause) in self.clauses.iter().enumerate() {
            f.write_str(if n > 0 { "," } else { "" })?;
            f.write_str(&clause.expr)?;
        }
        Ok(())
    }
}

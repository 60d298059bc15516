//! The load on a server over time: probes that go on as any load does, whose run keeps what is told
//! of each stretch beside them.

use std::collections::BTreeMap;

use plimsoll_capacity::infer::calibration::{Calibration, CalibrationError};
use plimsoll_capacity::infer::over_time::{Stretch, Stretches};
use plimsoll_capacity::infer::probing::{Settings, Step, Why};
use plimsoll_capacity::infer::result::{InferResult, Question, StretchResult};
use plimsoll_runs::experiment::Cell;
use plimsoll_runs::{Class, Event, Interval, RunWriter, Sample, Sink, SinkError, iso8601};

use crate::control::{Control, News};
use crate::engine::{Execution, World};
use crate::error::ExperimentError;
use crate::world::load::Load;
use crate::world::load::execute::Beside;

/// The load, requests a second, where it is told.
const LOAD: &str = "plimsoll_inferred_load_per_s";
/// Where it lies with 95% confidence, also where it is not told.
const BOUND: &str = "plimsoll_inferred_load_bound_per_s";
/// The load over the capacity of the calibration.
const SHARE: &str = "plimsoll_inferred_share";
/// That capacity, at each stretch.
const CAPACITY: &str = "plimsoll_inferred_capacity_per_s";
/// 1 where the load of a stretch is not told, with the reason.
const DECLINED: &str = "plimsoll_inferred_declined";

/// How the load is told.
#[derive(Debug, Clone)]
pub struct Inference {
    /// What the server's search says.
    pub calibration: Calibration,
    /// The id of that search.
    pub id: String,
    /// How many probes a stretch has, and what is asked for.
    pub settings: Settings,
    /// The length of a stretch, nanoseconds.
    pub every_ns: u64,
}

impl Inference {
    fn stretches(&self) -> Result<Stretches, CalibrationError> {
        Stretches::new(&self.calibration, self.settings, self.every_ns)
    }

    /// Checks that the calibration has a curve.
    ///
    /// # Errors
    /// Where it has none.
    pub(crate) fn check(&self) -> Result<(), ExperimentError> {
        self.stretches().map(drop).map_err(|error| ExperimentError::Conflict(error.to_string()))
    }
}

/// Probes as a load, by which that of others is told.
pub(crate) struct Inferred<'a> {
    pub(crate) load: Load<'a>,
    pub(crate) inference: &'a Inference,
}

impl World for Inferred<'_> {
    fn execute(&self, batch: &[Cell], to: &Execution<'_>) -> Result<(), ExperimentError> {
        batch.iter().try_for_each(|cell| {
            let mut inferring = Inferring::new(self.inference, to.control)?;
            self.load.one_with(cell, to, Some(&mut inferring))
        })
    }
}

/// Tells the load of each stretch, and keeps it.
struct Inferring<'a> {
    stretches: Stretches,
    question: Question,
    control: &'a dyn Control,
    started_unix_ns: u64,
    /// Stretches whose load was told.
    told: u64,
    /// How many were not, by the reason.
    declined: BTreeMap<&'static str, u64>,
    /// Why the last one was not.
    last: Option<Why>,
}

impl<'a> Inferring<'a> {
    fn new(of: &Inference, control: &'a dyn Control) -> Result<Self, ExperimentError> {
        let stretches =
            of.stretches().map_err(|error| ExperimentError::Conflict(error.to_string()))?;
        let question = Question {
            capacity_per_s: of.calibration.capacity_per_s,
            settings: of.settings,
            calibration: of.id.clone(),
        };
        let (started_unix_ns, told, declined, last) = (0, 0, BTreeMap::new(), None);
        Ok(Self { stretches, question, control, started_unix_ns, told, declined, last })
    }

    fn keep(&mut self, stretches: Vec<Stretch>, writer: &mut RunWriter) -> Result<(), SinkError> {
        for stretch in stretches {
            let result = self.result(&stretch);
            store(&result, stretch.until_ns, writer)?;
            let why = match &stretch.step {
                Step::Declined(declined) => Some(declined.why),
                _ => None,
            };
            match why {
                None => self.told += 1,
                Some(why) => *self.declined.entry(why.name()).or_default() += 1,
            }
            if why != self.last || stretch.number == 1 {
                writer.event(&changed(why, stretch.from_ns))?;
            }
            self.last = why;
            self.control.tell(News::Inferred(&result));
        }
        Ok(())
    }

    fn result(&self, stretch: &Stretch) -> StretchResult {
        let &Stretch { number, from_ns, until_ns, probes, failed, .. } = stretch;
        let seconds = (until_ns - from_ns) as f64 / 1e9;
        let at = |ns: u64| iso8601(self.started_unix_ns.saturating_add(ns));
        let result = InferResult::of(&self.question, &stretch.step, probes, seconds);
        StretchResult { number, from: at(from_ns), until: at(until_ns), failed, result }
    }

    /// What a reader of the run has to know: of how many stretches it says nothing.
    fn warning(&self) -> Option<String> {
        let untold: u64 = self.declined.values().sum();
        (untold > 0).then(|| {
            let reasons: Vec<String> =
                self.declined.iter().map(|(why, times)| format!("{why} {times}")).collect();
            let all = untold + self.told;
            format!(
                "the load of others is not told in {untold} of {all} stretches: {}",
                reasons.join(", ")
            )
        })
    }
}

/// Keeps what is told of a stretch as samples at its end.
fn store(of: &StretchResult, at_ns: u64, writer: &mut RunWriter) -> Result<(), SinkError> {
    let InferResult { load_per_s, share_of_capacity, ci95, capacity_per_s, declined, .. } =
        &of.result;
    let (low, high) = ci95.unwrap_or((f64::NAN, f64::NAN));
    writer.series(LOAD, &[], at_ns, load_per_s.unwrap_or(f64::NAN))?;
    writer.series(BOUND, &[("bound", "low")], at_ns, low)?;
    writer.series(BOUND, &[("bound", "high")], at_ns, high)?;
    writer.series(SHARE, &[], at_ns, share_of_capacity.unwrap_or(f64::NAN))?;
    writer.series(CAPACITY, &[], at_ns, *capacity_per_s)?;
    declined
        .iter()
        .try_for_each(|of| writer.series(DECLINED, &[("reason", &of.reason)], at_ns, 1.0))
}

/// That the load is told from a stretch on, or why it is not.
fn changed(why: Option<Why>, at_ns: u64) -> Event {
    let text = match why {
        None => "the load of others is told".to_owned(),
        Some(why) => format!("the load of others is not told: {}", why.text()),
    };
    Event { at_ns, class: Class::Run, kind: "inferred".to_owned(), text }
}

impl Beside for Inferring<'_> {
    fn begins(&mut self, started_unix_ns: u64) {
        self.started_unix_ns = started_unix_ns;
    }

    fn wants_samples(&self) -> bool {
        true
    }

    fn samples(&mut self, samples: &[Sample]) {
        self.stretches.take(samples);
    }

    fn interval(&mut self, interval: &Interval, writer: &mut RunWriter) -> Result<(), SinkError> {
        let over = self.stretches.second(interval);
        self.keep(over, writer)
    }

    fn finish(
        &mut self,
        offered_ns: Option<u64>,
        writer: &mut RunWriter,
    ) -> Result<Vec<String>, SinkError> {
        let over = self.stretches.end(offered_ns.unwrap_or(0));
        self.keep(over, writer)?;
        Ok(self.warning().into_iter().collect())
    }
}

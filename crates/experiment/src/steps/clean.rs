//! Cleaning a list of URLs: each is asked for once, and a list of those that answered 200 is
//! written. What leads elsewhere, is gone, or fails is left out and counted, so that a load of the
//! list is one of right answers.

use plimsoll_load::Config;
use plimsoll_plan::{LoadShape, Plan, RequestSource};
use plimsoll_runs::{Event, Interval, Sample, Sink, SinkError};
use plimsoll_units::failure::FileError;
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::request::{Order, Requests, UrlListReader};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use super::fill::{Steering, pass_into};
use crate::control::Control;
use crate::error::ExperimentError;
use crate::prepare::Prepared;

/// How many URLs are asked for at once where the plan has no users.
const AT_ONCE: u32 = 16;
/// The answer of a URL that stays.
const RIGHT: u16 = 200;

/// What came of each URL of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Cleaned {
    /// URLs of the list.
    pub urls: u64,
    /// Those of them that stay.
    pub kept: u64,
    /// Answers by status.
    pub status: BTreeMap<u16, u64>,
    /// URLs without an answer, by the kind of failure.
    pub errors: BTreeMap<&'static str, u64>,
    /// How long it took, seconds.
    pub seconds: f64,
    /// Why it was given up before the last URL.
    pub gave_up: Option<String>,
    /// Whether it was ended by a wish. Nothing is written then.
    pub stopped: bool,
}

/// Asks for each URL of a plan's list once, and writes its lines to `out` but for those of URLs
/// that did not answer 200. Comments and a heading stay.
///
/// # Errors
/// A plan without a list, a target that cannot be reached, a file that cannot be read or written.
pub fn clean(
    plan: &Plan,
    prepared: &Prepared,
    out: &Path,
    control: &dyn Control,
) -> Result<Cleaned, ExperimentError> {
    let RequestSource::List(list) = &plan.target.asked else {
        let text = "clean a list of URLs: there is none; name one by --urls";
        return Err(ExperimentError::Conflict(text.to_owned()));
    };
    let commas = matches!(plan.target.order, Some(Order::Weighted(_)));
    let read = UrlListReader { base: plan.target.url.as_ref(), commas }.file(list)?;
    let config = config(&prepared.config, plan);
    let urls = config.requests.list.len();
    let mut answers = Answers { of: vec![None; urls] };
    let mut steering = Steering::new(control, urls as u64, config.timeout_ns, "answered");
    let limit = Some(urls as u64);
    let (seconds, stopped) =
        pass_into(&mut answers, &config, limit, Distribution::NONE, &mut steering)?;
    let gave_up = steering.gave_up.take();
    let stopped = stopped && gave_up.is_none();
    let cleaned = Cleaned { seconds, gave_up, stopped, ..answers.counted() };
    if !stopped && cleaned.gave_up.is_none() {
        let is_kept = |line: u64| match read.lines.binary_search(&line) {
            Ok(at) => answers.is_right(at),
            Err(_) => true,
        };
        write(list, out, is_kept)?;
    }
    Ok(cleaned)
}

/// The settings by which each URL is asked for once: a redirect is an answer.
fn config(of: &Config, plan: &Plan) -> Config {
    let requests = Requests { list: of.requests.list.clone(), order: Order::InOrder };
    let users = match &plan.load.shape {
        LoadShape::Closed { users, .. } => *users,
        LoadShape::Open { .. } | LoadShape::Replay => AT_ONCE,
    };
    Config {
        requests: Arc::new(requests),
        sequence: None,
        follow: 0,
        connections: (u32::from(!of.connection_per_request), users),
        streams_per_connection: 1,
        threads: 1,
        measured_from_ns: 0,
        samples: true,
        ..of.clone()
    }
}

/// What came of each URL, by its place in the list.
struct Answers {
    of: Vec<Option<Answer>>,
}

#[derive(Debug, Clone, Copy)]
enum Answer {
    Status(u16),
    Failed(&'static str),
}

impl Answers {
    fn is_right(&self, at: usize) -> bool {
        matches!(self.of.get(at), Some(Some(Answer::Status(RIGHT))))
    }

    fn counted(&self) -> Cleaned {
        let (mut status, mut errors) = (BTreeMap::new(), BTreeMap::new());
        for answer in &self.of {
            match answer {
                Some(Answer::Status(code)) => *status.entry(*code).or_default() += 1,
                Some(Answer::Failed(kind)) => *errors.entry(*kind).or_default() += 1,
                None => *errors.entry("not_asked").or_default() += 1,
            }
        }
        let kept = status.get(&RIGHT).copied().unwrap_or(0);
        let urls = self.of.len() as u64;
        Cleaned { urls, kept, status, errors, seconds: 0.0, gave_up: None, stopped: false }
    }
}

impl Sink for Answers {
    fn interval(&mut self, _: &Interval) -> Result<(), SinkError> {
        Ok(())
    }

    fn samples(&mut self, samples: &[Sample]) -> Result<(), SinkError> {
        for sample in samples.iter().filter(|sample| sample.sent_ns > 0 || sample.status > 0) {
            if let Some(answer) = self.of.get_mut(sample.request as usize) {
                let failed = sample.error.map_or("unanswered", |kind| kind.name());
                *answer = Some(match sample.status {
                    0 => Answer::Failed(failed),
                    code => Answer::Status(code),
                });
            }
        }
        Ok(())
    }

    fn event(&mut self, _: &Event) -> Result<(), SinkError> {
        Ok(())
    }
}

/// Copies the lines of a file that are kept; the new file is there whole or not at all.
fn write(list: &Path, out: &Path, is_kept: impl Fn(u64) -> bool) -> Result<(), ExperimentError> {
    let failed = FileError::of("read the URL list", list);
    let mut lines = BufReader::new(std::fs::File::open(list).map_err(&failed)?);
    let mut name = out.file_name().unwrap_or_default().to_owned();
    name.push(".tmp");
    let unfinished = out.with_file_name(name);
    let not_written = |source| ExperimentError::Artifact { path: out.to_owned(), source };
    let file = std::fs::File::create(&unfinished).map_err(not_written)?;
    let mut file = BufWriter::new(file);
    let (mut line, mut number) = (Vec::new(), 0);
    while lines.read_until(b'\n', &mut line).map_err(&failed)? > 0 {
        number += 1;
        if is_kept(number) {
            file.write_all(&line).map_err(not_written)?;
        }
        line.clear();
    }
    file.flush().and_then(|()| std::fs::rename(&unfinished, out)).map_err(not_written)
}

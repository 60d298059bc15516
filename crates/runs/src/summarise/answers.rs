//! The seconds of a run's measured phase, as clauses with a `for` judge them: by what ended in
//! each, whenever it had been due.

use std::collections::BTreeMap;
use std::ops::Range;

use plimsoll_stats::Histogram;
use plimsoll_stats::slo::{Answers, OwnPart, Slo, SloInputs, Times, Watched};

use super::{Log, Seconds};
use crate::database::{int, uint};
use crate::error::RunError;
use crate::hlog;
use crate::meta::Ended;
use crate::row;
use crate::run::Run;
use crate::validity;
use crate::{Counters, ErrorKind, Tag};

/// Seconds as a whole run is judged: with all of the generator's own part, and with what this
/// host's limits alone did.
#[derive(Default)]
pub(crate) struct Judged {
    pub(crate) own: Answers,
    pub(crate) local: Answers,
}

/// What a run is judged by, beside its seconds.
pub(crate) struct Setting<'a> {
    pub(crate) log: &'a Log,
    pub(crate) seconds: &'a Seconds,
    pub(crate) ended: Option<&'a Ended>,
    pub(crate) healthy: bool,
}

impl Setting<'_> {
    /// The quickest response and service time of those that succeeded.
    fn quickest(&self) -> [Option<u64>; 2] {
        let pairs = [(Tag::Response, Tag::FailedResponse), (Tag::Service, Tag::FailedService)];
        pairs.map(|(all, failed)| {
            let mut succeeded = self.log.measured(all).clone();
            succeeded.subtract(self.log.measured(failed));
            succeeded.min()
        })
    }
}

/// The times under the tags of a phase, or of a second.
pub(super) fn times<'a>(of: impl Fn(Tag) -> &'a Histogram) -> Times<'a> {
    Times {
        response: of(Tag::Response),
        failed_response: of(Tag::FailedResponse),
        service: of(Tag::Service),
        failed_service: of(Tag::FailedService),
        late: of(Tag::Late),
        punctual: of(Tag::Punctual),
    }
}

/// A second of the run.
struct Second {
    start_ns: u64,
    len_ns: u64,
    events: Counters,
}

/// What was recorded in a second, by tag.
type Recorded = [Histogram; Tag::ALL.len()];

/// Judges the whole seconds of the measured phase. Costs one more pass over the log, where an SLO
/// has such a clause.
pub(crate) fn judged(
    run: &Run,
    span: &Range<u64>,
    slo: Option<&Slo>,
    setting: &Setting<'_>,
) -> Result<Judged, RunError> {
    let mut judged = Judged { own: Answers::new(slo), local: Answers::new(slo) };
    if judged.own.is_empty() {
        return Ok(judged);
    }
    let mut left = seconds(run, span)?.into_iter().peekable();
    let quickest = setting.quickest();
    let (mut recorded, mut at_ns) = (Recorded::default(), span.start);
    let within = |line: &hlog::Line<'_>| span.contains(&line.start_ns) && tag(line).is_some();
    run.for_each_line(within, |line, histogram| {
        // All lines of a second stand together.
        if line.start_ns != at_ns {
            while let Some(second) = left.next_if(|second| second.start_ns < line.start_ns) {
                let found = if second.start_ns == at_ns { &recorded } else { &Recorded::default() };
                judged.second(&second, found, (setting, quickest));
            }
            (recorded, at_ns) = (Recorded::default(), line.start_ns);
        }
        if let Some(tag) = tag(line) {
            recorded[tag as usize].add(histogram);
        }
        Ok(())
    })?;
    for second in left {
        let found = if second.start_ns == at_ns { &recorded } else { &Recorded::default() };
        judged.second(&second, found, (setting, quickest));
    }
    Ok(judged)
}

/// The tag of a line of either phase.
fn tag(line: &hlog::Line<'_>) -> Option<Tag> {
    let name = line.tag.strip_prefix(hlog::WARM_UP).unwrap_or(line.tag);
    Tag::ALL.into_iter().find(|tag| tag.name() == name)
}

/// The whole seconds of the measured phase, in order.
fn seconds(run: &Run, span: &Range<u64>) -> Result<Vec<Second>, RunError> {
    let (start, end) = (int(span.start), int(span.end));
    let columns = run.counter_columns("interval")?;
    let sql = format!(
        "SELECT start_ns, len_ns, {columns} FROM interval
         WHERE start_ns >= ? AND start_ns + len_ns <= ? ORDER BY start_ns"
    );
    let mut all = BTreeMap::new();
    run.for_each_row(&sql, &[&start, &end], |row| {
        let read = || {
            let [start_ns, len_ns] = [row.get(0)?, row.get(1)?].map(uint);
            Ok(Second { start_ns, len_ns, events: row::counters(row, 2)? })
        };
        let second = read().map_err(run.unreadable())?;
        all.insert(second.start_ns, second);
        Ok(())
    })?;
    Ok(all.into_values().collect())
}

impl Judged {
    fn second(
        &mut self,
        second: &Second,
        recorded: &Recorded,
        (setting, quickest): (&Setting<'_>, [Option<u64>; 2]),
    ) {
        let Second { start_ns, len_ns, events } = second;
        let of = |tag: Tag| &recorded[tag as usize];
        let (none, watched, answers) = (Histogram::new(), Watched::default(), Answers::default());
        let duration_s = *len_ns as f64 / 1e9;
        let failed = row::failed(events) + events.errors_of(ErrorKind::Local);
        let inputs = SloInputs {
            offered: events.succeeded + failed,
            sent: events.sent,
            completed: events.completed,
            succeeded: events.succeeded,
            completed_rate_per_s: events.completed as f64 / duration_s.max(1e-9),
            response: of(Tag::Response),
            failed_response: of(Tag::FailedResponse),
            service: of(Tag::Service),
            failed_service: of(Tag::FailedService),
            up_s: 0,
            down_s: 0,
            watched: &watched,
            answers: &answers,
        };
        let (whole, nothing) = (times(of), times(|_| &none));
        let is_stalled = setting.seconds.is_stalled(*start_ns);
        let own = OwnPart {
            failures: validity::own_failures(events, setting.ended, setting.healthy),
            duration_s,
            times: whole,
            stalled: if is_stalled { whole } else { nothing },
            stalled_down_s: 0,
            quickest: Some(quickest),
        };
        let local = OwnPart {
            failures: events.errors_of(ErrorKind::Local),
            stalled: nothing,
            ..own.without_lateness(&none)
        };
        let at_ns = start_ns + len_ns;
        self.own.second(at_ns, &inputs, &own);
        self.local.second(at_ns, &inputs, &local);
    }
}

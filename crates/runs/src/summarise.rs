//! How a summary comes about: one way, from `run.sqlite` and `latency.hlog`, whether the run was
//! finished, interrupted or killed.
//!
//! - Counts are of the measured phase, by the phase in which requests were **due** (table `total`).
//! - Percentiles are of that phase's lines of the log; extremes, mean and deviation are exact, as
//!   the log keeps them beside the bucket counts.
//! - `rate_mean` is the rate at which answers came ([`crate::answered`]); the SLO's `rate` is the
//!   same figure. A single request has none.
//! - Busy share, turn time and timer lateness are over the seconds that *start* in the measured
//!   schedule, availability over those of which half lies in it: in the drain nothing is offered.
//!   Availability counts by event, and not what only the end of the run cut off.
//! - Connections are of the whole run: those of the warm-up stay in use.
//! - In a run that was killed or failed, what was unsent or unanswered in its last second counts as
//!   `cut` and `in_flight_at_end`, so that the sums hold as in every other run.
//! - The generator's reasons for invalidity and the blame: [`crate::validity`]. The verdicts on the
//!   SLO, which a clause has wherever it does not hang on the generator: [`crate::verdicts`].

mod answers;
mod ending;
mod fruitless;
mod rate;
mod verdicts;

use ending::{ended_of, told_at_the_end};
use rate::rate;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use verdicts::Judged;

use plimsoll_stats::Histogram;
use plimsoll_stats::availability::{Availability, Second, State};
use plimsoll_stats::figure;
use plimsoll_stats::percentiles::Percentiles;
use plimsoll_stats::slo::{Slo, Watched};
use plimsoll_units::show_count;

use crate::by_name;
use crate::database::{int, uint};
use crate::error::RunError;
use crate::hlog;
use crate::meta::Ended;
use crate::row::{self, Scale};
use crate::run::Run;
use crate::summary::{
    Bytes, Connections, GOES_ON, Generator, Host, RunIdentity, SCHEMA, Spread, Summary, WarmUp,
    seconds,
};
use crate::summary_file;
use crate::users::UserCounts;
use crate::validity::{self, BUSY_SHARE, DENIED_SHARE, Health};
use crate::watched::watched;
use crate::websocket::WebSocketFigures;
use crate::{Counters, ErrorKind, LoadMeta, Phase, Tag};
use plimsoll_units::civil::iso8601;

const SPINS_IN_REAL_TIME: &str = "the generator spins with real-time priority: the kernel's own \
                                  threads wait for it, and it may be stopped for 50 ms of each \
                                  second (sched_rt_runtime_us); take an ordinary priority, or \
                                  --pacing thrifty";

/// Makes the summary of a run as it now lies there. Costs one pass over the log and one over the
/// intervals; memory does not grow with the run.
///
/// # Errors
/// Where the run cannot be read.
pub fn summarise(run: &Run) -> Result<Summary, RunError> {
    let (load, ended, _moment) = (run.load()?, ended_of(run), run.as_of_one_moment()?);
    let (span, books, labels) = (run.measured()?, run.name_books()?, run.label_books()?);
    let seconds_of = Seconds::read(run, &span)?;
    let log = Log::read(run, &span, &seconds_of.stalled)?;
    let (counters, mut warnings) = counted(run, &log, &seconds_of, &span)?;
    let mut invalid_because = complaints(&log, &seconds_of);
    let (healthy, duration_s) = (invalid_because.is_empty(), seconds(span.end - span.start));
    let rate = rate(run, &span, log.measured(Tag::Response), &counters)?;
    let (slo, watched) = slo_of(run, &span, &mut warnings)?;
    let setting = answers::Setting { log: &log, seconds: &seconds_of, ended, healthy };
    let answers = answers::judged(run, &span, slo.as_ref(), &setting)?;
    let judged = Judged {
        counters: &counters,
        rate,
        duration_s,
        log: &log,
        seconds: &seconds_of,
        own_failures: validity::own_failures(&counters, ended, healthy),
        watched,
        answers,
        names: &load.names,
        books: &books,
        labels: &labels,
        ended,
        healthy,
    };
    let (slo, decided_by_host) = judged.by(slo.as_ref());
    invalid_because.extend(validity::lacking(&counters, &decided_by_host));
    invalid_because.extend(told_at_the_end(run));
    Ok(Summary {
        schema: SCHEMA,
        warnings,
        run: identity(run, invalid_because),
        workload: load.workload.clone(),
        duration_s,
        warmup_s: seconds(span.start),
        drain_s: drain_s(run, &span)?,
        offered: counters.offered,
        sent: counters.sent,
        completed: counters.completed,
        succeeded: counters.succeeded,
        redirects: counters.redirects,
        in_flight_at_end: counters.errors_of(ErrorKind::InFlightAtEnd),
        rate_mean: rate.map(|rate| rate.per_s),
        drained: rate.map_or(0, |rate| rate.drained),
        status: counters.status.iter().map(|(code, n)| (code.to_string(), *n)).collect(),
        errors: errors(&counters),
        reasons: run.reasons(Phase::Measured)?,
        blame: validity::blame(&counters, ended, healthy),
        bytes: Bytes { received: counters.bytes_in, sent: counters.bytes_out },
        connections: seconds_of.connections,
        response_us: log.percentiles(Tag::Response),
        succeeded_us: Percentiles::of(&log.succeeded()),
        service_us: log.percentiles(Tag::Service),
        ttfb_us: log.percentiles(Tag::Ttfb),
        connect_us: log.percentiles(Tag::Connect),
        connection_wait_us: log.percentiles(Tag::ConnectionWait),
        availability: seconds_of.availability,
        generator: generator(run, load, &log, &seconds_of),
        host: host(run, &log, &span)?,
        slowest_traces: run.slowest_told()?,
        slo: if run.goes_on() { verdicts::so_far(slo) } else { slo },
        by_name: by_name::of_run(&load.names, &books),
        by_label: labels.figures(&load.names),
        users: run.users()?,
        websocket: websocket(run)?,
        warm_up: warm_up(run, &log)?,
    })
}

/// What came of WebSockets, where there were any.
fn websocket(run: &Run) -> Result<Option<WebSocketFigures>, RunError> {
    Ok(run.websocket()?.as_ref().map(WebSocketFigures::of))
}

/// The figures of users and WebSockets, for clauses on them.
fn counted_of(run: &Run) -> Result<Vec<(String, f64)>, RunError> {
    let (users, sockets) = (run.users()?, websocket(run)?);
    let figures = figure::ALL.iter().filter_map(|of| {
        let value = users.as_ref().and_then(|users| users.value(of));
        let value = value.or_else(|| sockets.as_ref().and_then(|sockets| sockets.value(of)));
        Some((of.name.to_owned(), value?))
    });
    Ok(figures.collect())
}

/// What was counted in the measured phase, and what a reader is warned of by it.
fn counted(
    run: &Run,
    log: &Log,
    seconds_of: &Seconds,
    span: &Range<u64>,
) -> Result<(Counters, Vec<String>), RunError> {
    let mut counters = run.total(Phase::Measured)?;
    let mut warnings = warnings(run, log, span)?;
    let causes: Vec<String> = run.refusals()?.into_iter().map(|cause| cause.text).collect();
    warnings.extend(refused(&seconds_of.connections, &causes));
    match run.goes_on() {
        true => leave_out_under_way(&mut counters),
        false => settle(&mut counters, run.end().map(|end| &end.ended), &mut warnings),
    }
    // Nothing is more worth knowing of a run: it comes first.
    warnings.splice(..0, fruitless::note(&counters));
    Ok((counters, warnings))
}

/// Why the generator was the limit of a run, if it was.
fn complaints(log: &Log, seconds_of: &Seconds) -> Vec<String> {
    let response = log.measured(Tag::Response);
    let lateness = log.measured(Tag::Lateness);
    let Seconds { busy_behind_s, denied_behind_s, .. } = *seconds_of;
    Health { lateness, response, busy_behind_s, denied_behind_s }.complaints()
}

/// The run's SLO, with what was watched where it looks at that. None where it cannot be read, which
/// is a warning.
fn slo_of(
    run: &Run,
    span: &Range<u64>,
    warnings: &mut Vec<String>,
) -> Result<(Option<Slo>, Watched), RunError> {
    let failed = |error| warnings.push(format!("the run's SLO cannot be evaluated: {error}"));
    let slo = run.meta().slo.as_deref().map(Slo::parse).and_then(|slo| slo.map_err(failed).ok());
    let mut watched = match slo.as_ref().filter(|slo| slo.is_of_watched()) {
        Some(slo) => watched(run, span, Some(slo))?,
        None => Watched::default(),
    };
    if slo.as_ref().is_some_and(Slo::is_of_counts) {
        watched.count(counted_of(run)?);
    }
    Ok((slo, watched))
}

/// The log's histograms, added up.
pub(crate) struct Log {
    measured: [Histogram; Tag::ALL.len()],
    /// The part of `measured` that was recorded in seconds in which threads stood still.
    stalled: [Histogram; Tag::ALL.len()],
    warm_up_response: Histogram,
    turn: Histogram,
    timer_late: Histogram,
}

impl Log {
    fn read(run: &Run, span: &Range<u64>, stalled: &BTreeSet<u64>) -> Result<Self, RunError> {
        let mut log = Self {
            measured: Default::default(),
            stalled: Default::default(),
            warm_up_response: Histogram::new(),
            turn: Histogram::new(),
            timer_late: Histogram::new(),
        };
        // What is left of the log of a run that has ended is no distribution of it.
        if run.end().is_some() && run.hlog_len() < run.hlog_bytes()? {
            return Ok(log);
        }
        let within = |line: &hlog::Line<'_>| span.contains(&line.start_ns);
        run.for_each_line(
            |line| match line.tag {
                hlog::TURN | hlog::TIMER_LATE => within(line),
                _ => true,
            },
            |line, histogram| {
                if stalled.contains(&line.start_ns)
                    && let Some(tag) = Tag::ALL.into_iter().find(|tag| tag.name() == line.tag)
                {
                    log.stalled[tag as usize].add(histogram);
                }
                if let Some(sum) = log.sum_of(line.tag) {
                    sum.add(histogram);
                }
                Ok(())
            },
        )?;
        Ok(log)
    }

    fn sum_of(&mut self, tag: &str) -> Option<&mut Histogram> {
        match tag {
            hlog::TURN => Some(&mut self.turn),
            hlog::TIMER_LATE => Some(&mut self.timer_late),
            _ => match tag.strip_prefix(hlog::WARM_UP) {
                Some(tag) => (tag == Tag::Response.name()).then_some(&mut self.warm_up_response),
                None => {
                    let known = Tag::ALL.into_iter().find(|known| known.name() == tag)?;
                    Some(&mut self.measured[known as usize])
                }
            },
        }
    }

    /// What was recorded under a tag for the measured phase.
    pub(crate) fn measured(&self, tag: Tag) -> &Histogram {
        &self.measured[tag as usize]
    }

    fn percentiles(&self, tag: Tag) -> Percentiles {
        Percentiles::of(self.measured(tag))
    }

    /// The response times of what succeeded in the measured phase.
    fn succeeded(&self) -> Histogram {
        let mut succeeded = self.measured(Tag::Response).clone();
        succeeded.subtract(self.measured(Tag::FailedResponse));
        succeeded
    }

    /// What of it was recorded in seconds in which the generator's threads stood still.
    pub(crate) fn stalled(&self, tag: Tag) -> &Histogram {
        &self.stalled[tag as usize]
    }
}

/// What the table `interval` gives.
pub(crate) struct Seconds {
    pub(crate) availability: Availability,
    busy_behind_s: u64,
    denied_behind_s: u64,
    /// Starts of the seconds in which the generator's threads stood still: busy or denied beyond
    /// what rules 3 and 4 allow, while behind schedule.
    stalled: BTreeSet<u64>,
    /// How many of them were down.
    pub(crate) stalled_down_s: u64,
    busy_share: f64,
    cpu_ns: u64,
    connections: Connections,
}

impl Seconds {
    /// Whether the generator's threads stood still in the second that started then.
    pub(crate) fn is_stalled(&self, start_ns: u64) -> bool {
        self.stalled.contains(&start_ns)
    }

    /// Whether they stood still in any second.
    pub(crate) fn has_stalled(&self) -> bool {
        !self.stalled.is_empty()
    }

    fn read(run: &Run, span: &Range<u64>) -> Result<Self, RunError> {
        let (start, end) = (int(span.start), int(span.end));
        let connections = run.query(
            "SELECT coalesce(sum(opened), 0), coalesce(max(connections), 0),
                    coalesce(sum(stale), 0), coalesce(sum(connect_failed), 0) FROM interval",
            &[],
            |row| {
                let [opened, peak, stale, failed] =
                    [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?].map(uint);
                let tls = run.end().and_then(|end| end.tls);
                Ok(Connections { opened, peak, stale, failed, tls })
            },
        )?;
        let busy_share = run.query(
            "SELECT coalesce(CAST(sum(busy_ns) AS REAL) / nullif(sum(thread_ns), 0), 0.0)
             FROM interval WHERE start_ns >= ? AND start_ns < ?",
            &[&start, &end],
            |row| row.get(0),
        )?;
        let busy_behind_s = run.query(
            "SELECT count(*) FROM interval WHERE start_ns >= ? AND behind
             AND busy_ns > ? * thread_ns",
            &[&start, &BUSY_SHARE],
            |row| row.get(0).map(uint),
        )?;
        let denied_behind_s = run.query(
            "SELECT count(*) FROM interval WHERE start_ns >= ? AND behind
             AND denied_ns > ? * thread_ns",
            &[&start, &DENIED_SHARE],
            |row| row.get(0).map(uint),
        )?;
        let cpu_ns = run.query("SELECT coalesce(sum(cpu_ns), 0) FROM interval", &[], |row| {
            row.get(0).map(uint)
        })?;
        let mut stalled = BTreeSet::new();
        let sql = "SELECT start_ns FROM interval WHERE start_ns >= ? AND behind
                   AND (busy_ns > ? * thread_ns OR denied_ns > ? * thread_ns)";
        run.for_each_row(sql, &[&start, &BUSY_SHARE, &DENIED_SHARE], |row| {
            stalled.insert(row.get(0).map(uint).map_err(run.unreadable())?);
            Ok(())
        })?;
        let (availability, stalled_down_s) = availability(run, span, &stalled)?;
        Ok(Self {
            availability,
            busy_behind_s,
            denied_behind_s,
            stalled,
            stalled_down_s,
            busy_share,
            cpu_ns,
            connections,
        })
    }
}

/// The availability, and how many of the seconds down were stalled ones.
fn availability(
    run: &Run,
    span: &Range<u64>,
    stalled: &BTreeSet<u64>,
) -> Result<(Availability, u64), RunError> {
    let scale = Scale { measured: span.clone(), patience_ns: run.load()?.patience_ns };
    let (mut up_s, mut down_s, mut stalled_down_s) = (0, 0, 0);
    let columns = run.counter_columns("interval")?;
    let sql = format!("SELECT start_ns, len_ns, oldest_outstanding_ns, {columns} FROM interval");
    run.for_each_row(&sql, &[], |row| {
        let read = || {
            let [start_ns, len_ns, oldest_outstanding_ns] =
                [row.get(0)?, row.get(1)?, row.get(2)?].map(uint);
            let events = row::counters(row, 3)?;
            let (succeeded, failed) = (events.succeeded, row::failed(&events));
            let second = Second { succeeded, failed, oldest_outstanding_ns, len_ns };
            Ok((start_ns, scale.state(start_ns, second)))
        };
        match read().map_err(run.unreadable())? {
            (_, State::Up) => up_s += 1,
            (start_ns, State::Down) => {
                down_s += 1;
                stalled_down_s += u64::from(stalled.contains(&start_ns));
            }
            (_, State::NotCounted) => {}
        }
        Ok(())
    })?;
    Ok((Availability::new(up_s, down_s), stalled_down_s))
}

/// Makes the sums hold: those of a run that was killed or failed by counting what it left behind;
/// every other one's hold by themselves, or it is said that they do not.
fn settle(counters: &mut Counters, ended: Option<&Ended>, warnings: &mut Vec<String>) {
    let (unsent, unanswered) = validity::unaccounted(counters);
    if matches!(ended, None | Some(Ended::Failed(_))) {
        for (kind, missing) in [(ErrorKind::Cut, unsent), (ErrorKind::InFlightAtEnd, unanswered)] {
            counters.errors[kind as usize] += u64::try_from(missing).unwrap_or(0);
        }
    } else if (unsent, unanswered) != (0, 0) {
        warnings.push(format!(
            "the counts do not add up: {unsent} requests due and {unanswered} requests sent are \
             not accounted for; this is a fault of this program"
        ));
    }
}

/// Makes the sums of a run that goes on hold: what is still under way, of which nobody knows yet
/// how it ends, is left out.
fn leave_out_under_way(counters: &mut Counters) {
    let (unsent, unanswered) = validity::unaccounted(counters);
    let [unsent, unanswered] = [unsent, unanswered].map(|n| u64::try_from(n).unwrap_or(0));
    counters.offered = counters.offered.saturating_sub(unsent + unanswered);
    counters.sent = counters.sent.saturating_sub(unanswered);
}

fn warnings(run: &Run, log: &Log, span: &Range<u64>) -> Result<Vec<String>, RunError> {
    let mut warnings = Vec::new();
    match run.end() {
        None if run.goes_on() => {}
        None => {
            let text = "the run did not end by itself: these are the seconds it had written";
            warnings.push(text.to_owned());
            let (books, covered) = (run.books_ns()?, run.covered_ns()?);
            warnings.extend(books.filter(|books| *books < covered).map(|books| {
                let first = plimsoll_units::show_duration(books);
                format!("figures by name, of users and WebSockets are of the first {first} of it")
            }));
        }
        Some(end) => {
            let reason = end.ended.reason();
            if !reason.is_empty() {
                warnings.push(format!("{}: {reason}", end.ended.name()));
            }
            warnings.extend(end.warnings.iter().cloned());
        }
    }
    warnings.extend(run.opening_warning().map(str::to_owned));
    warnings.extend(run.load()?.names.note());
    warnings.extend(run.label_books()?.notes());
    warnings.extend(run.users()?.iter().flat_map(UserCounts::notes));
    warnings.extend(websocket(run)?.into_iter().flat_map(|of| of.notes()));
    let (wanted, found) = (run.hlog_bytes()?, run.hlog_len());
    if found < wanted {
        warnings.push(format!(
            "{} has {found} bytes of the {wanted} that were written: {}",
            hlog::FILE,
            match run.end() {
                Some(_) => "no percentile is told of the run",
                None => "percentiles are over fewer requests than the counts",
            }
        ));
    }
    warnings.extend(host(run, log, span)?.noise());
    let real_time = run.meta().host.iter().any(|(name, _)| name == "real_time_priority");
    if real_time && run.load()?.pacing == "precise" {
        warnings.push(SPINS_IN_REAL_TIME.to_owned());
    }
    Ok(warnings)
}

/// How the generator's host fared.
fn host(run: &Run, log: &Log, span: &Range<u64>) -> Result<Host, RunError> {
    let timer_late_us = Spread::of(&log.timer_late);
    Ok(Host { steal_share: steal(run, span)?, timer_late_us })
}

/// What is to be said of attempts to connect that failed, with their causes.
#[must_use]
pub fn refused(connections: &Connections, causes: &[String]) -> Option<String> {
    if connections.failed == 0 {
        return None;
    }
    let tried = show_count(connections.failed + connections.opened);
    let (failed, peak) = (show_count(connections.failed), show_count(connections.peak));
    let causes = if causes.is_empty() { String::new() } else { format!(": {}", causes.join("; ")) };
    Some(format!(
        "{failed} of {tried} attempts to connect failed, and at most {peak} connections were open \
         at once{causes}"
    ))
}

fn steal(run: &Run, span: &Range<u64>) -> Result<Option<f64>, RunError> {
    let (start, end) = (int(span.start), int(span.end));
    let sql = "SELECT avg(steal_share) FROM host WHERE at_ns > ? AND at_ns <= ?";
    run.query(sql, &[&start, &end], |row| row.get(0))
}

fn drain_s(run: &Run, span: &Range<u64>) -> Result<f64, RunError> {
    Ok(seconds(match run.end() {
        Some(end) => end.drain_ns,
        None => run.covered_ns()?.saturating_sub(span.end),
    }))
}

fn identity(run: &Run, invalid_because: Vec<String>) -> RunIdentity {
    let meta = run.meta();
    RunIdentity {
        id: meta.id.clone(),
        name: meta.name.clone(),
        started: iso8601(meta.started_unix_ns),
        version: meta.version.clone(),
        tags: meta.tags.clone(),
        seed: meta.seed,
        plan_sha256: meta.plan_sha256.clone(),
        inputs_sha256: meta.inputs_sha256.clone(),
        valid: invalid_because.is_empty(),
        invalid_because,
        ended: match run.end() {
            Some(end) => end.ended.name(),
            None if run.goes_on() => GOES_ON,
            None => "incomplete",
        }
        .to_owned(),
    }
}

fn errors(counters: &Counters) -> BTreeMap<String, u64> {
    ErrorKind::ALL
        .into_iter()
        .map(|kind| (kind.name().to_owned(), counters.errors_of(kind)))
        .filter(|(_, n)| *n > 0)
        .collect()
}

fn generator(run: &Run, load: &LoadMeta, log: &Log, seconds_of: &Seconds) -> Generator {
    let end = run.end();
    Generator {
        threads: load.threads,
        pacing: load.pacing.clone(),
        cpu_s: seconds(end.map_or(seconds_of.cpu_ns, |end| end.cpu_ns)),
        busy_share: seconds_of.busy_share,
        max_rss_bytes: end.and_then(|end| end.max_rss_bytes),
        max_rate: end.and_then(|end| end.max_rate_per_s),
        lateness_us: Spread::of(log.measured(Tag::Lateness)),
        turn_us: Spread::of(&log.turn),
    }
}

fn warm_up(run: &Run, log: &Log) -> Result<Option<WarmUp>, RunError> {
    if run.meta().warmup_ns == 0 {
        return Ok(None);
    }
    let counters = run.total(Phase::WarmUp)?;
    Ok(Some(WarmUp {
        offered: counters.offered,
        sent: counters.sent,
        completed: counters.completed,
        succeeded: counters.succeeded,
        response_us: Percentiles::of(&log.warm_up_response),
    }))
}

impl Run {
    /// The summary: that of `summary.json` where it belongs to this run and the run has ended,
    /// else made anew, and written there where that is possible.
    ///
    /// # Errors
    /// Where the run cannot be read, or has no load.
    pub fn summary(&self) -> Result<Summary, RunError> {
        if let Some(end) = self.end()
            && let Some(kept) = summary_file::read(self.path())
            && kept.run.id == self.meta().id
            && kept.run.ended == end.ended.name()
        {
            return Ok(kept);
        }
        let summary = summarise(self)?;
        if self.goes_on() {
            return Ok(summary);
        }
        // In a read-only place the summary is none the worse for not being kept.
        let kept = summary_file::write(self.path(), &summary).is_ok();
        // The run may have ended meanwhile, and ours have come to lie over its last summary. Its
        // writer states the end before it writes that, so what we see now settles it.
        if kept
            && !self.is_complete()
            && let Ok(now) = Self::open(self.path())
            && now.is_complete()
        {
            let _ = now.write_summary();
        }
        Ok(summary)
    }

    /// Makes the summary anew and keeps it in `summary.json`.
    pub(crate) fn write_summary(&self) -> Result<(), RunError> {
        summary_file::write(self.path(), &summarise(self)?)
    }
}

//! The books of a run: what has to add up, whatever has happened.
//!
//! - offered = sent + connect + local + dns + tls + client_saturated + cut, and
//!   sent = completed + timeout + reset + protocol + in_flight_at_end, by phase and in all;
//! - every interval's events and phases sum to the same, and up to each interval's end offered less
//!   what has ended is what waits and what is on its way;
//! - where there are samples, each interval's events are those whose own time lies in it; what a
//!   session is told too late to be due counts when it is told;
//! - every counter and histogram is that of the samples;
//! - every failure has a cause in words, and none has two.

use plimsoll_load::Config;
use plimsoll_runs::names::{NO_NAME, OTHER};
use plimsoll_runs::reasons::{MAX_TEXT, PER_KIND};
use plimsoll_runs::{
    Counters, ErrorKind, Interval, NameBooks, NamedEvent, Phase, PhaseSlice, Sample, Tag,
};
use plimsoll_stats::Histogram;
use std::collections::BTreeMap;

/// Checks all of it.
pub(crate) fn balance(intervals: &[Interval], samples: &[Sample], config: &Config) {
    contiguous(intervals);
    let mut events = Counters::default();
    let mut phases = [PhaseSlice::default(), PhaseSlice::default()];
    for interval in intervals {
        events.add(&interval.events);
        for (sum, phase) in phases.iter_mut().zip(&interval.phases) {
            sum.add(phase);
        }
    }
    let mut all = Counters::default();
    for phase in &phases {
        identities(&phase.counters);
        explained(phase);
        all.add(&phase.counters);
    }
    identities(&events);
    in_step(intervals);
    assert_eq!(comparable(&all), comparable(&events), "phases and events sum to the same");
    if config.samples {
        for phase in Phase::ALL {
            let of_phase: Vec<Sample> =
                samples.iter().filter(|sample| sample.phase == phase).copied().collect();
            agree(&phases[phase as usize], &of_phase);
        }
        samples.iter().for_each(|sample| possible(sample, config));
        by_name(intervals, samples);
        in_their_intervals(intervals, samples);
    }
}

/// The books of names are those of the samples, of the measured phase.
fn by_name(intervals: &[Interval], samples: &[Sample]) {
    let (mut books, mut found) = (NameBooks::default(), NameBooks::default());
    intervals.iter().for_each(|interval| books.add(&interval.named));
    let measured = |of: &&Sample| of.name != NO_NAME && of.phase == Phase::Measured;
    for sample in samples.iter().filter(measured) {
        let is_sent = sample.sent_ns > 0;
        found.add(&[NamedEvent {
            part: plimsoll_runs::NamedPart::Whole,
            name: sample.name,
            code: (sample.status > 0).then_some(sample.status),
            error: sample.error,
            is_sent,
            response_ns: sample.done_ns - sample.due_ns,
            service_ns: if is_sent { sample.done_ns - sample.sent_ns } else { 0 },
            late_ns: 0,
            bytes: sample.bytes,
        }]);
    }
    for name in 0..=OTHER {
        let both = (books.get(name), found.get(name));
        let (Some(book), Some(other)) = both else {
            assert!(both.0.is_none() && both.1.is_none(), "name {name} is in one of them only");
            continue;
        };
        assert_eq!(comparable(&book.counters), comparable(&other.counters), "name {name}");
        for tag in [Tag::Response, Tag::Service, Tag::FailedResponse, Tag::FailedService] {
            let (one, other) = (book.times(tag).unwrap(), other.times(tag).unwrap());
            assert_eq!(one.exact(), other.exact(), "{tag:?} of name {name}");
        }
    }
}

fn contiguous(intervals: &[Interval]) {
    let mut end = 0;
    for interval in intervals {
        assert_eq!(interval.start_ns, end, "intervals follow one another");
        assert!(interval.len_ns > 0, "an interval has a length");
        end += interval.len_ns;
    }
    if let Some(last) = intervals.last() {
        assert_eq!((last.in_flight, last.waiting), (0, 0), "nothing is left at the end");
    }
}

/// What waits and what is on its way at each interval's end is what has not ended by then.
fn in_step(intervals: &[Interval]) {
    let mut so_far = Counters::default();
    for interval in intervals {
        so_far.add(&interval.events);
        let unsent = so_far.errors_of_all(&ErrorKind::NEVER_SENT);
        let unanswered = so_far.errors_of_all(&ErrorKind::UNANSWERED);
        let waiting = so_far.offered - so_far.sent - unsent;
        let in_flight = so_far.sent - so_far.completed - unanswered;
        let found = (interval.waiting, interval.in_flight);
        assert_eq!(found, (waiting, in_flight), "at {} ns", interval.start_ns + interval.len_ns);
    }
}

/// Each event is counted in the interval of its own time: due, sent, ended.
fn in_their_intervals(intervals: &[Interval], samples: &[Sample]) {
    let mut offered = vec![0_u64; intervals.len()];
    let (mut sent, mut ended) = (offered.clone(), offered.clone());
    let at = |ns: u64| intervals.partition_point(|one| one.start_ns + one.len_ns <= ns);
    for sample in samples {
        offered[at(sample.due_ns)] += 1;
        ended[at(sample.done_ns)] += 1;
        if was_sent(sample) {
            sent[at(sample.sent_ns)] += 1;
        }
    }
    let (mut noticed, mut due) = (0, 0);
    for (index, interval) in intervals.iter().enumerate() {
        let events = &interval.events;
        (noticed, due) = (noticed + events.offered, due + offered[index]);
        let failed = events.errors.iter().sum::<u64>();
        assert!(noticed <= due, "counted before it was due, in interval {index}");
        // A sample tells when its request was sent last.
        if intervals.iter().all(|interval| interval.stale == 0) {
            assert_eq!(events.sent, sent[index], "sent in interval {index}");
        }
        assert_eq!(events.succeeded + failed, ended[index], "ended in interval {index}");
    }
}

fn identities(counters: &Counters) {
    let sum = |kinds: &[ErrorKind]| kinds.iter().map(|&kind| counters.errors_of(kind)).sum::<u64>();
    use ErrorKind::{Check, Status};
    let never_sent = sum(&ErrorKind::NEVER_SENT);
    assert_eq!(counters.offered, counters.sent + never_sent, "{counters:?}");
    let unanswered = sum(&ErrorKind::UNANSWERED);
    assert_eq!(counters.sent, counters.completed + unanswered, "{counters:?}");
    assert_eq!(counters.completed, counters.succeeded + sum(&[Status, Check]), "{counters:?}");
    let codes: u64 = counters.status.iter().map(|(_, n)| n).sum();
    assert_eq!(counters.completed, codes, "{counters:?}");
    let local = counters.local.iter().sum::<u64>();
    assert_eq!(counters.errors_of(ErrorKind::Local), local, "{counters:?}");
}

/// Whether the causes of each kind are as many as its failures: where there were few, all of them.
fn explained(phase: &PhaseSlice) {
    use ErrorKind::{Connect, Protocol, Reset, Status, Timeout, Tls};
    let causes = phase.reasons.first();
    for kind in ErrorKind::ALL {
        let of_kind: Vec<_> = causes.iter().filter(|cause| cause.kind == kind).collect();
        let told: u64 = of_kind.iter().map(|cause| cause.count).sum();
        let failed = phase.counters.errors_of(kind);
        let must = matches!(kind, Connect | Tls | Timeout | Reset | Protocol | Status);
        let is_whole = of_kind.len() < PER_KIND && must;
        assert!(told == failed || (!is_whole && told < failed), "{kind:?}: {failed}, {causes:?}");
        for cause in of_kind {
            let len = cause.text.chars().count();
            assert!((1..=MAX_TEXT).contains(&len) && !cause.text.contains(char::is_control));
        }
    }
}

fn comparable(counters: &Counters) -> (Counters, BTreeMap<u16, u64>) {
    let mut counters = counters.clone();
    let status = std::mem::take(&mut counters.status).into_iter().collect();
    (counters, status)
}

/// Whether counters and histograms are what the samples say.
fn agree(phase: &PhaseSlice, samples: &[Sample]) {
    let mut told = Counters::default();
    let mut histograms: [Histogram; Tag::ALL.len()] = Default::default();
    for sample in samples {
        told.offered += 1;
        told.sent += u64::from(was_sent(sample));
        if sample.status > 0 {
            told.completed += 1;
            told.status(sample.status);
            told.bytes_in += sample.bytes;
            histograms[Tag::Ttfb as usize].record(sample.first_byte_ns - sample.sent_ns);
        }
        match sample.error {
            None => told.succeeded += 1,
            Some(kind) => told.error(kind),
        }
        if sample.status > 0 || sample.error == Some(ErrorKind::Timeout) {
            let (response, service) =
                (sample.done_ns - sample.due_ns, sample.done_ns - sample.sent_ns);
            histograms[Tag::Response as usize].record(response);
            histograms[Tag::Service as usize].record(service);
            if sample.error.is_some() {
                histograms[Tag::FailedResponse as usize].record(response);
                histograms[Tag::FailedService as usize].record(service);
            }
        }
    }
    told.bytes_out = phase.counters.bytes_out;
    assert_eq!(comparable(&phase.counters), comparable(&told), "counters and samples agree");
    for tag in [Tag::Response, Tag::Service, Tag::Ttfb, Tag::FailedResponse, Tag::FailedService] {
        let buckets = |histogram: &Histogram| histogram.buckets().collect::<Vec<_>>();
        let counted = buckets(phase.histogram(tag));
        assert_eq!(counted, buckets(&histograms[tag as usize]), "{}", tag.name());
    }
    for tag in [Tag::Lateness, Tag::ConnectionWait] {
        assert_eq!(phase.histogram(tag).count(), told.sent, "{}", tag.name());
    }
}

/// Whether a request was ever sent.
pub(crate) fn was_sent(sample: &Sample) -> bool {
    !sample.error.is_some_and(|kind| ErrorKind::NEVER_SENT.contains(&kind))
}

/// Whether a request's times and outcome can be: due ≤ sent ≤ first byte ≤ done.
fn possible(sample: &Sample, config: &Config) {
    let due = sample.due_ns;
    let measured = due >= config.measured_from_ns;
    assert_eq!(sample.phase == Phase::Measured, measured, "{sample:?}");
    assert!(due <= sample.done_ns, "{sample:?}");
    if was_sent(sample) {
        assert!(due <= sample.sent_ns && sample.sent_ns <= sample.done_ns, "{sample:?}");
    } else {
        let zeros = (sample.sent_ns, sample.first_byte_ns, sample.status, sample.bytes);
        assert_eq!(zeros, (0, 0, 0, 0), "{sample:?}");
    }
    if sample.status > 0 || sample.first_byte_ns > 0 {
        let first = sample.first_byte_ns;
        assert!(sample.sent_ns <= first && first <= sample.done_ns, "{sample:?}");
    }
    let answered = matches!(sample.error, None | Some(ErrorKind::Status | ErrorKind::Check));
    assert_eq!(sample.status > 0, answered, "{sample:?}");
}

//! Whether a run's figures are the system's or the generator's, and who is answerable for what
//! failed.
//!
//! # When a run is not valid
//!
//! Any one of these, over the requests due in the measured phase (docs/counting.md):
//!
//! 1. lateness p99 > max(1 ms, 10% of response p99), from 1,000 requests on;
//! 2. lateness p50 > max(0.1 ms, 10% of response p50), from 20 requests on;
//! 3. busy share > 95% in three seconds, from the start of the measured schedule on, at whose ends
//!    the generator was behind;
//! 4. denied its cores for more than half of its thread time in three such seconds: what it could
//!    not do then, it cannot blame on the target. Answers lie unread meanwhile, so that neither
//!    lateness nor busy share shows it.
//!
//! 5. more than 0.1% of what was offered failed as `local`: this host let no connection be opened.
//!
//! Lateness is what a request was late by our own doing; waiting for the target's connections is
//! none. CPU is never the criterion: spinning makes it 1. Of fewer requests, one that was late
//! would decide; what it means for an objective is found by judging that twice
//! ([`crate::verdicts`]). Where there is no answer that lateness could be held against, it alone
//! says nothing, and rules 1 and 2 are not broken; no more is rule 5 where nothing was offered.
//!
//! # Blame
//!
//! | kind | answerable |
//! | --- | --- |
//! | `connect`, `tls`, `timeout`, `reset`, `protocol`, `status`, `check`, `redirect`, `take` | target |
//! | `dns` | environment |
//! | `variable` | environment: what a user was to send was not there |
//! | `local` | generator; environment where this host forbids the connection (`EACCES`, `EPERM`) |
//! | `client_saturated` | target while the generator is healthy (none of rules 1 to 4 is broken), else generator |
//! | `in_flight_at_end` | after a whole run: target; else as `cut` |
//! | `cut` | after a whole run: as `client_saturated`; interrupted, stopped by its rule, or killed: environment; failed: generator |

use plimsoll_stats::Histogram;
use plimsoll_units::show_duration;

use crate::meta::Ended;
use crate::summary::BlameCounts;
use crate::{Blame, Counters, ErrorKind, LocalCause};

/// So many seconds busy and behind make a run invalid.
pub(crate) const BUSY_SECONDS: u64 = 3;
/// A second is denied above this share of its thread time.
pub(crate) const DENIED_SHARE: f64 = 0.5;
/// A second is busy above this share of its thread time.
pub(crate) const BUSY_SHARE: f64 = 0.95;
/// One failure of our own in so many requests offered is the most.
const LOCAL_ONE_IN: u64 = 1000;

/// What the generator's health is judged by.
pub(crate) struct Health<'a> {
    pub(crate) lateness: &'a Histogram,
    pub(crate) response: &'a Histogram,
    /// Seconds busy beyond [`BUSY_SHARE`] while behind schedule.
    pub(crate) busy_behind_s: u64,
    /// Seconds denied beyond [`DENIED_SHARE`] while behind schedule.
    pub(crate) denied_behind_s: u64,
}

impl Health<'_> {
    /// Why the generator was the limit: a plain sentence a rule that was broken.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let rules = [(1000, "p99", 0.99, 1_000_000), (20, "p50", 0.5, 100_000)];
        let mut complaints: Vec<String> = rules
            .into_iter()
            .filter(|(least, ..)| self.lateness.count() >= *least)
            .filter_map(|(_, name, q, least_ns)| self.late(name, q, least_ns))
            .collect();
        if self.busy_behind_s >= BUSY_SECONDS {
            complaints.push(format!(
                "the generator was busy for more than 95% of the time and behind schedule in {} \
                 seconds; {BUSY_SECONDS} are too many",
                self.busy_behind_s
            ));
        }
        if self.denied_behind_s >= BUSY_SECONDS {
            complaints.push(format!(
                "the generator was denied its cores for more than half of the time, by other \
                 processes or a CPU quota, and behind schedule in {} seconds; {BUSY_SECONDS} are \
                 too many",
                self.denied_behind_s
            ));
        }
        complaints
    }

    fn late(&self, name: &str, q: f64, least_ns: u64) -> Option<String> {
        let late_ns = self.lateness.value_at_quantile(q)?;
        let response_ns = self.response.value_at_quantile(q)?;
        // In whole numbers: late > response / 10.
        if late_ns <= least_ns || late_ns.saturating_mul(10) <= response_ns {
            return None;
        }
        Some(format!(
            "requests were sent late by the generator's own doing: lateness {name} is {}, more \
             than the greater of {} and 10% of response {name} ({})",
            show_duration(late_ns),
            show_duration(least_ns),
            show_duration(response_ns),
        ))
    }
}

/// Why this host's own limits made the figures: rule 5, or that they decide `clauses` of the SLO.
/// Nothing offered, nothing lacking.
pub(crate) fn lacking(counters: &Counters, clauses: &[String]) -> Option<String> {
    let (local, offered) = (counters.errors_of(ErrorKind::Local), counters.offered);
    let many = local.saturating_mul(LOCAL_ONE_IN) > offered;
    if !many && clauses.is_empty() {
        return None;
    }
    let causes = LocalCause::ALL.into_iter().filter_map(|cause| {
        let n = counters.local[cause as usize];
        let of = || format!("{} ({} × {n}): {}", cause.what(), cause.name(), cause.remedy());
        (n > 0).then(of)
    });
    let causes = causes.collect::<Vec<_>>().join("; ");
    let why = match many {
        true => "more than 0.1%".to_owned(),
        false => format!("which decide {}", clauses.join(", ")),
    };
    Some(format!(
        "{local} of {offered} requests found no connection by this host's own limits, {why}: \
         {causes}"
    ))
}

/// Who is answerable for a kind of failure.
pub(crate) fn blame_of(kind: ErrorKind, ended: Option<&Ended>, healthy: bool) -> Blame {
    let crowded = if healthy { Blame::Target } else { Blame::Generator };
    let cut = match ended {
        Some(Ended::Complete | Ended::Asked) => crowded,
        Some(Ended::Interrupted | Ended::Stopped(_) | Ended::Budget(_)) | None => {
            Blame::Environment
        }
        Some(Ended::Failed(_)) => Blame::Generator,
    };
    match kind {
        ErrorKind::Connect
        | ErrorKind::Tls
        | ErrorKind::Timeout
        | ErrorKind::Reset
        | ErrorKind::Protocol
        | ErrorKind::Status
        | ErrorKind::Check
        | ErrorKind::Take
        | ErrorKind::Unanswered
        | ErrorKind::Closed
        | ErrorKind::Offline
        | ErrorKind::Redirect => Blame::Target,
        ErrorKind::Variable => Blame::Plan,
        ErrorKind::Dns => Blame::Environment,
        // `blame` counts each cause by its own.
        ErrorKind::Local => Blame::Generator,
        ErrorKind::ClientSaturated => crowded,
        ErrorKind::InFlightAtEnd if ended.is_some_and(Ended::is_whole) => Blame::Target,
        ErrorKind::InFlightAtEnd | ErrorKind::Cut => cut,
    }
}

/// A phase's failures that are the generator's own, or those of its host's limits and rules: what a
/// second judgement of the SLO takes off.
pub(crate) fn own_failures(counters: &Counters, ended: Option<&Ended>, healthy: bool) -> u64 {
    let own = |kind: &ErrorKind| {
        *kind == ErrorKind::Local || blame_of(*kind, ended, healthy) == Blame::Generator
    };
    ErrorKind::ALL.into_iter().filter(own).map(|kind| counters.errors_of(kind)).sum()
}

/// A phase's failures by who is answerable.
pub(crate) fn blame(counters: &Counters, ended: Option<&Ended>, healthy: bool) -> BlameCounts {
    let mut counts = BlameCounts::default();
    let mut add = |blame: Blame, n: u64| {
        *match blame {
            Blame::Target => &mut counts.target,
            Blame::Generator => &mut counts.generator,
            Blame::Environment | Blame::Plan => &mut counts.environment,
        } += n;
    };
    for kind in ErrorKind::ALL.into_iter().filter(|&kind| kind != ErrorKind::Local) {
        add(blame_of(kind, ended, healthy), counters.errors_of(kind));
    }
    for cause in LocalCause::ALL {
        add(cause.blame(), counters.local[cause as usize]);
    }
    counts
}

/// Requests of a phase that no counter accounts for: never sent, and sent without an end.
/// None in a run that ended; in one that was killed, those it left behind.
pub(crate) fn unaccounted(counters: &Counters) -> (i128, i128) {
    let sum = |kinds: &[ErrorKind]| i128::from(counters.errors_of_all(kinds));
    let [offered, sent, completed] =
        [counters.offered, counters.sent, counters.completed].map(i128::from);
    (offered - sent - sum(&ErrorKind::NEVER_SENT), sent - completed - sum(&ErrorKind::UNANSWERED))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn all(value: u64) -> Histogram {
        let mut histogram = Histogram::new();
        histogram.record_n(value, 1000);
        histogram
    }

    fn complaints(lateness: &Histogram, response: &Histogram, busy_behind_s: u64) -> Vec<String> {
        Health { lateness, response, busy_behind_s, denied_behind_s: 0 }.complaints()
    }

    #[test]
    fn a_generator_in_time_has_no_complaints() {
        assert!(complaints(&all(50_000), &all(200_000), 2).is_empty());
        assert!(complaints(&Histogram::new(), &Histogram::new(), 0).is_empty());
        // 9 ms late where answers take 100 ms is within ten percent.
        assert!(complaints(&all(9 * MS), &all(100 * MS), 0).is_empty());
    }

    #[test]
    fn a_generator_that_is_denied_its_cores_complains() {
        let (lateness, response) = (&all(50_000), &all(200_000));
        let health =
            |denied_behind_s| Health { lateness, response, busy_behind_s: 0, denied_behind_s };
        assert!(health(2).complaints().is_empty());
        assert!(health(3).complaints()[0].contains("denied its cores"));
    }

    #[test]
    fn each_rule_complains_for_itself() {
        // The median above 0.1 ms and above 10% of 1 ms; p99 below 1 ms.
        let found = complaints(&all(150_000), &all(MS), 0);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("lateness p50"), "{found:?}");
        // One in fifty late by 2 ms where answers take 5 ms.
        let mut late = all(10_000);
        late.record_n(2 * MS, 20);
        let found = complaints(&late, &all(5 * MS), 0);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("lateness p99") && found[0].contains("1 ms"), "{found:?}");
        // The same lateness where answers take 50 ms is within ten percent.
        assert!(complaints(&late, &all(50 * MS), 0).is_empty());
        let found = complaints(&all(1), &all(MS), 3);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("95%") && found[0].contains("3 seconds"), "{found:?}");
    }

    #[test]
    fn one_late_request_of_a_few_makes_no_run_invalid() {
        let late = |on_time: u64, late: u64| {
            let mut histogram = Histogram::new();
            histogram.record_n(10_000, on_time);
            histogram.record_n(50 * MS, late);
            complaints(&histogram, &all(MS), 0).len()
        };
        assert_eq!((late(49, 1), late(988, 11), late(989, 11)), (0, 0, 1), "p99 from 1,000 on");
        assert_eq!((late(0, 19), late(9, 11)), (0, 1), "p50 from 20 on");
    }

    #[test]
    fn lateness_alone_says_nothing_where_nothing_was_answered() {
        assert!(complaints(&all(500 * MS), &Histogram::new(), 0).is_empty());
    }

    #[test]
    fn bounds_themselves_are_still_valid() {
        // 1,000,000 lies in the bucket up to 1,000,447: the percentile is its upper end, so the
        // greatest lateness that is surely at most 1 ms is one bucket below.
        assert!(complaints(&all(99_000), &all(1), 0).is_empty());
        assert_eq!(complaints(&all(1_001_000), &all(1), 0).len(), 2);
    }

    #[test]
    fn a_host_without_connections_to_give_complains_and_says_what_ran_out() {
        let mut counters = Counters { offered: 3000, ..Counters::default() };
        counters.local_n(LocalCause::Ports, 2);
        counters.local_n(LocalCause::Permission, 1);
        assert_eq!(lacking(&counters, &[]), None, "three of 3,000 are the most");
        let decided = lacking(&counters, &["errors<0.05%".to_owned()]).unwrap();
        assert!(decided.contains("which decide errors<0.05%"), "{decided}");
        counters.local_n(LocalCause::Ports, 1);
        let found = lacking(&counters, &[]).unwrap();
        for part in ["4 of 3000", "EADDRNOTAVAIL × 3", "ip_local_port_range", "EPERM × 1"] {
            assert!(found.contains(part), "`{part}` is not in {found}");
        }
        let counts = blame(&counters, Some(&Ended::Complete), true);
        assert_eq!((counts.target, counts.generator, counts.environment), (0, 3, 1));
        assert_eq!(lacking(&Counters::default(), &[]), None, "nothing offered, nothing lacking");
    }

    #[test]
    fn blame_follows_the_end_and_the_generators_health() {
        let mut counters = Counters::default();
        for kind in ErrorKind::ALL.into_iter().filter(|&kind| kind != ErrorKind::Local) {
            counters.error(kind);
        }
        let of = |ended: Option<Ended>, healthy| {
            let counts = blame(&counters, ended.as_ref(), healthy);
            (counts.target, counts.generator, counts.environment)
        };
        assert_eq!(of(Some(Ended::Complete), true), (15, 0, 2));
        assert_eq!(of(Some(Ended::Complete), false), (13, 2, 2));
        assert_eq!(of(Some(Ended::Interrupted), true), (13, 0, 4));
        assert_eq!(of(Some(Ended::Interrupted), false), (12, 1, 4));
        assert_eq!(of(Some(Ended::Stopped(String::new())), true), (13, 0, 4));
        assert_eq!(of(Some(Ended::Failed(String::new())), true), (13, 2, 2));
        assert_eq!(of(None, true), (13, 0, 4));
    }

    #[test]
    fn what_no_counter_accounts_for_is_found() {
        let mut counters = Counters { offered: 10, sent: 8, completed: 5, ..Counters::default() };
        assert_eq!(unaccounted(&counters), (2, 3));
        counters.error(ErrorKind::Cut);
        counters.error(ErrorKind::Connect);
        counters.error(ErrorKind::Timeout);
        counters.error(ErrorKind::InFlightAtEnd);
        counters.error(ErrorKind::Reset);
        counters.error(ErrorKind::Status);
        assert_eq!(unaccounted(&counters), (0, 0), "a status is a kind within completed");
    }
}

//! The figures that a summary has, by the registry of figures.

use crate::by_label::LabelFigures;
use crate::by_name::NamedFigures;
use crate::users::UserCounts;
use crate::websocket::{BroadcastFigures, WebSocketFigures};
use crate::{Ended, Summary};
use plimsoll_stats::figure::{self, Figure};
use plimsoll_stats::percentiles::Percentiles;
use plimsoll_stats::subject::Subject;

/// Takes a figure's value from a summary; `None` where that run has none.
type Take = fn(&Summary) -> Option<f64>;

/// The figures of a summary beside those of its distributions of times, which have a list of their
/// own ([`plimsoll_stats::Percentiles::figures`]).
const TAKEN: [(&Figure, Take); 8] = [
    (figure::RATE_MEAN, |of| of.rate_mean),
    (figure::ERRORS, |of| {
        let failed = of.offered.saturating_sub(of.succeeded);
        (of.offered > 0).then(|| failed as f64 / of.offered as f64)
    }),
    (figure::AVAILABILITY_RATIO, |of| of.availability.ratio),
    (figure::OFFERED, |of| Some(of.offered as f64)),
    (figure::SENT, |of| Some(of.sent as f64)),
    (figure::COMPLETED, |of| Some(of.completed as f64)),
    (figure::SUCCEEDED, |of| Some(of.succeeded as f64)),
    (figure::IN_FLIGHT_AT_END, |of| Some(of.in_flight_at_end as f64)),
];

impl Summary {
    /// Whether all was offered that was to be, up to an end that was meant, and somebody answered.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let is_whole = Ended::from_parts(&self.run.ended, "").is_some_and(|of| of.is_whole());
        // One that was asked to end before its measured phase has measured nothing.
        let is_empty = self.offered == 0 && self.run.ended == Ended::Asked.name();
        is_whole && !is_empty && (self.offered == 0 || self.completed > 0)
    }

    /// Whether something was offered, and nothing of it succeeded.
    #[must_use]
    pub fn has_failed_throughout(&self) -> bool {
        self.succeeded == 0 && !self.errors.is_empty()
    }

    /// The value of a figure; `None` where this run has none, and for figures that no load has.
    #[must_use]
    pub fn value(&self, figure: &Figure) -> Option<f64> {
        let own =
            [("response_us", Some(&self.response_us)), ("service_us", Some(&self.service_us))];
        let taken = || TAKEN.iter().find(|(of, _)| *of == figure).and_then(|(_, take)| take(self));
        time(figure.name, own)
            .or_else(taken)
            .or_else(|| self.users.as_ref()?.value(figure))
            .or_else(|| self.websocket.as_ref()?.value(figure))
            .or_else(|| figure::subject_of(figure).and_then(|(of, like)| self.of(&of, like)))
    }

    /// The value of a figure of a subject, which is like that of the whole run.
    fn of(&self, subject: &Subject, like: &Figure) -> Option<f64> {
        let label = subject.label.as_ref();
        let label = label.map(|label| self.by_label.iter().find(|of| of.label == *label));
        let named = |all: &[NamedFigures]| {
            let mut found = all.iter().filter(|of| Some(&of.name) == subject.name.as_ref());
            found.next().and_then(|of| of.value(like))
        };
        match (label, &subject.name) {
            (None, _) => named(&self.by_name),
            (Some(label), Some(_)) => named(&label?.by_name),
            (Some(label), None) => label?.value(like),
        }
    }

    /// All figures that this run has, in the order of the registry, with their values.
    pub fn figures(&self) -> impl Iterator<Item = (&'static Figure, f64)> {
        figure::valued(|figure| self.value(figure))
    }
}

/// The value of a percentile by its name, `response_us.p50`, out of some distributions.
fn time<const N: usize>(name: &str, of: [(&str, Option<&Percentiles>); N]) -> Option<f64> {
    let (object, field) = name.rsplit_once('.')?;
    let (_, times) = of.into_iter().find(|(known, _)| *known == object)?;
    times?.figures().into_iter().find(|(known, _)| *known == field)?.1
}

/// The value of a count by its name.
fn count<const N: usize>(name: &str, of: [(&str, u64); N]) -> Option<f64> {
    of.into_iter().find(|(known, _)| *known == name).map(|(_, n)| n as f64)
}

/// What requests have come to by a figure of the registry.
fn of_requests(figure: &Figure, count: u64, succeeded: u64) -> Option<f64> {
    let failed = count.saturating_sub(succeeded) as f64;
    match figure.name {
        "offered" => Some(count as f64),
        "succeeded" => Some(succeeded as f64),
        "errors" => (count > 0).then(|| failed / count as f64),
        _ => None,
    }
}

impl NamedFigures {
    /// The value of a figure of the requests of a name.
    fn value(&self, figure: &Figure) -> Option<f64> {
        let times = [
            ("response_us", Some(&self.response_us)),
            ("service_us", self.service_us.as_ref()),
            ("duration_us", self.duration_us.as_ref()),
        ];
        let requests = || of_requests(figure, self.count, self.succeeded);
        time(figure.name, times).or_else(requests)
    }
}

impl LabelFigures {
    /// The value of a figure of the requests of a label.
    fn value(&self, figure: &Figure) -> Option<f64> {
        let times = [
            ("response_us", Some(&self.response_us)),
            ("service_us", Some(&self.service_us)),
            ("websocket.broadcast.latency_us", self.latency_us.as_ref()),
        ];
        let requests = || of_requests(figure, self.count, self.succeeded);
        let users = || count(figure.name, [("users.arrived", self.users)]);
        time(figure.name, times).or_else(requests).or_else(users)
    }
}

impl UserCounts {
    /// The value of a figure of users; `None` for every other.
    pub(crate) fn value(&self, figure: &Figure) -> Option<f64> {
        let counts = [
            ("users.arrived", self.arrived),
            ("users.finished", self.finished),
            ("users.failed", self.failed),
            ("users.cut", self.cut),
            ("users.active_peak", self.active_peak),
        ];
        count(figure.name, counts)
    }
}

impl WebSocketFigures {
    /// The value of a figure of WebSockets; `None` for every other, and of broadcasts where none
    /// came.
    pub(crate) fn value(&self, figure: &Figure) -> Option<f64> {
        let counts = [
            ("websocket.connected", self.connected),
            ("websocket.refused", self.refused),
            ("websocket.reconnected", self.reconnected),
            ("websocket.sent", self.sent),
            ("websocket.received", self.received),
            ("websocket.unmatched", self.unmatched),
            ("websocket.failed_steps", self.failed_steps),
        ];
        if *figure == *figure::WEBSOCKET_ONLINE_S {
            return Some(self.online_s);
        }
        count(figure.name, counts).or_else(|| self.broadcast.as_ref()?.value(figure))
    }
}

impl BroadcastFigures {
    fn value(&self, figure: &Figure) -> Option<f64> {
        let name = figure.name.strip_prefix("websocket.broadcast.")?;
        let counts = [
            ("received", self.received),
            ("skipped", self.skipped),
            ("lost", self.lost),
            ("doubled", self.doubled),
            ("disorder", self.disorder),
            ("ahead", self.ahead),
            ("unknown", self.unknown),
            ("unread", self.unread),
            ("misdated", self.misdated),
        ];
        let times = [("latency_us", Some(&self.latency_us)), ("spread_us", Some(&self.spread_us))];
        match name {
            "offset_us" => self.offset_us,
            "offset_error_us" => self.offset_error_us,
            _ => count(name, counts).or_else(|| time(name, times)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_stats::percentiles::Percentiles;

    #[test]
    fn every_field_of_the_times_is_a_registered_figure() {
        for object in ["response_us", "service_us"] {
            for (field, _) in Percentiles::default().figures() {
                let name = format!("{object}.{field}");
                assert!(figure::named(&name).is_some(), "{name}");
            }
        }
    }
}

//! Reading SLOs and rules: positions are kept, so that an error can point at its cause.

use std::time::Duration;

use plimsoll_units as units;
use units::ParseError;

use super::foreign::{as_ours, by_commas, conjunction, in_milliseconds};
use super::lasting::nanoseconds;
use super::{Bound, Clause, Comparison, Figure, Metric, Timing};
use crate::figure::{self, Better, Unit};
use crate::subject::{Subject, parts};

const METRICS: &str = "metrics are p50, p90, p99, p99.9 (any percentile), mean, max, errors, lost, \
                       availability and rate; service.p99, service.mean and service.max count \
                       from when a request was sent; what is watched has figures such as host.cpu \
                       and instance.web-1.cpu, see docs/figures.md";
/// What a mistyped metric may have been meant to be.
const KNOWN: [&str; 20] = [
    "p50",
    "p75",
    "p90",
    "p95",
    "p99",
    "p99.9",
    "p99.99",
    "mean",
    "max",
    "errors",
    "lost",
    "availability",
    "rate",
    "service.p50",
    "service.p90",
    "service.p95",
    "service.p99",
    "service.p99.9",
    "service.mean",
    "service.max",
];
/// Words of other tools for the same things.
const SYNONYMS: [(&str, &str); 11] = [
    ("median", "p50"),
    ("avg", "mean"),
    ("average", "mean"),
    ("maximum", "max"),
    ("error", "errors"),
    ("failures", "errors"),
    ("failed", "errors"),
    ("throughput", "rate"),
    ("rps", "rate"),
    ("uptime", "availability"),
    ("latency", "p99"),
];
/// The longest that a clause can ask for.
const LONGEST: Duration = Duration::from_secs(86_400);
/// No real SLO comes near; keeps what a hostile plan can make us allocate small.
const MAX_CLAUSES: usize = 100;

/// What the clause is for: an objective says what must hold of a good run, a rule may say anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Objective,
    Rule,
}

/// Reads clauses that are joined by commas; there is at least one.
pub(super) fn clauses(
    text: &str,
    purpose: Purpose,
    wanted: &str,
) -> Result<Vec<Clause>, ParseError> {
    if text.trim().is_empty() {
        return Err(ParseError::new(wanted, "", text.len(), 0).hint(METRICS));
    }
    let mut clauses = Vec::new();
    let mut at = 0;
    for part in parts(text) {
        if clauses.len() == MAX_CLAUSES {
            let wanted = format!("at most {MAX_CLAUSES} clauses");
            return Err(ParseError::new(wanted, part, at, part.len()));
        }
        clauses.push(clause(part, purpose).map_err(|error| error.shifted(at))?);
        at += part.len() + 1;
    }
    Ok(clauses)
}

/// Reads one clause with the name it is about, blanks around its parts allowed.
fn clause(text: &str, purpose: Purpose) -> Result<Clause, ParseError> {
    let Some((of, at)) = subject_of(text)? else { return clause_of_all(text, purpose) };
    let refused = |wanted: &str, found: &str, hint: &str| {
        let at = text.find(found).unwrap_or(0);
        Err(ParseError::new(wanted, found, at, found.len()).hint(hint))
    };
    if purpose == Purpose::Rule {
        let hint = "a name goes with an SLO, whose clauses are about the whole run";
        return refused("a clause about all requests", text[..at].trim(), hint);
    }
    let clause = clause_of_all(&text[at..], purpose).map_err(|error| error.shifted(at))?;
    let word = text[at..].split(is_operator).next().unwrap_or_default().trim();
    if matches!(clause.metric, Metric::Availability | Metric::Watched(_) | Metric::Counted(_)) {
        let hint = "by name there are percentiles, mean, max, errors, lost and rate";
        return refused("a metric of requests", word, hint);
    }
    if clause.lasting.is_some() {
        let hint = "figures by name are of the whole run: leave out `for`";
        return refused("a clause about the whole run", text[at..].trim(), hint);
    }
    let expr = format!("{of}: {}", clause.expr);
    Ok(Clause { expr, of: Some(of), ..clause })
}

/// The subject before a clause, and where the clause behind it begins.
fn subject_of(text: &str) -> Result<Option<(Subject, usize)>, ParseError> {
    // Figures of what is watched may have a colon in their own names.
    let word = text.split(is_operator).next().unwrap_or_default().trim();
    if metric(word).is_ok() { Ok(None) } else { Subject::split(text) }
}

/// Reads one clause about all requests, blanks around its parts allowed.
fn clause_of_all(whole: &str, purpose: Purpose) -> Result<Clause, ParseError> {
    let lasts_at = lasts_at(whole);
    let text = &whole[..lasts_at.unwrap_or(whole.len())];
    let (word, word_at) = trimmed(text, 0, text.find(is_operator).unwrap_or(text.len()));
    if word.is_empty() {
        let wanted = "a clause such as p99<200ms";
        let found = text.trim();
        return Err(ParseError::new(wanted, found, word_at, found.len()).hint(METRICS));
    }
    let metric = metric(word).map_err(|error| as_ours(error, word, text).shifted(word_at))?;
    let operator_at = text.find(is_operator).unwrap_or(text.len());
    let after = &text[operator_at..];
    let operator = &after[..after.find(|c| !is_operator(c)).unwrap_or(after.len())];
    let comparison = comparison(operator, word, metric, purpose).map_err(|error| {
        if operator.is_empty() {
            error.shifted(text.trim_end().len())
        } else {
            error.shifted(operator_at)
        }
    })?;
    let (bound_text, bound_at) = trimmed(text, operator_at + operator.len(), text.len());
    if let Some((at, len)) = conjunction(bound_text).filter(|_| purpose == Purpose::Objective) {
        let error = ParseError::new("one clause", &bound_text[at..at + len], bound_at + at, len);
        return Err(error.hint(format!("join by a comma: {}", by_commas(whole))));
    }
    let bound = bound(bound_text, metric).map_err(|error| error.shifted(bound_at))?;
    let bound_text: String = bound_text.chars().filter(|c| !c.is_whitespace()).collect();
    let mut expr = format!("{word}{}{bound_text}", comparison.text());
    let lasting = lasts_at.map(|at| lasting(whole, at, metric)).transpose()?;
    if let Some(lasting) = lasting {
        let is_of_seconds =
            !matches!(metric, Metric::Availability | Metric::Lost | Metric::Counted(_));
        if purpose == Purpose::Objective && !is_of_seconds {
            let error = ParseError::new("a metric of single seconds", word, word_at, word.len());
            let hint = "`for` goes with errors, rate, mean, max, percentiles and what is watched";
            return Err(error.hint(hint));
        }
        expr = format!("{expr} for {}", units::show_duration_exact(nanoseconds(lasting)));
    }
    Ok(Clause { expr, metric, comparison, bound, lasting, of: None })
}

/// Where the word `for` stands in a clause, blanks around it.
pub(super) fn lasts_at(text: &str) -> Option<usize> {
    let is_blank = |at: usize| text[..at].ends_with(char::is_whitespace);
    let mut all = text.match_indices("for").map(|(at, _)| at);
    all.find(|&at| at > 0 && is_blank(at) && text[at + 3..].starts_with(char::is_whitespace))
}

/// Reads how long a clause must have held, behind its `for`. What is told of answers is told by the
/// second.
fn lasting(text: &str, word_at: usize, metric: Metric) -> Result<Duration, ParseError> {
    let (part, at) = trimmed(text, word_at + 3, text.len());
    let lasting = units::duration(part).map_err(|error| error.shifted(at))?;
    let is_watched = matches!(metric, Metric::Watched(_));
    let (least, wanted) = match is_watched {
        true => (Duration::from_millis(1), "a duration from 1ms to 1d"),
        false => (Duration::from_secs(1), "whole seconds, from 1s to 1d"),
    };
    let fits = (least..=LONGEST).contains(&lasting) && (is_watched || lasting.subsec_nanos() == 0);
    if fits { Ok(lasting) } else { Err(ParseError::new(wanted, part, at, part.len())) }
}

/// A part of the text without the blanks around it, and where it then starts.
fn trimmed(text: &str, from: usize, to: usize) -> (&str, usize) {
    let part = &text[from..to];
    let start = from + (part.len() - part.trim_start().len());
    (part.trim(), start)
}

fn is_operator(c: char) -> bool {
    matches!(c, '<' | '>' | '=' | '!' | '≤' | '≥' | '~')
}

fn metric(word: &str) -> Result<Metric, ParseError> {
    let (timing, figure) = match word.split_once('.') {
        Some(("service", figure)) => (Timing::Service, figure),
        Some(("response", figure)) => (Timing::Response, figure),
        _ => (Timing::Response, word),
    };
    let time = |figure| Ok(Metric::Time(timing, figure));
    match (figure, word) {
        ("mean", _) => time(Figure::Mean),
        ("max", _) => time(Figure::Max),
        (_, "errors") => Ok(Metric::Errors),
        (_, "lost") => Ok(Metric::Lost),
        (_, "availability") => Ok(Metric::Availability),
        (_, "rate") => Ok(Metric::Rate),
        _ => match figure.strip_prefix('p').filter(|p| is_number(p)) {
            Some(percent) => quantile(percent, word).and_then(|q| time(Figure::Quantile(q))),
            None => {
                let counted = || figure::counted(word).map(Metric::Counted);
                figure::family(word)
                    .map(Metric::Watched)
                    .or_else(counted)
                    .ok_or_else(|| unknown(word))
            }
        },
    }
}

pub(super) fn is_number(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    text.len() <= 16 && digits(whole) && digits(fraction)
}

/// `99.9` as the quantile 0.999, correctly rounded, so that it is the literal's value.
fn quantile(percent: &str, word: &str) -> Result<f64, ParseError> {
    let q: f64 = format!("{percent}e-2").parse().unwrap_or(f64::NAN);
    if q > 0.0 && q <= 1.0 {
        return Ok(q);
    }
    let error = ParseError::new("a percentile above p0 and up to p100", word, 0, word.len());
    // `p999` is how JSON names the 99.9th.
    match percent.strip_prefix("99").filter(|rest| rest.bytes().all(|b| b == b'9')) {
        Some(rest) => Err(error.hint(format!("write p99.{rest}"))),
        None => Err(error.hint("the 99.9th percentile is p99.9")),
    }
}

fn unknown(word: &str) -> ParseError {
    let lower = word.to_ascii_lowercase();
    let synonym = SYNONYMS.iter().find(|(theirs, _)| *theirs == lower).map(|&(_, ours)| ours);
    let error = ParseError::new("a metric", word, 0, word.len());
    let members: Vec<String> =
        figure::candidates(word).into_iter().chain(figure::counts()).collect();
    let known = KNOWN.into_iter().chain(members.iter().map(String::as_str));
    match synonym.or_else(|| units::nearest(word, known)) {
        Some(known) => error.hint(format!("did you mean {known}? {METRICS}")),
        None => error.hint(METRICS),
    }
}

fn comparison(
    operator: &str,
    word: &str,
    metric: Metric,
    purpose: Purpose,
) -> Result<Comparison, ParseError> {
    // An objective bounds what is bad from above and what is good from below; a rate, and what
    // only describes, either way.
    let (below, above) = match (purpose, metric) {
        (Purpose::Rule, _) | (_, Metric::Rate | Metric::Watched(_)) => (true, true),
        _ if metric.figure().better == Better::Neither => (true, true),
        _ if metric.figure().better == Better::Higher => (false, true),
        _ => (true, false),
    };
    let accepted = match (below, above) {
        (true, true) => "<, <=, > or >=",
        (true, false) => "< or <=",
        _ => "> or >=",
    };
    let comparison = match operator {
        "<" if below => Some(Comparison::Below),
        "<=" if below => Some(Comparison::AtMost),
        ">" if above => Some(Comparison::Above),
        ">=" if above => Some(Comparison::AtLeast),
        _ => None,
    };
    comparison.ok_or_else(|| {
        let error =
            ParseError::new(format!("{accepted} after {word}"), operator, 0, operator.len());
        match operator {
            "<" | "<=" | ">" | ">=" => error.hint("an SLO says what must hold of a good run"),
            "" => error.hint(format!("compare it with a bound: {}", example(metric))),
            _ => error.hint(format!("write it as in {}", example(metric))),
        }
    })
}

fn example(metric: Metric) -> &'static str {
    match metric {
        Metric::Time(..) => "p99<200ms",
        Metric::Errors => "errors<0.1%",
        Metric::Lost => "lost<10",
        Metric::Availability => "availability>=99.9%",
        Metric::Rate => "rate>=500/s",
        Metric::Watched(family) => match family.figure.unit {
            Unit::Share => "host.cpu<80%",
            Unit::PerSecond => "nginx.requests>100/s",
            Unit::Bytes => "instance.web-1.memory<100MiB",
            Unit::BytesPerSecond => "instance.web-1.sent<10MB/s",
            _ => "host.load<4",
        },
        Metric::Counted(of) => match (of.unit, of.better) {
            (Unit::Micros, _) => "broadcast.latency_us.p99<50ms",
            (_, Better::Higher) => "users.finished>=100",
            _ => "broadcast.lost<10",
        },
    }
}

fn bound(text: &str, metric: Metric) -> Result<Bound, ParseError> {
    match metric.figure().unit {
        unit if matches!(metric, Metric::Watched(_)) => unit.read(text).map(Bound::Value),
        #[expect(clippy::cast_precision_loss, reason = "no run counts 2^53 of anything")]
        Unit::Count if matches!(metric, Metric::Counted(_)) => {
            units::count(text).map(|n| Bound::Value(n as f64))
        }
        unit if matches!(metric, Metric::Counted(_)) && unit != Unit::Micros => {
            unit.read(text).map(Bound::Value)
        }
        Unit::Micros => {
            let ns =
                units::duration(text).map_err(|error| in_milliseconds(error, text))?.as_nanos();
            Ok(Bound::Time(u64::try_from(ns).unwrap_or(u64::MAX)))
        }
        // What is counted may be bounded as a share too: lost<0.1%.
        Unit::Count if !text.contains(['%', '.']) => units::count(text).map(Bound::Count),
        Unit::PerSecond => units::rate(text).map(Bound::Rate),
        _ => share(text).map(Bound::Share),
    }
}

/// A share with its unit: a bare `1` may be meant as 1% or as all. None is none either way.
///
/// # Errors
/// No share, or one above zero without its unit.
pub fn share(text: &str) -> Result<f64, ParseError> {
    let share = units::share(text)?;
    if text.ends_with('%') || share <= 0.0 {
        return Ok(share);
    }
    let error = ParseError::new("a share in percent, such as 0.1%", text, 0, text.len());
    let (as_percent, as_share) = (format!("{text}%"), units::show_share(share));
    Err(error.hint(format!("write {as_percent}, or {as_share} if it is a share of 1")))
}

#[cfg(test)]
mod tests {
    use super::super::Slo;
    use super::*;

    fn name(of: &Subject) -> &str {
        of.name.as_deref().unwrap()
    }

    fn one(text: &str) -> Clause {
        let slo = Slo::parse(text).unwrap();
        assert_eq!(slo.clauses().len(), 1);
        slo.clauses()[0].clone()
    }

    #[test]
    fn reads_every_metric() {
        use Comparison::{Above, AtLeast, AtMost, Below};
        use Timing::{Response, Service};
        let ms = |n: u64| Bound::Time(n * 1_000_000);
        for (text, metric, comparison, bound) in [
            ("p99.9<200ms", Metric::Time(Response, Figure::Quantile(0.999)), Below, ms(200)),
            ("p90<=150ms", Metric::Time(Response, Figure::Quantile(0.9)), AtMost, ms(150)),
            ("p100<1s", Metric::Time(Response, Figure::Quantile(1.0)), Below, ms(1000)),
            ("response.p50<1s", Metric::Time(Response, Figure::Quantile(0.5)), Below, ms(1000)),
            ("service.p99<5ms", Metric::Time(Service, Figure::Quantile(0.99)), Below, ms(5)),
            ("service.p99.9<5ms", Metric::Time(Service, Figure::Quantile(0.999)), Below, ms(5)),
            ("mean<5ms", Metric::Time(Response, Figure::Mean), Below, ms(5)),
            ("service.max<5ms", Metric::Time(Service, Figure::Max), Below, ms(5)),
            ("errors<0.1%", Metric::Errors, Below, Bound::Share(0.001)),
            ("lost<10", Metric::Lost, Below, Bound::Count(10)),
            ("lost<=1%", Metric::Lost, AtMost, Bound::Share(0.01)),
            ("lost<50.0%", Metric::Lost, Below, Bound::Share(0.5)),
            ("errors<=0", Metric::Errors, AtMost, Bound::Share(0.0)),
            ("availability>=99.999%", Metric::Availability, AtLeast, Bound::Share(0.999_99)),
            ("rate>=500/s", Metric::Rate, AtLeast, Bound::Rate(500.0)),
            ("rate>30/m", Metric::Rate, Above, Bound::Rate(0.5)),
        ] {
            let clause = one(text);
            assert_eq!(
                (clause.metric, clause.comparison, clause.bound),
                (metric, comparison, bound)
            );
            assert_eq!(clause.expr, text);
            let unit = metric.figure().unit;
            assert!(clause.unit() == unit || metric == Metric::Lost, "{text}");
        }
    }

    #[test]
    fn reads_figures_of_what_is_watched() {
        for (text, bound, lasting_s, expr) in [
            ("host.cpu<80%", 0.8, None, "host.cpu<80%"),
            ("instance.web*.cpu < 20 %", 0.2, None, "instance.web*.cpu<20%"),
            (
                "memcached.hit_ratio >= 97% for 60s",
                0.97,
                Some(60),
                "memcached.hit_ratio>=97% for 1m",
            ),
            ("nginx.requests>1.5k/s", 1_500.0, None, "nginx.requests>1.5k/s"),
            ("instance.web-1.memory<=1KiB", 1_024.0, None, "instance.web-1.memory<=1KiB"),
            ("host.network.eth0.sent<1MB/s", 1e6, None, "host.network.eth0.sent<1MB/s"),
            ("series.queue<2.5", 2.5, None, "series.queue<2.5"),
        ] {
            let clause = one(text);
            assert!(matches!(clause.metric, Metric::Watched(_)), "{text}");
            assert_eq!(clause.bound, Bound::Value(bound), "{text}");
            assert_eq!(clause.lasting, lasting_s.map(Duration::from_secs), "{text}");
            assert_eq!(clause.expr, expr);
            assert_eq!(one(&clause.expr), clause);
        }
        assert_eq!(one("instance.web*.cpu<20% for 5s").word(), "instance.web*.cpu");
    }

    #[test]
    fn reads_how_long_a_second_after_the_other_has_to_hold() {
        for (text, lasting_s) in [
            ("p99<50ms for 10s", 10),
            ("errors<1% for 1m", 60),
            ("rate>=500/s for 5s", 5),
            ("service.mean<5ms for 1s", 1),
        ] {
            let clause = one(text);
            assert_eq!(clause.lasting, Some(Duration::from_secs(lasting_s)), "{text}");
            assert_eq!((one(&clause.expr), clause.expr.as_str()), (clause.clone(), text));
            assert!(clause.is_of_seconds());
        }
        let slo = Slo::parse("p99<50ms for 10s, p90<20ms").unwrap();
        assert_eq!(slo.response_bound(), Some((0.9, 20_000_000)), "of the whole run");
    }

    #[test]
    fn a_comma_means_and_and_blanks_do_not_matter() {
        let slo = Slo::parse(" p99 < 200 ms ,\terrors<0.1% ").unwrap();
        assert_eq!(slo.to_string(), "p99<200ms,errors<0.1%");
        assert_eq!(Slo::parse(&slo.to_string()).unwrap(), slo);
        assert_eq!(slo.response_bound(), Some((0.99, 200_000_000)));
        assert_eq!(Slo::parse("service.p99<1s").unwrap().response_bound(), None);
    }

    #[test]
    fn a_name_binds_its_own_clause_only() {
        let slo = Slo::parse("'log in': p99<300ms, errors<1%,/a?q=1:p90 < 1s").unwrap();
        let of: Vec<_> = slo.clauses().iter().map(|of| of.of.as_ref().map(name)).collect();
        assert_eq!(of, [Some("log in"), None, Some("/a?q=1")]);
        assert_eq!(slo.to_string(), "log in: p99<300ms,errors<1%,/a?q=1: p90<1s");
        assert_eq!(Slo::parse(&slo.to_string()).unwrap(), slo);
        assert_eq!(slo.subjects().map(name).collect::<Vec<_>>(), ["log in", "/a?q=1"]);
        assert_eq!(slo.response_bound(), None, "none is about all");
        for (text, of, expr) in [
            ("\"a, b: c\": max<1s", "a, b: c", "'a, b: c': max<1s"),
            ("'it''s': rate>=5/s", "it's", "'it''s': rate>=5/s"),
            ("' x ': lost<1", " x ", "' x ': lost<1"),
            ("a<b: service.p50<1s", "a<b", "a<b: service.p50<1s"),
            ("GET /items/{id}: mean<1s", "GET /items/{id}", "GET /items/{id}: mean<1s"),
        ] {
            let clause = one(text);
            assert_eq!((clause.of.as_ref().map(name), clause.expr.as_str()), (Some(of), expr));
            assert_eq!(one(expr), clause);
        }
        assert_eq!(one("a<b: service.p50<1s").word(), "a<b: service.p50");
    }

    #[test]
    fn a_clause_may_be_about_a_label_and_about_what_is_counted() {
        for (text, expr) in [
            ("predict@eu : p50 < 1s", "predict@eu: p50<1s"),
            ("@'a,b': errors<1%", "@'a,b': errors<1%"),
            ("\"x@y\": p99<1s", "'x@y': p99<1s"),
        ] {
            let clause = one(text);
            assert_eq!(clause.expr, expr);
            assert_eq!(one(expr), clause);
        }
        assert_eq!(Slo::parse("@'a,b': errors<1%, p99<1s").unwrap().clauses().len(), 2);
        for (text, figure, bound) in [
            ("broadcast.lost<10", &figure::BROADCAST_LOST, Bound::Value(10.0)),
            ("websocket.broadcast.lost<=0", &figure::BROADCAST_LOST, Bound::Value(0.0)),
            ("users.finished>=5", &figure::USERS_FINISHED, Bound::Value(5.0)),
            ("users.arrived<5", &figure::USERS_ARRIVED, Bound::Value(5.0)),
            (
                "broadcast.latency_us.p99<50ms",
                &figure::BROADCAST_LATENCY_US_P99,
                Bound::Time(50_000_000),
            ),
        ] {
            let clause = one(text);
            assert_eq!((clause.metric, clause.bound), (Metric::Counted(figure), bound), "{text}");
            assert_eq!((clause.unit(), clause.word()), (figure.unit, clause.word()));
        }
    }

    /// Text, offending part, and a word of the hint.
    const WRONG: [(&str, &str, &str); 53] = [
        ("users.failed>5", ">", "what must hold"),
        ("users.faild<5", "users.faild", "did you mean users.failed?"),
        ("a: users.failed<5", "users.failed", "percentiles"),
        ("broadcast.lost<5 for 5s", "broadcast.lost", "what is watched"),
        ("a@b@c: p99<5ms", "@c: p99<5ms", "NAME@LABEL"),
        ("'log in: p99<5ms", "'log in: p99<5ms", "doubled"),
        ("'log in' p99<5ms", "p99<5ms", ""),
        (": p99<5ms", "", ""),
        ("'': p99<5ms", "''", ""),
        ("a: p99", "", "p99<200ms"),
        ("a: availability>=99%", "availability", "percentiles"),
        ("a: host.cpu<5%", "host.cpu", "percentiles"),
        ("a: p99<5ms for 5s", "p99<5ms for 5s", "whole run"),
        ("p99<200ms,erors<1%", "erors", "did you mean errors?"),
        ("median<5ms", "median", "did you mean p50?"),
        ("P99<5ms", "P99", "did you mean p99?"),
        ("foo<5ms", "foo", "metrics are p50"),
        ("service.errors<1%", "service.errors", "metrics are p50"),
        ("p<5ms", "p", "metrics are p50"),
        ("p1e9<5ms", "p1e9", "metrics are p50"),
        ("p999<5ms", "p999", "write p99.9"),
        ("p9999<5ms", "p9999", "write p99.99"),
        ("p101<5ms", "p101", "p99.9"),
        ("p0<5ms", "p0", "p99.9"),
        ("p99<200", "200", "200ms is 200 milliseconds"),
        ("p(95)<200ms", "p(95)", "write p95<200ms"),
        ("p(99.9) < 200ms && errors<1%", "p(99.9)", "write p99.9 < 200ms,errors<1%"),
        ("p95<200ms and errors<1%", "and", "join by a comma: p95<200ms,errors<1%"),
        ("p95<200ms&&errors<1% && max<1s", "&&", "a comma: p95<200ms,errors<1%,max<1s"),
        ("p99<", "", ""),
        ("p99", "", "p99<200ms"),
        ("p99=5ms", "=", "p99<200ms"),
        ("p99 =< 5ms", "=<", "p99<200ms"),
        ("p99≤5ms", "≤", "p99<200ms"),
        ("p99>5ms", ">", "what must hold"),
        ("availability<=99%", "<=", "what must hold"),
        ("errors<5", "5", "5% is a share of 0.05"),
        ("errors<1", "1", "write 1%, or 100% if"),
        ("errors<0.01", "0.01", "write 0.01%, or 1% if"),
        ("lost<0.5", "0.5", "write 0.5%, or 50% if"),
        ("availability>=0.999", "0.999", "99.9% if"),
        ("rate>=500", "500", "500/s is 500 a second"),
        ("p99<1s,,errors<1%", "", "metrics are"),
        ("p99<5ms,", "", "metrics are"),
        ("instance.web-1.cup<5%", "instance.web-1.cup", "did you mean instance.web-1.cpu?"),
        ("memcached.hits_ratio>=97%", "memcached.hits_ratio", "did you mean memcached.hit_ratio?"),
        ("host.cpu<80", "80", "80% is"),
        ("host.disk.sda.read<5MB", "5MB", "5MB/s"),
        ("availability>=99% for 5s", "availability", "what is watched"),
        ("lost<5 for 5s", "lost", "percentiles"),
        ("p99<5ms for 500ms", "500ms", ""),
        ("host.cpu<5% for 0s", "0s", ""),
        ("host.cpu<5% for", "5% for", ""),
    ];

    #[test]
    fn an_error_points_at_its_cause_and_says_what_is_accepted() {
        for (text, part, hint) in WRONG {
            let error = Slo::parse(text).unwrap_err();
            assert_eq!(&text[error.at..error.at + error.len], part, "{text}: {error}");
            assert!(error.hint.as_deref().unwrap_or("").contains(hint), "{text}: {error:?}");
        }
        assert_eq!(Slo::parse("p99").unwrap_err().at, 3);
        assert_eq!(Slo::parse("p99<1s,,errors<1%").unwrap_err().at, 7);
        assert_eq!(
            Slo::parse("p99<1s,lost<x").unwrap_err().to_string(),
            "expected a whole number such as 64, 200_000 or 200k, found `x`"
        );
        assert!(Slo::parse("").unwrap_err().to_string().starts_with("expected an SLO such as"));
        assert!(Slo::parse(&"max<1s,".repeat(101)).is_err());
    }
}

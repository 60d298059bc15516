//! The most revenue: as many servers as earn more than they cost (M. Vasar, *A Framework for
//! Verifying Scalability and Performance of Cloud Based Web Applications*, Tartu 2012, 6.4 and
//! 6.5).
//!
//! ```text
//! r(n) = μ(n)·c − n·d        μ(n) = (1 − P_b(n))·λ·3600        per hour
//! P_b  = max(0, 1 − n/(λ·h))  the modified rule, or Erlang's formula B of the load λ·h
//! ```
//!
//! with λ the rate of the last hour, h the service time over the cores of a server, c what a
//! request earns and d what a server costs per hour. n is climbed to from 1, as long as r does not
//! fall; so a load that is a whole number but for the last bit asks for no server more.
//!
//! Some minutes before the full hour servers are removed, as their hours are paid, by the rate of
//! the hour so far; at the full hour they are added, by that of the whole of it. Both happen once
//! an hour, and neither before half an hour has been seen. Where no decision falls into those
//! minutes, because decisions are too rare, servers are removed at the full hour as well.

use super::{Decision, Facts, Kind, MINUTE_S, Maker, Parameters, Policy, maker, parameter, tried};
use crate::observation::{Metric, Observation, Series};
use plimsoll_stats::queueing::erlang_b;
use plimsoll_units::parameter::Takes::{Count, Duration, Number, Switch, Text, Word};
use plimsoll_units::{ParseError, duration};
use serde::{Deserialize, Serialize};

pub(super) static KIND: Kind = Kind {
    name: "revenue",
    about: "once an hour, as many as earn more than they cost at the rate of the last hour",
    parameters: &[
        parameter(
            "blocking",
            Word(&["modified", "erlang-b"]),
            "modified",
            "The formula for requests lost by n instances.",
        ),
        parameter(
            "agent",
            Word(&["instance", "core"]),
            "instance",
            "What counts as a server in the formula.",
        ),
        parameter("income", Number(0.0, 1e12), "the plan's", "What a served request earns."),
        parameter("price", Number(0.0, 1e12), "the plan's", "What an instance costs per hour."),
        parameter(
            "rate",
            Text("mean, steps:5m or weighted:5m"),
            "mean",
            "The mean rate of the hour; or one weighted towards its end: by steps, of which the \
             newest of twelve counts twelve times the oldest, or by weights that fall by e in a \
             time.",
        ),
        parameter(
            "hour",
            Word(&["calendar", "sliding"]),
            "calendar",
            "The hour of the clock, or the last 60 minutes.",
        ),
        parameter(
            "early",
            Duration(0.0, 0.5 * HOUR_S),
            "5m",
            "Time before the full hour at which it removes instances.",
        ),
        tried(
            parameter("spare", Count(0, 10_000), "0", "Instances added to the result."),
            &["0", "1", "2"],
        ),
        parameter(
            "trend",
            Switch,
            "false",
            "Extrapolates the change from the hour before to the last one.",
        ),
    ],
    pace_s: MINUTE_S,
    goes_by_day: true,
    knows_future: false,
    make,
};

const HOUR_S: f64 = 3600.0;
/// Nothing is decided from less than this of an hour, seconds.
const LEAST_SEEN_S: f64 = 0.5 * HOUR_S;

#[derive(Clone, Copy)]
enum Blocking {
    Modified,
    ErlangB,
}

#[derive(Clone, Copy)]
enum Rate {
    Mean,
    /// Weights fall by e in this time, seconds.
    Weighted(f64),
    /// The means of steps of this length, seconds: the newest counts as often as an hour has steps,
    /// each before it once less.
    Steps(f64),
}

struct Revenue {
    blocking: Blocking,
    /// Servers of the formula that an instance is.
    agents: u32,
    /// The service time of one of them, at speed 1, seconds.
    service_s: f64,
    income: f64,
    price: f64,
    rate: Rate,
    is_sliding: bool,
    early_s: f64,
    spare: u32,
    has_trend: bool,
}

/// When it decided last, seconds since the start.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Decided {
    at_full_hour_s: Option<f64>,
    before_it_s: Option<f64>,
}

fn rate(text: &str) -> Result<Rate, ParseError> {
    match text.split_once(':') {
        None if text == "mean" => Ok(Rate::Mean),
        Some(("weighted", time)) => {
            Ok(Rate::Weighted(duration(time).map_err(|e| e.shifted(9))?.as_secs_f64().max(1.0)))
        }
        Some(("steps", time)) => {
            let step_s = duration(time).map_err(|e| e.shifted(6))?.as_secs_f64();
            match (1.0..=HOUR_S).contains(&step_s) {
                true => Ok(Rate::Steps(step_s)),
                false => Err(ParseError::new("steps from 1s to 1h", time, 6, time.len())),
            }
        }
        _ => Err(ParseError::new("mean, steps:5m or weighted:5m", text, 0, text.len())),
    }
}

/// The mean of the steps of a time, weighted towards its end; a step in which nothing was seen is
/// left out. `None` where there is none.
fn of_steps(series: &Series, from_s: f64, to_s: f64, step_s: f64) -> Option<f64> {
    let steps = (HOUR_S / step_s).ceil();
    let (mut sum, mut weights) = (0.0, 0.0);
    for back in 0_u32.. {
        let end_s = to_s - f64::from(back) * step_s;
        if end_s - from_s < 1e-6 {
            break;
        }
        let weight = (steps - f64::from(back)).max(1.0);
        if let Some(mean) = series.average((end_s - step_s).max(from_s), end_s, Metric::Rate) {
            sum += weight * mean;
            weights += weight;
        }
    }
    (weights > 0.0).then(|| sum / weights)
}

fn make(parameters: &mut Parameters<'_>, facts: &Facts) -> Option<Maker> {
    let words = [("modified", Blocking::Modified), ("erlang-b", Blocking::ErlangB)];
    let blocking = parameters.word("blocking", &words).unwrap_or(Blocking::Modified);
    let is_core = parameters.word("agent", &[("instance", false), ("core", true)]).unwrap_or(false);
    let cores = facts.cores.max(1);
    let (agents, service_s) =
        if is_core { (cores, facts.service_s) } else { (1, facts.service_s / f64::from(cores)) };
    let income = parameters.number("income").unwrap_or(facts.income);
    if income <= 0.0 && !parameters.is_faulty(&["income"]) {
        let message = "`revenue` needs what a request earns: `income` in [billing], or `income=`";
        parameters.fault("income", message.to_owned(), None);
    }
    Some(maker(Revenue {
        blocking,
        agents,
        service_s,
        income,
        price: parameters.number("price").unwrap_or(facts.price_per_hour),
        rate: parameters.parsed("rate", rate).unwrap_or(Rate::Mean),
        is_sliding: parameters
            .word("hour", &[("calendar", false), ("sliding", true)])
            .unwrap_or(false),
        early_s: parameters.seconds("early").unwrap_or(300.0),
        spare: parameters.whole("spare").unwrap_or(0),
        has_trend: parameters.switch("trend").unwrap_or(false),
    }))
}

/// Revenue per hour, net of instances, of so many at a rate per second, by the modified rule or by
/// Erlang's formula B with a server for each instance.
#[must_use]
pub fn revenue_per_hour(facts: &Facts, is_erlang: bool, instances: u32, rate_per_s: f64) -> f64 {
    let policy = Revenue {
        blocking: if is_erlang { Blocking::ErlangB } else { Blocking::Modified },
        agents: 1,
        service_s: facts.service_s / f64::from(facts.cores.max(1)),
        income: facts.income,
        price: facts.price_per_hour,
        rate: Rate::Mean,
        is_sliding: false,
        early_s: 0.0,
        spare: 0,
        has_trend: false,
    };
    policy.revenue(instances, 1.0, rate_per_s)
}

impl Revenue {
    /// Revenue per hour of so many instances of a mean speed, at a rate per second.
    fn revenue(&self, instances: u32, speed: f64, rate_per_s: f64) -> f64 {
        let load = rate_per_s * self.service_s / speed;
        let servers = instances.saturating_mul(self.agents);
        let lost = match self.blocking {
            _ if load <= 0.0 => 0.0,
            Blocking::Modified => (1.0 - f64::from(servers) / load).max(0.0),
            Blocking::ErlangB => erlang_b(load, servers),
        };
        (1.0 - lost) * rate_per_s * HOUR_S * self.income - f64::from(instances) * self.price
    }

    /// The number with the most revenue, climbing from 1, `most` at most.
    fn best(&self, speed: f64, rate_per_s: f64, most: u32) -> u32 {
        let (mut instances, mut revenue) = (1, self.revenue(1, speed, rate_per_s));
        while instances < most {
            let next = self.revenue(instances + 1, speed, rate_per_s);
            // Where servers cost nothing, it ends with the first that earns nothing either, but for
            // the rounding of the load.
            let is_even = self.price <= 0.0 && next <= revenue * (1.0 + 1e-12);
            if next < revenue || is_even {
                break;
            }
            (instances, revenue) = (instances + 1, next);
        }
        instances
    }

    /// The rate to go by, of a time; `None` where too little of it was seen.
    fn rate(&self, seen: &Observation<'_>, from_s: f64, to_s: f64) -> Option<f64> {
        let series = seen.series;
        if series.seen_s(from_s, to_s, Metric::Rate) < LEAST_SEEN_S - 1e-6 {
            return None;
        }
        let now = match self.rate {
            Rate::Mean => series.average(from_s, to_s, Metric::Rate),
            Rate::Weighted(time_s) => series
                .weighted(from_s, to_s, Metric::Rate, |at_s| libm::exp((at_s - to_s) / time_s)),
            Rate::Steps(step_s) => of_steps(series, from_s, to_s, step_s),
        }?;
        let before_s = series.seen_s(from_s - HOUR_S, from_s, Metric::Rate);
        let has_before = self.has_trend && before_s >= LEAST_SEEN_S - 1e-6;
        let before = series.average(from_s - HOUR_S, from_s, Metric::Rate);
        match before.filter(|_| has_before) {
            Some(before) => Some((2.0 * now - before).max(0.0)),
            None => Some(now),
        }
    }

    /// What is decided now, and by the rate from when to when; `None` where nothing is.
    fn due(&self, state: &mut Decided, seen: &Observation<'_>) -> Option<(Due, f64, f64)> {
        // The full hour that has passed, by the calendar that the observation's day is of.
        let of_hour_s = (seen.of_day_s + 1e-6).rem_euclid(HOUR_S);
        let (now_s, full_s) = (seen.now_s, seen.now_s - of_hour_s);
        let early_from_s = full_s + HOUR_S - self.early_s;
        let is_done =
            |at_s: Option<f64>, since_s: f64| at_s.is_some_and(|at_s| at_s >= since_s - 1e-3);
        let sliding = |from_s: f64| if self.is_sliding { now_s - HOUR_S } else { from_s };
        if now_s >= early_from_s - 1e-3 {
            let is_due = !is_done(state.before_it_s, early_from_s);
            state.before_it_s = Some(now_s);
            return is_due.then(|| (Due::Removal, sliding(full_s), now_s));
        }
        if is_done(state.at_full_hour_s, full_s) {
            return None;
        }
        let removed = is_done(state.before_it_s, early_from_s - HOUR_S);
        state.at_full_hour_s = Some(now_s);
        let to_s = if self.is_sliding { now_s } else { full_s };
        let due = if removed { Due::Addition } else { Due::Both };
        Some((due, sliding(full_s - HOUR_S), to_s))
    }
}

/// Which way a decision may go.
#[derive(Clone, Copy, PartialEq)]
enum Due {
    Removal,
    Addition,
    Both,
}

impl Policy for Revenue {
    type State = Decided;

    fn decide(&self, state: &mut Decided, seen: &Observation<'_>) -> Decision {
        let wanted = seen.wanted();
        let stay = |reason: &str| Decision::of(wanted, reason.to_owned());
        let Some((due, from_s, to_s)) = self.due(state, seen) else {
            return stay("waits for the full hour");
        };
        let Some(rate) = self.rate(seen, from_s, to_s) else {
            return stay("no hour has been seen yet");
        };
        let best = self.best(seen.speed(), rate, seen.bounds.1.min(crate::demand::MOST));
        let best = seen.clamp(f64::from(best.saturating_add(self.spare)));
        let desired = match due {
            Due::Removal => best.min(wanted),
            Due::Addition => best.max(wanted),
            Due::Both => best,
        };
        let reason = format!("{rate:.1}/s in the last hour: most revenue with {best}");
        Decision::of(desired, reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::Point;

    fn policy(blocking: Blocking, agents: u32) -> Revenue {
        Revenue {
            blocking,
            agents,
            service_s: if agents == 1 { 0.035 } else { 0.07 },
            // Cents.
            income: 0.0017,
            price: 17.0,
            rate: Rate::Mean,
            is_sliding: false,
            early_s: 300.0,
            spare: 0,
            has_trend: false,
        }
    }

    /// The optima of the published parameters, recomputed with exact fractions.
    #[test]
    fn the_optimum_is_the_published_one() {
        for (rate, modified, erlang_b, of_cores) in [
            (10.0, 1, 1, 1),
            (60.0, 3, 5, 4),
            (100.0, 4, 7, 6),
            (300.0, 11, 17, 15),
            (375.0, 14, 21, 18),
            (600.0, 21, 30, 28),
            (1000.0, 35, 47, 44),
        ] {
            assert_eq!(policy(Blocking::Modified, 1).best(1.0, rate, 100), modified, "{rate}");
            assert_eq!(policy(Blocking::ErlangB, 1).best(1.0, rate, 100), erlang_b, "{rate}");
            assert_eq!(policy(Blocking::ErlangB, 2).best(1.0, rate, 100), of_cores, "{rate}");
        }
        // Twice as fast, half as many.
        assert_eq!(policy(Blocking::Modified, 1).best(2.0, 600.0, 100), 11);
    }

    /// Twelve means of five minutes, the newest twelve times, the oldest once.
    #[test]
    fn steps_weigh_the_hour_towards_its_end() {
        let mut series = Series::default();
        for minute in 1..=60_u32 {
            let mut values = [f64::NAN; Metric::ALL.len()];
            values[Metric::Rate as usize] = f64::from((minute - 1) / 5);
            series.push(Point { at_s: 60.0 * f64::from(minute), seconds: 60.0, values });
        }
        let weighted: f64 = (0..12).map(|step| f64::from(step * (step + 1))).sum::<f64>() / 78.0;
        let found = of_steps(&series, 0.0, 3600.0, 300.0).unwrap();
        assert!((found - weighted).abs() < 1e-9, "{found} for {weighted}");
        // Five minutes before the full hour there are eleven, the newest still the heaviest.
        let eleven: f64 = (0..11).map(|step| f64::from(step * (step + 2))).sum::<f64>() / 77.0;
        let found = of_steps(&series, 0.0, 3300.0, 300.0).unwrap();
        assert!((found - eleven).abs() < 1e-9, "{found} for {eleven}");
        // Of an hour of which nothing was seen nothing is said.
        assert_eq!(of_steps(&series, 7200.0, 10_800.0, 300.0), None);
        for (text, at) in [("steps:2h", 6), ("steps:x", 6), ("step:5m", 0), ("steps", 0)] {
            assert_eq!(rate(text).err().unwrap().at, at, "{text}");
        }
    }

    #[test]
    fn revenue_is_that_of_the_published_curve() {
        for (blocking, instances, revenue) in [
            (Blocking::Modified, 11, 1649.0),
            (Blocking::Modified, 1, 157.857_142_857_142_83),
            (Blocking::ErlangB, 17, 1513.69),
            (Blocking::ErlangB, 1, 142.652_173_913_043_36),
        ] {
            let found = policy(blocking, 1).revenue(instances, 1.0, 300.0);
            assert!((found - revenue).abs() < 0.005, "{found} for {revenue}");
        }
    }
}

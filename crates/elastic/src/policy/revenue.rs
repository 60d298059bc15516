//! The most revenue: as many servers as earn more than they cost (M. Vasar, *A Framework for Verifying
//! Scalability and Performance of Cloud Based Web Applications*, Tartu 2012, 6.4 and 6.5).
//!
//! ```text
//! r(n) = μ(n)·c − n·d        μ(n) = (1 − P_b(n))·λ·3600        per hour
//! P_b  = max(0, 1 − n/(λ·h))  the modified rule, or Erlang's formula B of the load λ·h
//! ```
//!
//! with λ the rate of the last hour, h the service time over the cores of a server, c what a request
//! earns and d what a server costs per hour. n is climbed to from 1, as long as r does not fall; so
//! a load that is a whole number but for the last bit asks for no server more.
//!
//! Some minutes before the full hour servers are removed, as their hours are paid; at the full hour
//! they are added.

use super::{Decision, Facts, Kind, Maker, Parameters, Policy, maker, parameter};
use crate::observation::{Metric, Observation, Series};
use plimsoll_stats::queueing::erlang_b;
use plimsoll_units::{ParseError, duration};
use serde::{Deserialize, Serialize};

pub(super) static KIND: Kind = Kind {
    name: "revenue",
    about: "once an hour, as many as earn more than they cost at the rate of the last hour",
    parameters: &[
        parameter("blocking", "modified or erlang-b", "modified", "How many requests n lose."),
        parameter("agent", "instance or core", "instance", "What is one server of Erlang's formula."),
        parameter("income", "number", "the plan's", "What a served request earns."),
        parameter("price", "number", "the plan's", "What an instance costs per hour."),
        parameter("rate", "mean or weighted:5m", "mean", "Of the last hour; the latest counts most."),
        parameter("hour", "calendar or sliding", "calendar", "Since the last full hour, or 60 minutes."),
        parameter("early", "duration", "5m", "So long before the full hour it removes."),
        parameter("spare", "count", "0", "So many more."),
        parameter("trend", "switch", "false", "Goes on as from the hour before to the last one."),
    ],
    knows_future: false,
    make,
};

const HOUR_S: f64 = 3600.0;

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

/// The last full hour at which it decided, and the last one before which it removed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Decided {
    added: Option<i64>,
    removed: Option<i64>,
}

fn rate(text: &str) -> Result<Rate, ParseError> {
    match text.split_once(':') {
        None if text == "mean" => Ok(Rate::Mean),
        Some(("weighted", time)) => {
            Ok(Rate::Weighted(duration(time).map_err(|e| e.shifted(9))?.as_secs_f64().max(1.0)))
        }
        _ => Err(ParseError::new("mean, or weighted:5m", text, 0, text.len())),
    }
}

fn make(parameters: &mut Parameters<'_>, facts: &Facts) -> Option<Maker> {
    let words = [("modified", Blocking::Modified), ("erlang-b", Blocking::ErlangB)];
    let blocking = parameters.word("blocking", &words).unwrap_or(Blocking::Modified);
    let is_core = parameters.word("agent", &[("instance", false), ("core", true)]).unwrap_or(false);
    let cores = facts.cores.max(1);
    let (agents, service_s) = if is_core {
        (cores, facts.service_s)
    } else {
        (1, facts.service_s / f64::from(cores))
    };
    let income = parameters.number("income", 0.0, 1e12).unwrap_or(facts.income);
    if income <= 0.0 {
        let message = "`revenue` needs what a request earns: `income` in [billing], or `income=`";
        parameters.fault("income", message.to_owned(), None);
    }
    Some(maker(Revenue {
        blocking,
        agents,
        service_s,
        income,
        price: parameters.number("price", 0.0, 1e12).unwrap_or(facts.price_per_hour),
        rate: parameters.parsed("rate", rate).unwrap_or(Rate::Mean),
        is_sliding: parameters
            .word("hour", &[("calendar", false), ("sliding", true)])
            .unwrap_or(false),
        early_s: parameters.seconds("early").unwrap_or(300.0),
        spare: parameters.whole("spare", 0, 10_000).unwrap_or(0),
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

    /// The number with the most revenue, climbing from 1.
    fn best(&self, speed: f64, rate_per_s: f64) -> u32 {
        let (mut instances, mut revenue) = (1, self.revenue(1, speed, rate_per_s));
        while instances < crate::demand::MOST {
            let next = self.revenue(instances + 1, speed, rate_per_s);
            // Beyond the load more servers only cost: a plateau at no price ends there.
            let enough = f64::from(instances * self.agents) > 2.0 * rate_per_s * self.service_s + 100.0;
            if next < revenue || (self.price <= 0.0 && enough) {
                break;
            }
            (instances, revenue) = (instances + 1, next);
        }
        instances
    }

    /// The rate to go by, of the time from `from_s` to now; `None` where nothing was seen.
    fn rate(&self, seen: &Observation<'_>, from_s: f64) -> Option<f64> {
        let points = seen.series.within(from_s, seen.now_s);
        let now = match self.rate {
            Rate::Mean => Series::mean(points, Metric::Rate)?,
            Rate::Weighted(time_s) => {
                let weigh = |(sum, weights): (f64, f64), point: &crate::observation::Point| {
                    let weight = point.seconds * libm::exp((point.at_s - seen.now_s) / time_s);
                    (sum + weight * point.of(Metric::Rate), weights + weight)
                };
                let (sum, weights) = points.iter().fold((0.0, 0.0), weigh);
                (weights > 0.0).then(|| sum / weights)?
            }
        };
        let before = Series::mean(seen.series.within(from_s - HOUR_S, from_s), Metric::Rate);
        match before.filter(|_| self.has_trend) {
            Some(before) => Some((2.0 * now - before).max(0.0)),
            None => Some(now),
        }
    }
}

impl Policy for Revenue {
    type State = Decided;

    fn decide(&self, state: &mut Decided, seen: &Observation<'_>) -> Decision {
        let wanted = seen.wanted();
        let stay = |reason: String| Decision { desired: wanted, reason };
        // Hours since the start of the calendar that the observation's day is of.
        let of_hour_s = seen.of_day_s.rem_euclid(HOUR_S);
        let full_s = seen.now_s - of_hour_s;
        #[expect(clippy::cast_possible_truncation, reason = "hours")]
        let hour = (full_s / HOUR_S).round() as i64;
        let is_early = of_hour_s >= HOUR_S - self.early_s - 1e-6;
        let removes = is_early && state.removed != Some(hour + 1);
        let adds = of_hour_s < HOUR_S - self.early_s && state.added != Some(hour);
        if !removes && !adds {
            return stay("waits for the full hour".to_owned());
        }
        let since_s = match (self.is_sliding, removes) {
            (true, _) => seen.now_s - HOUR_S,
            (false, true) => full_s,
            (false, false) => full_s - HOUR_S,
        };
        if removes {
            state.removed = Some(hour + 1);
        } else {
            state.added = Some(hour);
        }
        let Some(rate) = self.rate(seen, since_s) else {
            return stay("no hour has been seen yet".to_owned());
        };
        let best = seen.clamp(f64::from(self.best(seen.speed(), rate).saturating_add(self.spare)));
        let reason = format!("{rate:.1}/s in the last hour: most revenue with {best}");
        let desired = if removes { best.min(wanted) } else { best.max(wanted) };
        Decision { desired, reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(policy(Blocking::Modified, 1).best(1.0, rate), modified, "{rate}");
            assert_eq!(policy(Blocking::ErlangB, 1).best(1.0, rate), erlang_b, "{rate}");
            assert_eq!(policy(Blocking::ErlangB, 2).best(1.0, rate), of_cores, "{rate}");
        }
        // Twice as fast, half as many.
        assert_eq!(policy(Blocking::Modified, 1).best(2.0, 600.0), 11);
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

//! What a request costs on a server that is loaded to its capacity.

pub use plimsoll_units::price;
use serde::{Deserialize, Serialize};

/// Seconds of an hour.
const HOUR_S: f64 = 3600.0;
/// A million.
const MILLION: f64 = 1e6;

/// The cost of requests, in the currency of the price.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// What the server costs per hour.
    pub price_per_hour: f64,
    /// What one request costs: the price per hour over the requests of an hour at the capacity.
    pub per_request: f64,
    /// What a million requests cost.
    pub per_million: f64,
}

impl Cost {
    /// The cost at `price_per_hour` and a capacity of `rate_per_s`; `None` where either is not
    /// above zero.
    #[must_use]
    pub fn of(price_per_hour: f64, rate_per_s: f64) -> Option<Self> {
        let per_request = price_per_hour / (rate_per_s * HOUR_S);
        let possible = price_per_hour > 0.0 && rate_per_s > 0.0 && per_request.is_finite();
        let per_million = per_request * MILLION;
        possible.then_some(Self { price_per_hour, per_request, per_million })
    }

    /// What one request costs, for a person: `1.687e-6`.
    #[must_use]
    pub fn show_per_request(&self) -> String {
        format!("{:.3e}", self.per_request)
    }

    /// What a million requests cost, for a person, to four digits: `1.687`.
    #[must_use]
    pub fn show_per_million(&self) -> String {
        match self.per_million {
            cost if cost >= 1000.0 => format!("{cost:.0}"),
            cost if cost >= 100.0 => format!("{cost:.1}"),
            cost if cost >= 10.0 => format!("{cost:.2}"),
            cost if cost >= 0.001 => format!("{cost:.3}"),
            cost => format!("{cost:.3e}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_figure() {
        let cost = Cost::of(price("0.17/h").unwrap(), 28.0).unwrap();
        assert!((cost.per_request - 1.687e-6).abs() < 0.001e-6, "{cost:?}");
        assert!((cost.per_million - 1.687).abs() < 0.001, "{cost:?}");
        assert!((cost.per_request * 28.0 * 3600.0 - 0.17).abs() < 1e-15);
    }

    #[test]
    fn costs_have_four_digits() {
        let cost = Cost::of(0.17, 28.0).unwrap();
        assert_eq!(cost.show_per_request(), "1.687e-6");
        assert_eq!(cost.show_per_million(), "1.687");
        let shown = [(5000.0, "49603"), (50.0, "496.0"), (5.0, "49.60"), (1e-6, "9.921e-6")];
        for (price, text) in shown {
            assert_eq!(Cost::of(price, 28.0).unwrap().show_per_million(), text);
        }
    }

    #[test]
    fn nothing_costs_nothing() {
        assert_eq!(Cost::of(0.17, 0.0), None);
        assert_eq!(Cost::of(0.0, 10.0), None);
        assert_eq!(Cost::of(f64::NAN, 10.0), None);
        assert_eq!(Cost::of(1e300, 1e-300), None);
    }
}

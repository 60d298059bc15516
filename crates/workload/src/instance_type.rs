//! Instance types that are compared: what a request costs on each where it is fully loaded, and
//! which pool of each is the cheapest.

use serde::{Deserialize, Serialize};

/// An instance type, and what a request costs on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstanceType {
    /// The name that the plan gives it.
    pub label: String,
    /// The price of one per hour.
    pub price_per_hour: f64,
    /// The most requests per second that one serves.
    pub capacity_per_s: f64,
    /// The price of a request where it serves that many all the time.
    pub price_per_request: f64,
}

impl InstanceType {
    /// A type of a price per hour that serves so many requests per second at most.
    #[must_use]
    pub fn new(label: String, price_per_hour: f64, capacity_per_s: f64) -> Self {
        const HOUR_S: f64 = 3600.0;
        let price_per_request = price_per_hour / (HOUR_S * capacity_per_s);
        Self { label, price_per_hour, capacity_per_s, price_per_request }
    }
}

/// A pool of instances of a type under a policy, and what it came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PricedPool {
    /// The policy's label.
    pub policy: String,
    /// What all of it costs.
    pub cost: f64,
    /// That, over the requests that were served; `None` where none was.
    pub cost_per_request: Option<f64>,
    /// Whether the SLO held; `None` without one.
    pub slo: Option<bool>,
}

/// A type beside its cheapest pool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PricedType {
    /// The type.
    #[serde(flatten)]
    pub of: InstanceType,
    /// Its cheapest pool; `None` where the SLO held in none of them.
    pub cheapest: Option<PricedPool>,
}

impl PricedType {
    /// A type with the cheapest of its pools: of those in which the SLO held; without an SLO, the
    /// one with the least cost of a request that was served, as a pool that serves nothing costs
    /// little.
    #[must_use]
    pub fn new(of: InstanceType, pools: impl IntoIterator<Item = PricedPool>) -> Self {
        let measure = |pool: &PricedPool| match pool.slo {
            Some(_) => pool.cost,
            None => pool.cost_per_request.unwrap_or(f64::INFINITY),
        };
        let each = |pool: &PricedPool| pool.cost_per_request.unwrap_or(f64::INFINITY);
        let holds = pools.into_iter().filter(|pool| pool.slo != Some(false));
        // Of several that cost the same it is the one that serves more, in whichever order they
        // come.
        let cheapest = holds.min_by(|a, b| {
            let by_cost = measure(a).total_cmp(&measure(b));
            by_cost.then(each(a).total_cmp(&each(b))).then_with(|| a.policy.cmp(&b.policy))
        });
        Self { of, cheapest }
    }

    /// The type on which a fully loaded instance serves a request for the least.
    #[must_use]
    pub fn cheapest_request(all: &[Self]) -> Option<&Self> {
        all.iter().min_by(|a, b| a.of.price_per_request.total_cmp(&b.of.price_per_request))
    }

    /// The type with the cheapest of all pools.
    #[must_use]
    pub fn cheapest_pool(all: &[Self]) -> Option<(&Self, &PricedPool)> {
        let known = all.iter().filter_map(|of| Some((of, of.cheapest.as_ref()?)));
        known.min_by(|a, b| a.1.cost.total_cmp(&b.1.cost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(policy: &str, cost: f64, served: f64, slo: Option<bool>) -> PricedPool {
        let cost_per_request = (served > 0.0).then(|| cost / served);
        PricedPool { policy: policy.to_owned(), cost, cost_per_request, slo }
    }

    #[test]
    fn a_request_costs_the_published_prices() {
        for (price, rate, published) in
            [(0.085, 6.0, 3.935e-6), (0.34, 18.0, 5.247e-6), (0.17, 28.0, 1.687e-6)]
        {
            let found = InstanceType::new("a".to_owned(), price, rate).price_per_request;
            assert!((found - published).abs() < 0.0005e-6, "{found}");
        }
    }

    #[test]
    fn the_cheapest_pool_holds_the_slo_or_serves_a_request_for_the_least() {
        let of = |pools: Vec<PricedPool>| {
            let of = InstanceType::new("a".to_owned(), 1.0, 1.0);
            PricedType::new(of, pools).cheapest.map(|pool| pool.policy)
        };
        let held = vec![pool("a", 1.0, 9.0, Some(false)), pool("b", 3.0, 9.0, Some(true))];
        assert_eq!(of(held), Some("b".to_owned()));
        assert_eq!(of(vec![pool("a", 1.0, 9.0, Some(false))]), None);
        // Of those that cost the same it is the same one, in whichever order they come.
        let alike = vec![pool("b", 1.0, 8.0, Some(true)), pool("a", 1.0, 9.0, Some(true))];
        assert_eq!(of(alike.clone()), Some("a".to_owned()));
        assert_eq!(of(alike.into_iter().rev().collect()), Some("a".to_owned()));
        let without = vec![pool("idle", 1.0, 0.0, None), pool("b", 3.0, 9.0, None)];
        assert_eq!(of(without), Some("b".to_owned()));
    }
}

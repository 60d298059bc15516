//! What a pool costs: the time of its instances in the units that are charged, requests and
//! traffic, and the balancer's own.

use plimsoll_workload::pool::{BillingUnit, ChargeFrom};
use serde::{Deserialize, Serialize};

/// A price list.
#[derive(Debug, Clone, PartialEq)]
pub struct Prices {
    /// How many seconds pass for whom is billed in one of the clock: above 1 where time is
    /// compressed.
    pub speed: f64,
    /// The unit of time.
    pub unit: BillingUnit,
    /// The least time that is charged for an instance, nanoseconds: in started units too, and one
    /// at least.
    pub least_ns: u64,
    /// From when.
    pub from: ChargeFrom,
    /// An instance per hour.
    pub per_hour: f64,
    /// A request, served or not.
    pub per_request: f64,
    /// Traffic per gigabyte (10⁹ bytes), and how large an answer is.
    pub per_gb: f64,
    /// Bytes of an answer.
    pub answer_bytes: f64,
    /// The balancer per hour.
    pub balancer_per_hour: f64,
    /// What goes through the balancer, per gigabyte.
    pub balancer_per_gb: f64,
    /// What a served request earns.
    pub income_per_request: f64,
}

/// What it all came to.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Bill {
    /// Hours of instances that are charged.
    pub hours: f64,
    /// Hours of instances that were used.
    pub hours_used: f64,
    /// All of it.
    pub cost: f64,
    /// What the served requests earn.
    pub revenue: f64,
}

/// The time of one instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Used {
    /// When it was launched, nanoseconds since the start.
    pub launched_ns: u64,
    /// When it was ready; `None` where it never was.
    pub ready_ns: Option<u64>,
    /// When it ended, or the end of the simulation.
    pub ended_ns: u64,
    /// How long it took no requests in between, as it was not well, nanoseconds.
    pub out_ns: u64,
}

impl Prices {
    /// From when an instance is charged; `None` where it is not.
    #[must_use]
    pub fn charged_from_ns(&self, used: &Used) -> Option<u64> {
        match self.from {
            ChargeFrom::Running => used.ready_ns,
            ChargeFrom::Launch => Some(used.launched_ns),
        }
    }

    /// A time of the clock as it is billed, nanoseconds.
    #[must_use]
    pub fn billed_ns(&self, ns: u64) -> u64 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let billed = (ns as f64 * self.speed) as u64;
        // What is not compressed is not rounded either.
        if self.speed.to_bits() == 1.0_f64.to_bits() { ns } else { billed }
    }

    /// Time for which instances are charged and took no requests, seconds as they are billed: what
    /// is left of started units, and the time until they were ready where that is charged.
    #[must_use]
    pub fn wasted_s(&self, instances: &[Used]) -> f64 {
        let of = |used: &Used| {
            let from_ns = self.charged_from_ns(used)?;
            let used_ns = self.billed_ns(used.ended_ns.saturating_sub(from_ns));
            let took_ns = used.ready_ns.map_or(0, |ns| used.ended_ns.saturating_sub(ns));
            let took_ns = took_ns.saturating_sub(used.out_ns);
            let took_ns = self.billed_ns(took_ns);
            let charged_s = 3600.0 * self.unit.charged_hours(used_ns, self.least_ns);
            Some((charged_s - took_ns as f64 / 1e9).max(0.0))
        };
        instances.iter().filter_map(of).sum()
    }

    /// The bill of instances and requests over a time in hours of the clock.
    #[must_use]
    pub fn bill(&self, instances: &[Used], offered: u64, served: u64, hours: f64) -> Bill {
        let mut bill = Bill::default();
        for used in instances {
            let Some(from_ns) = self.charged_from_ns(used) else { continue };
            let used_ns = self.billed_ns(used.ended_ns.saturating_sub(from_ns));
            bill.hours += self.unit.charged_hours(used_ns, self.least_ns);
            bill.hours_used += used_ns as f64 / BillingUnit::Hour.length_ns() as f64;
        }
        let gigabytes = served as f64 * self.answer_bytes / 1e9;
        bill.cost = bill.hours * self.per_hour
            + offered as f64 * self.per_request
            + gigabytes * (self.per_gb + self.balancer_per_gb)
            + hours * self.speed * self.balancer_per_hour;
        bill.revenue = served as f64 * self.income_per_request;
        bill
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MINUTE: u64 = 60_000_000_000;

    fn prices(unit: BillingUnit) -> Prices {
        Prices {
            speed: 1.0,
            unit,
            least_ns: 0,
            from: ChargeFrom::Running,
            per_hour: 0.17,
            per_request: 0.0,
            per_gb: 0.0,
            answer_bytes: 0.0,
            balancer_per_hour: 0.0,
            balancer_per_gb: 0.0,
            income_per_request: 0.000_017,
        }
    }

    #[test]
    fn what_is_begun_is_paid() {
        for (unit, minutes, least, hours) in [
            (BillingUnit::Hour, 0, 0, 1.0),
            (BillingUnit::Hour, 60, 0, 1.0),
            (BillingUnit::Hour, 61, 0, 2.0),
            (BillingUnit::Minute, 61, 0, 61.0 / 60.0),
            (BillingUnit::Second, 0, 1, 1.0 / 60.0),
            (BillingUnit::Second, 90, 1, 1.5),
            // The least is charged whatever the unit, in started units of it.
            (BillingUnit::Minute, 7, 90, 1.5),
            (BillingUnit::Hour, 7, 90, 2.0),
            (BillingUnit::Minute, 100, 90, 100.0 / 60.0),
        ] {
            let charged = unit.charged_hours(minutes * MINUTE, least * MINUTE);
            assert!((charged - hours).abs() < 1e-12, "{unit:?} {minutes}: {charged}");
        }
        assert!((BillingUnit::Hour.charged_hours(60 * MINUTE + 1, 0) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn compressed_time_is_billed_as_long_as_it_stands_for() {
        let used = Used { launched_ns: 0, ready_ns: Some(0), ended_ns: MINUTE, out_ns: 0 };
        let fast = Prices { speed: 60.0, ..prices(BillingUnit::Hour) };
        let bill = fast.bill(&[used, used], 0, 0, 1.0 / 60.0);
        assert!((bill.hours - 2.0).abs() < 1e-12 && (bill.hours_used - 2.0).abs() < 1e-12);
        assert!((bill.cost - 0.34).abs() < 1e-12, "{bill:?}");
    }

    #[test]
    fn booting_is_free_unless_it_is_charged_from_launch() {
        let used =
            Used { launched_ns: 0, ready_ns: Some(3 * MINUTE), ended_ns: 62 * MINUTE, out_ns: 0 };
        let of = |prices: Prices| prices.bill(&[used], 0, 0, 1.0).hours;
        assert!((of(prices(BillingUnit::Hour)) - 1.0).abs() < 1e-12);
        assert!(
            (of(Prices { from: ChargeFrom::Launch, ..prices(BillingUnit::Hour) }) - 2.0).abs()
                < 1e-12
        );
        let never = Used { ready_ns: None, ..used };
        assert!(prices(BillingUnit::Hour).bill(&[never], 0, 0, 1.0).hours.abs() < 1e-12);
    }

    /// The published table: hours, cost, lost, revenue net of servers; of 22.2 million requests.
    #[test]
    fn the_published_table_is_recomputed_to_the_cent() {
        for (hours, cost, lost, net) in [
            (312, 53.04, 343_763, 318.516),
            (351, 59.67, 32_288, 317.181_1),
            (480, 81.6, 2_148, 295.763_5),
        ] {
            let used = Used { launched_ns: 0, ready_ns: Some(0), ended_ns: 60 * MINUTE, out_ns: 0 };
            let served = 22_200_000 - lost;
            let bill = prices(BillingUnit::Hour).bill(&vec![used; hours], 22_200_000, served, 24.0);
            assert!((bill.cost - cost).abs() < 1e-9, "{}", bill.cost);
            assert!((bill.revenue - bill.cost - net).abs() < 1e-4, "{}", bill.revenue - bill.cost);
        }
    }

    proptest! {
        #[test]
        fn more_is_charged_than_used_and_less_than_a_unit_more(used in 1u64..1 << 50) {
            for unit in [BillingUnit::Hour, BillingUnit::Minute, BillingUnit::Second] {
                let hours = used as f64 / BillingUnit::Hour.length_ns() as f64;
                let charged = unit.charged_hours(used, 0);
                let one = unit.length_ns() as f64 / BillingUnit::Hour.length_ns() as f64;
                prop_assert!(charged >= hours - 1e-9 && charged < hours + one + 1e-9);
            }
        }

        #[test]
        fn the_next_unit_begins_within_one(from in 0u64..1 << 50, after in 0u64..1 << 50) {
            let left = BillingUnit::Hour.left_ns(from, from + after, 0);
            prop_assert!(left > 0 && left <= BillingUnit::Hour.length_ns());
            prop_assert_eq!((after + left) % BillingUnit::Hour.length_ns(), 0);
        }
    }
}

//! A registry and its agents for a day, through loss, duplicates, reordering, partitions and
//! clocks that jump; held after every message against what must be (`oracle`).
//!
//! The example `simulate_registry` runs the same at any size.

mod agent;
mod world;

pub(crate) use world::{Scenario, run};

/// What each seed must show.
#[cfg(test)]
mod tests {
    use super::{Scenario, run};

    const HOUR_S: u64 = 3600;

    #[test]
    fn no_living_cache_is_missing_and_no_dead_one_stays() {
        for seed in 0..64 {
            run(&Scenario { agents: 150, seconds: 2 * HOUR_S, seed });
        }
    }

    #[test]
    fn the_same_seed_is_the_same_day() {
        let scenario = Scenario { agents: 60, seconds: HOUR_S, seed: 7 };
        let first = run(&scenario);
        assert_eq!(first, run(&scenario));
        assert_ne!(first.digest, run(&Scenario { seed: 8, ..scenario }).digest);
    }

    #[test]
    fn every_kind_of_trouble_happens() {
        let day = run(&Scenario { agents: 300, seconds: 6 * HOUR_S, seed: 3 });
        for (what, count) in [
            ("renewed", day.renewed),
            ("joined", day.joined),
            ("replaced", day.replaced),
            ("expired", day.expired),
            ("goodbyes", day.goodbyes),
            ("stale", day.stale),
            ("heals", day.heals),
        ] {
            assert!(count > 0, "{what} never happened");
        }
    }
}

//! What windows say, made ready for fitting: those at nearly one rate taken together as a level,
//! the service time at the lowest rates, and the completions of a saturated server.

use crate::ranked::Ranked;
use crate::window::{Phase, Saturated, Window};
use plimsoll_stats::Histogram;
use std::collections::BTreeMap;

/// What has been seen, made ready for fitting.
#[derive(Debug)]
pub struct Evidence<'a> {
    pub(super) levels: Vec<Level<'a>>,
    /// What each window saw of a saturated server, where it completed enough to tell: one that was
    /// overloaded, and one that had so much to do by chance.
    pub(super) overloaded: Vec<Saturated>,
    pub(super) by_chance: Vec<Saturated>,
    pub(super) service: Histogram,
    /// The mean rate at which `service` was measured.
    pub(super) service_rate: f64,
}

/// Windows at nearly the same rate, taken together.
#[derive(Debug, Default)]
pub(super) struct Level<'a> {
    /// Its number, by the rate that was offered.
    pub(super) number: i64,
    /// Mean rate of the counted requests.
    pub(super) rate: f64,
    pub(super) counted_s: f64,
    pub(super) response: Ranked,
    pub(super) windows: Vec<&'a Window>,
}

/// Rates that differ by less than this share are one level.
const SAME: f64 = 0.01;

/// The number of the level that a rate is of.
pub(super) fn level_of(rate_per_s: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "some thousands at most")]
    let number = (rate_per_s.ln() / SAME).round() as i64;
    number
}

impl<'a> Evidence<'a> {
    /// Takes what is of use from all windows.
    #[must_use]
    pub fn of(windows: impl IntoIterator<Item = &'a Window>) -> Self {
        let (mut overloaded, mut by_chance) = (Completions::default(), Completions::default());
        let mut is_ramp = false;
        let mut levels: BTreeMap<i64, Level> = BTreeMap::new();
        for window in windows {
            // A server recovers from what was before.
            if window.phase != Phase::Recover {
                is_ramp = window.phase == Phase::Ramp;
            }
            if is_ramp { &mut overloaded } else { &mut by_chance }.add(window.saturated);
            if window.phase == Phase::Recover || window.counted() == 0 {
                continue;
            }
            let number = level_of(window.rate_per_s);
            let level = levels.entry(number).or_default();
            level.number = number;
            level.response.add(&window.response);
            level.counted_s += window.counted_s;
            level.rate = level.response.count() as f64 / level.counted_s;
            level.windows.push(window);
        }
        let levels: Vec<Level> = levels.into_values().collect();
        let (service, service_rate) = service(&levels);
        let (overloaded, by_chance) = (overloaded.all(), by_chance.all());
        Self { levels, overloaded, by_chance, service, service_rate }
    }

    /// A first guess of the saturation.
    pub(super) fn first_saturation(&self, most: f64) -> f64 {
        let highest = self.levels.last().map_or(0.0, |level| level.rate);
        // Of several the middle one: a server may have been disturbed.
        let all = self.overloaded.iter().chain(&self.by_chance);
        let mut seen: Vec<f64> = all.map(Saturated::per_s).collect();
        seen.sort_by(f64::total_cmp);
        if let Some(middle) = seen.get(seen.len() / 2) {
            return middle.max(1.02 * highest);
        }
        if most.is_finite() { (1.05 * highest).max(0.9 * most) } else { 1.5 * highest }
    }
}

/// Completions of a saturated server, window by window; those of few are taken together with the
/// ones after them.
#[derive(Default)]
struct Completions {
    enough: Vec<Saturated>,
    few: Saturated,
}

impl Completions {
    fn add(&mut self, seen: Saturated) {
        self.few.add(seen);
        if self.few.completions >= ENOUGH_COMPLETIONS {
            self.enough.push(std::mem::take(&mut self.few));
        }
    }

    fn all(mut self) -> Vec<Saturated> {
        if self.few.completions > 0
            && let Some(last) = self.enough.last_mut()
        {
            last.add(self.few);
        }
        self.enough
    }
}

/// The response times at the lowest rates, and their mean rate.
fn service(levels: &[Level<'_>]) -> (Histogram, f64) {
    let highest = levels.last().map_or(0.0, |level| level.rate);
    let (mut sum, mut weighted) = (Histogram::new(), 0.0);
    for level in levels {
        if sum.count() >= ENOUGH_SERVICE && level.rate > 0.15 * highest {
            break;
        }
        sum.add(&level.response.times);
        weighted += level.rate * level.response.times.count() as f64;
    }
    let rate = weighted / (sum.count().max(1)) as f64;
    (sum, rate)
}

/// So many completions tell the saturation.
const ENOUGH_COMPLETIONS: u64 = 20;
/// So many requests tell the service time well enough.
const ENOUGH_SERVICE: u64 = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::Offer;

    fn window(phase: Phase, completions: u64) -> Window {
        let offer = Offer {
            rate_per_s: 10.0,
            seconds: 1.0,
            settle_s: 0.0,
            phase,
            may_cut: true,
            fresh: false,
        };
        let mut window = Window::begin(&offer, 0.0);
        window.saturated = Saturated { completions, seconds: 1.0 };
        window
    }

    /// The ramp ends with an overload; what is full afterwards is so by chance, until a ramp goes
    /// on.
    #[test]
    fn a_server_recovers_from_what_was_before() {
        use Phase::{Check, Ramp, Recover, Search};
        let phases = [Ramp, Recover, Search, Recover, Ramp, Recover, Check];
        let windows: Vec<Window> =
            phases.into_iter().zip(100..).map(|(phase, n)| window(phase, n)).collect();
        let evidence = Evidence::of(&windows);
        let counts = |all: &[Saturated]| all.iter().map(|one| one.completions).collect::<Vec<_>>();
        assert_eq!(counts(&evidence.overloaded), [100, 101, 104, 105]);
        assert_eq!(counts(&evidence.by_chance), [102, 103, 106]);
    }

    #[test]
    fn few_completions_are_taken_together_with_those_after_them() {
        let seen = [30, 5, 16, 40, 7].map(|n| window(Phase::Ramp, n));
        let counts: Vec<u64> =
            Evidence::of(&seen).overloaded.iter().map(|one| one.completions).collect();
        assert_eq!(counts, [30, 21, 47]);
    }
}

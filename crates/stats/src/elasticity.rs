//! How well a supply of servers follows the demand for them: the elasticity metrics of SPEC's
//! research group.
//!
//! With demand d(t) and supply s(t) over a time T (N. Herbst, S. Kounev, R. Reussner, *Elasticity
//! in cloud computing*, ICAC 2013; N. Herbst et al., *Quantifying cloud performance and
//! dependability*, ACM TOMPECS 3(4), 2018):
//!
//! ```text
//! accuracy under   1/T ∫ max(d − s, 0) dt      servers      timeshare under   1/T ∫ [d > s] dt
//! accuracy over    1/T ∫ max(s − d, 0) dt                   timeshare over    1/T ∫ [s > d] dt
//! normalised       the same of (d − s) / d, and of (s − d) / d
//! jitter           (Σ|Δs| − Σ|Δd|) / T         servers per second; above 0 it adapts too much
//! ```
//!
//! Both are step functions; a piece of time is a duration with the two values.

/// A piece of time within which neither changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Piece {
    /// Its length, seconds.
    pub seconds: f64,
    /// Servers that would be needed.
    pub demand: f64,
    /// Servers that were ready.
    pub supply: f64,
}

/// How far and how long the supply was off to one side.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Off {
    /// By how many servers, in the mean over all the time.
    pub accuracy: f64,
    /// By which share of the demand, in the mean over all the time.
    pub normalised: f64,
    /// For which share of the time.
    pub timeshare: f64,
}

/// All of it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Elasticity {
    /// Too few servers.
    pub under: Off,
    /// Too many servers.
    pub over: Off,
    /// Servers that were added or removed beyond what the demand changed by, per second.
    pub jitter_per_s: f64,
}

impl Elasticity {
    /// Of pieces of time in order; all zero where they have no length.
    #[must_use]
    pub fn of(pieces: &[Piece]) -> Self {
        let mut all = Self::default();
        let total: f64 = pieces.iter().map(|piece| piece.seconds).sum();
        if total <= 0.0 {
            return all;
        }
        for &Piece { seconds, demand, supply } in pieces {
            let share = seconds / total;
            all.under.add(share, demand - supply, demand);
            all.over.add(share, supply - demand, demand);
        }
        let changes = pieces.windows(2).map(|pair| {
            (pair[1].supply - pair[0].supply).abs() - (pair[1].demand - pair[0].demand).abs()
        });
        all.jitter_per_s = changes.sum::<f64>() / total;
        all
    }

    /// The four figures, normalised, as one: (Σ mᵏ)^(1/k) of per cents, k their number.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        let Self { under, over, .. } = self;
        let all = [under.normalised, over.normalised, under.timeshare, over.timeshare];
        all.iter().map(|share| (100.0 * share).powi(4)).sum::<f64>().powf(0.25)
    }
}

impl Off {
    fn add(&mut self, share: f64, off: f64, demand: f64) {
        if off > 0.0 {
            self.accuracy += share * off;
            self.normalised += share * off / demand.max(1.0);
            // Shares are rounded: all of them are no more than all.
            self.timeshare = (self.timeshare + share).min(1.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(of: &[(f64, f64, f64)]) -> Vec<Piece> {
        of.iter().map(|&(seconds, demand, supply)| Piece { seconds, demand, supply }).collect()
    }

    fn close(found: f64, wanted: f64) {
        assert!((found - wanted).abs() < 1e-12, "{found} for {wanted}");
    }

    #[test]
    fn a_supply_that_follows_at_once_is_off_by_nothing() {
        let all = Elasticity::of(&pieces(&[(60.0, 2.0, 2.0), (60.0, 4.0, 4.0), (60.0, 1.0, 1.0)]));
        assert_eq!(all, Elasticity::default());
        assert_eq!(Elasticity::of(&[]), Elasticity::default());
    }

    #[test]
    fn a_late_supply_is_short_and_then_too_great() {
        let all = Elasticity::of(&pieces(&[
            (60.0, 2.0, 2.0),
            (20.0, 4.0, 2.0),
            (40.0, 4.0, 4.0),
            (30.0, 1.0, 4.0),
            (30.0, 1.0, 1.0),
        ]));
        close(all.under.accuracy, 2.0 / 9.0);
        close(all.over.accuracy, 0.5);
        close(all.under.normalised, 1.0 / 18.0);
        close(all.over.normalised, 0.5);
        close(all.under.timeshare, 1.0 / 9.0);
        close(all.over.timeshare, 1.0 / 6.0);
        close(all.jitter_per_s, 0.0);
        assert!((all.deviation() - 50.185_672_551_447_94).abs() < 1e-9, "{}", all.deviation());
    }

    #[test]
    fn a_supply_that_changes_without_need_jitters() {
        let all = Elasticity::of(&pieces(&[
            (30.0, 2.0, 2.0),
            (30.0, 2.0, 3.0),
            (30.0, 4.0, 4.0),
            (30.0, 4.0, 3.0),
            (30.0, 1.0, 1.0),
            (30.0, 1.0, 2.0),
        ]));
        close(all.jitter_per_s, 1.0 / 180.0);
        close(all.under.timeshare, 1.0 / 6.0);
        assert!((all.deviation() - 36.122_820_411_096_505).abs() < 1e-9, "{}", all.deviation());
    }

    /// The example of BUNGEE's own tests.
    #[test]
    fn agrees_with_bungee() {
        let demand = [(0, 1), (7, 5), (16, 3), (17, 2), (19, 4), (20, 4)];
        let supply = [(0, 1), (2, 2), (3, 1), (5, 3), (9, 7), (11, 6), (12, 8), (14, 2), (20, 2)];
        let at = |steps: &[(u32, u32)], t: u32| {
            steps.iter().rev().find(|(from, _)| *from <= t).map_or(0.0, |(_, n)| f64::from(*n))
        };
        let second = |t| Piece { seconds: 1.0, demand: at(&demand, t), supply: at(&supply, t) };
        let all = Elasticity::of(&(0..20).map(second).collect::<Vec<_>>());
        close(all.over.accuracy, 0.8);
        close(all.under.accuracy, 0.65);
        close(all.over.timeshare, 0.4);
        close(all.under.timeshare, 0.3);
    }
}

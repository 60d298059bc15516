//! What stakes come to: the payout rule, in integer cents, without clock, store or network.
//!
//! A payout is ⌊stake × (pool − rake) / Σ stakes on the outcome⌋. What is rounded away goes to the
//! house, with the rake. Where nobody was right all have their stakes back, and the house nothing.
//! Products are taken in 128 bits, so no stake and no pool overflows them.

/// An amount of money in cents.
pub(crate) type Cents = i64;

/// What a new user has.
pub(crate) const GRANT: Cents = 100_000;

/// The largest stake of one prediction.
pub(crate) const MAX_STAKE: Cents = 1_000_000_000;

/// The house's share of a pool, in hundredths of a percent: 500 is 5%.
pub(crate) type BasisPoints = u16;

/// All of a pool, in the unit of [`BasisPoints`].
pub(crate) const WHOLE: BasisPoints = 10_000;

/// One accepted stake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stake {
    /// Which of the pool's outcomes, counted from 0.
    pub(crate) outcome: u32,
    pub(crate) cents: Cents,
}

/// How a pool ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// This outcome came about.
    Outcome(u32),
    /// It cannot be told, or must not count: stakes go back.
    Void,
}

/// What everybody receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settlement {
    /// One for each stake, in their order.
    pub(crate) payouts: Vec<Cents>,
    /// Rake and what was rounded away.
    pub(crate) kept: Cents,
    /// The stakes went back.
    pub(crate) refunded: bool,
}

/// Divides a pool among its stakes.
pub(crate) fn settle(stakes: &[Stake], verdict: Verdict, rake: BasisPoints) -> Settlement {
    let sum = |of: &dyn Fn(&Stake) -> bool| -> i128 {
        stakes.iter().filter(|stake| of(stake)).map(|stake| i128::from(stake.cents)).sum()
    };
    let pool = sum(&|_| true);
    let right = match verdict {
        Verdict::Outcome(outcome) => sum(&|stake| stake.outcome == outcome),
        Verdict::Void => 0,
    };
    if right == 0 {
        let payouts = stakes.iter().map(|stake| stake.cents).collect();
        return Settlement { payouts, kept: 0, refunded: true };
    }
    let divided = pool - pool * i128::from(rake.min(WHOLE)) / i128::from(WHOLE);
    let payout = |stake: &Stake| match verdict {
        Verdict::Outcome(outcome) if stake.outcome == outcome => {
            i128::from(stake.cents) * divided / right
        }
        Verdict::Outcome(_) | Verdict::Void => 0,
    };
    let payouts: Vec<i128> = stakes.iter().map(payout).collect();
    let kept = pool - payouts.iter().sum::<i128>();
    // No payout is above the pool, which is money of users: all of it together fits.
    let cents = |amount: i128| Cents::try_from(amount).unwrap_or(Cents::MAX);
    Settlement {
        payouts: payouts.into_iter().map(cents).collect(),
        kept: cents(kept),
        refunded: false,
    }
}

/// Whether a stake is within the limits of one prediction.
pub(crate) fn is_a_stake(cents: Cents) -> bool {
    (1..=MAX_STAKE).contains(&cents)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stakes(of: &[(u32, Cents)]) -> Vec<Stake> {
        of.iter().map(|&(outcome, cents)| Stake { outcome, cents }).collect()
    }

    #[test]
    fn a_pool_is_divided_by_the_published_rule() {
        // 600 in the pool, 5% of it are 30; 570 for 100 and 200 on the right outcome.
        let all = stakes(&[(0, 100), (1, 300), (0, 200)]);
        let settled = settle(&all, Verdict::Outcome(0), 500);
        let expected = Settlement { payouts: vec![190, 0, 380], kept: 30, refunded: false };
        assert_eq!(settled, expected);
        // 7 × 10 / 3 and twice that leave a cent, which is the house's.
        let all = stakes(&[(0, 1), (0, 2), (1, 7)]);
        let settled = settle(&all, Verdict::Outcome(0), 0);
        assert_eq!((settled.payouts, settled.kept), (vec![3, 6, 0], 1));
    }

    #[test]
    fn stakes_go_back_when_nobody_was_right_or_it_does_not_count() {
        let all = stakes(&[(0, 100), (1, 300)]);
        for verdict in [Verdict::Outcome(2), Verdict::Void] {
            let settled = settle(&all, verdict, 500);
            let expected = Settlement { payouts: vec![100, 300], kept: 0, refunded: true };
            assert_eq!(settled, expected);
        }
        assert_eq!(settle(&[], Verdict::Outcome(0), 500).payouts, Vec::<Cents>::new());
    }

    #[test]
    fn the_largest_amounts_do_not_overflow() {
        // A product of 10^9 and 9 × 10^18 needs 93 bits.
        let all = stakes(&[(0, MAX_STAKE), (0, 4_500_000_000_000_000_000), (1, 4 << 60)]);
        let settled = settle(&all, Verdict::Outcome(0), 1);
        let all: i128 = all.iter().map(|stake| i128::from(stake.cents)).sum();
        let paid: i128 = settled.payouts.iter().copied().map(i128::from).sum();
        assert_eq!(paid + i128::from(settled.kept), all);
        assert_eq!(settled.kept, 911_168_601_942_739, "a hundredth of a percent, and a cent");
    }

    #[test]
    fn a_stake_has_limits() {
        let is = [-1, 0, 1, MAX_STAKE, MAX_STAKE + 1].map(is_a_stake);
        assert_eq!(is, [false, false, true, true, false]);
    }

    /// What a user does: stakes on a pool's outcome, or the pool ends.
    #[derive(Debug, Clone)]
    enum Step {
        Stake { user: usize, pool: usize, outcome: u32, cents: Cents },
        End { pool: usize, verdict: Verdict },
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let verdict = prop_oneof![(0..4u32).prop_map(Verdict::Outcome), Just(Verdict::Void)];
        let cents = prop_oneof![-2..50_000i64, Just(GRANT), Just(MAX_STAKE), 1..10i64];
        let stake = (0..5usize, 0..3usize, 0..3u32, cents)
            .prop_map(|(user, pool, outcome, cents)| Step::Stake { user, pool, outcome, cents });
        let end = (0..3usize, verdict).prop_map(|(pool, verdict)| Step::End { pool, verdict });
        proptest::collection::vec(prop_oneof![6 => stake, 1 => end], 1..60)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        #[test]
        fn no_money_is_made_or_lost(steps in steps(), rake in 0..=WHOLE) {
            let mut balances = [GRANT; 5];
            let mut pools: [Vec<(usize, Stake)>; 3] = Default::default();
            let mut house = 0;
            for step in steps {
                match step {
                    Step::Stake { user, pool, outcome, cents } => {
                        if is_a_stake(cents) && balances[user] >= cents {
                            balances[user] -= cents;
                            pools[pool].push((user, Stake { outcome, cents }));
                        }
                    }
                    Step::End { pool, verdict } => {
                        let staked = std::mem::take(&mut pools[pool]);
                        let all: Vec<Stake> = staked.iter().map(|(_, stake)| *stake).collect();
                        let settled = settle(&all, verdict, rake);
                        prop_assert!(settled.kept >= 0 && settled.payouts.len() == all.len());
                        for ((user, _), payout) in staked.iter().zip(&settled.payouts) {
                            prop_assert!(*payout >= 0);
                            balances[*user] += payout;
                        }
                        house += settled.kept;
                    }
                }
                let held: Cents =
                    pools.iter().flatten().map(|(_, stake)| stake.cents).sum();
                prop_assert_eq!(balances.iter().sum::<Cents>() + held + house, 5 * GRANT);
                prop_assert!(balances.iter().all(|balance| *balance >= 0));
            }
        }
    }
}

//! Whom a simulated server lets in: some servers refuse at once what they cannot do.

use plimsoll_workload::random::Stream;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Which requests are let in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Admission {
    /// All of them.
    All,
    /// Those that find fewer than so many others in the server, waiting or being served: M/G/c/K.
    UpTo {
        /// So many may be in the server at once.
        most: usize,
    },
    /// Those that find a token: a bucket that is filled steadily.
    Tokens {
        /// Tokens a second.
        per_s: f64,
        /// So many at most are kept.
        burst: f64,
    },
    /// All but a share of them, by chance: one that fails whatever the load is.
    AllBut {
        /// The share that is refused.
        share: f64,
    },
    /// The first so many of each second of the clock.
    EachSecond {
        /// So many a second.
        most: u32,
    },
}

/// An admission and its state.
#[derive(Debug, Clone)]
pub(super) struct Door {
    admission: Admission,
    /// When those in the server leave it, nanoseconds; the first one on top.
    leave_ns: BinaryHeap<Reverse<u64>>,
    tokens: f64,
    since_s: f64,
    let_in: u32,
    chance: Stream,
}

impl Door {
    pub(super) fn new(admission: Admission) -> Self {
        let tokens = if let Admission::Tokens { burst, .. } = admission { burst } else { 0.0 };
        Self {
            admission,
            leave_ns: BinaryHeap::new(),
            tokens,
            since_s: 0.0,
            let_in: 0,
            chance: Stream::named(0, "capacity/refused"),
        }
    }

    /// Whether a request that arrives now is let in.
    #[inline]
    pub(super) fn admits(&mut self, at_s: f64) -> bool {
        match self.admission {
            Admission::All => true,
            Admission::AllBut { share } => self.chance.uniform() >= share,
            Admission::UpTo { most } => {
                let now = nanoseconds(at_s);
                while self.leave_ns.peek().is_some_and(|leaves| leaves.0 <= now) {
                    self.leave_ns.pop();
                }
                self.leave_ns.len() < most
            }
            Admission::Tokens { per_s, burst } => {
                self.tokens = (self.tokens + (at_s - self.since_s) * per_s).min(burst);
                self.since_s = at_s;
                let has_one = self.tokens >= 1.0;
                self.tokens -= if has_one { 1.0 } else { 0.0 };
                has_one
            }
            Admission::EachSecond { most } => {
                if at_s.floor() > self.since_s {
                    (self.since_s, self.let_in) = (at_s.floor(), 0);
                }
                self.let_in += 1;
                self.let_in <= most
            }
        }
    }

    /// A request was let in, and leaves the server at a time.
    #[inline]
    pub(super) fn let_in(&mut self, leaves_s: f64) {
        if let Admission::UpTo { .. } = self.admission {
            self.leave_ns.push(Reverse(nanoseconds(leaves_s)));
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 2^63 ns")]
fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conduct::Site;
    use crate::simulated::Simulated;
    use crate::window::{Offer, Phase, Window};
    use plimsoll_workload::distribution::Distribution;
    use plimsoll_workload::service_model::{ServiceModel, ServiceTime};

    fn window(service: &str, admission: Admission, rate_per_s: f64, seconds: f64) -> Window {
        let model = ServiceModel::new(ServiceTime::Law(Distribution::parse(service).unwrap()));
        let mut world = Simulated::new(model, 200_000_000, 3).with_admission(admission);
        let (settle_s, phase, may_cut, fresh) = (0.0, Phase::Search, false, false);
        let Ok(window) =
            world.window(&Offer { rate_per_s, seconds, settle_s, phase, may_cut, fresh });
        window
    }

    /// M/M/1/6 at nine tenths: (1 − ρ) ρ⁶ / (1 − ρ⁷) are refused (L. Kleinrock 1975, 3.6).
    #[test]
    fn a_full_server_refuses_as_many_as_the_formula_has_it() {
        let of = window("exp:10ms", Admission::UpTo { most: 6 }, 90.0, 2000.0);
        let refused = of.refused as f64 / of.counted() as f64;
        let (one, seven) = (0.1 * 0.9_f64.powi(6), 1.0 - 0.9_f64.powi(7));
        assert!((refused / (one / seven) - 1.0).abs() < 0.05, "{refused}");
        assert_eq!((of.refused, of.counted_failed), (of.response.unanswered, of.refused));
    }

    #[test]
    fn a_bucket_and_a_second_let_in_what_they_hold() {
        for admission in
            [Admission::Tokens { per_s: 100.0, burst: 10.0 }, Admission::EachSecond { most: 100 }]
        {
            let of = window("const:1ms", admission, 200.0, 100.0);
            let per_s = of.succeeded as f64 / of.seconds;
            assert!((99.0..=101.0).contains(&per_s), "{per_s}/s by {admission:?}");
        }
    }
}

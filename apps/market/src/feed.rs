//! Matches that play themselves: kick-off, goals, the end. What happens follows from the seed and
//! the number of the match alone. Demand is lumpy, as the questions come with the events.

use std::time::Duration;

use tokio::time::Instant;

use crate::money::{BasisPoints, Verdict};
use crate::random::Seeded;
use crate::resolver::Resolver;
use crate::store::{NewPool, StoreError};

const TEAMS: [&str; 16] = [
    "Ajax",
    "Benfica",
    "Celtic",
    "Dynamo",
    "Everton",
    "Fiorentina",
    "Galatasaray",
    "Hibernian",
    "Inter",
    "Juventus",
    "Köln",
    "Lazio",
    "Malmö",
    "Napoli",
    "Olympiakos",
    "Porto",
];

/// How long the feed waits when the database did not do what it was asked.
const PAUSE: Duration = Duration::from_secs(1);

/// Something that happens in a match.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Happening {
    /// Thousandths of the match.
    at: u32,
    what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    /// A question, which stays open for so many thousandths; pools count from 0 in this order.
    Open { question: String, outcomes: Vec<String>, open_for: u32 },
    /// The pool's outcome is known.
    Resolve { pool: usize, outcome: u32 },
}

/// What happens in a match, and its name.
fn plan(seed: u64, number: u64) -> (String, Vec<Happening>) {
    let mut random = Seeded::new(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut team = |not: usize| loop {
        let one = usize::try_from(random.below(16)).unwrap_or_default();
        if one != not {
            break one;
        }
    };
    let home = team(TEAMS.len());
    let away = team(home);
    let [home, away] = [TEAMS[home], TEAMS[away]];
    let mut goals: Vec<(u32, u32)> = (0..random.below(6))
        .map(|_| (100 + small(&mut random, 800), small(&mut random, 2)))
        .collect();
    goals.sort_unstable();
    goals.dedup_by_key(|goal| goal.0);
    let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let open = |at, question: String, outcomes, open_for| Happening {
        at,
        what: What::Open { question, outcomes, open_for },
    };
    let mut all = vec![open(0, "Who wins?".to_owned(), named(&[home, "nobody", away]), 750)];
    // The question for a goal is open from the goal before it on.
    let mut before = 0;
    for number in 0..=goals.len() {
        let question = format!("Who scores goal {}?", number + 1);
        let (end, outcome) = goals.get(number).copied().unwrap_or((999, 2));
        all.push(open(before, question, named(&[home, away, "nobody"]), end - before));
        all.push(Happening { at: end, what: What::Resolve { pool: number + 1, outcome } });
        before = end;
    }
    let of = |team| goals.iter().filter(|goal| goal.1 == team).count();
    let outcome = match of(0).cmp(&of(1)) {
        std::cmp::Ordering::Greater => 0,
        std::cmp::Ordering::Equal => 1,
        std::cmp::Ordering::Less => 2,
    };
    all.push(Happening { at: 1_000, what: What::Resolve { pool: 0, outcome } });
    all.sort_by_key(|happening| happening.at);
    (format!("{home} – {away}"), all)
}

fn small(random: &mut Seeded, end: u32) -> u32 {
    u32::try_from(random.below(u64::from(end))).unwrap_or_default()
}

/// Plays matches of a seed.
#[derive(Clone)]
pub(crate) struct Feed {
    pub(crate) resolver: Resolver,
    pub(crate) seed: u64,
    pub(crate) match_time: Duration,
    pub(crate) rake: BasisPoints,
}

impl Feed {
    /// Plays one match after the other, for as long as the process lives.
    pub(crate) async fn play(self) {
        loop {
            if self.play_once().await.is_err() {
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    /// Plays the next match. What an earlier process left open is ended first: nobody knows how.
    async fn play_once(&self) -> Result<(), StoreError> {
        let (pools, games) = self.resolver.store.left_open(self.seed).await?;
        for pool in pools {
            self.resolver.close(pool).await?;
            self.resolver.resolve(pool, Verdict::Void).await?;
        }
        for game in games {
            self.resolver.end(game).await?;
        }
        let (name, happenings) = plan(self.seed, self.resolver.store.begun(self.seed).await?);
        let game = self.resolver.begin(&name, Some(self.seed)).await?;
        let (start, mut pools) = (Instant::now(), Vec::new());
        for Happening { at, what } in happenings {
            tokio::time::sleep_until(start + self.of_match(at)).await;
            match what {
                What::Open { question, outcomes, open_for } => {
                    let open_for = self.of_match(open_for).max(Duration::from_millis(1));
                    let pool = NewPool { game, question, outcomes, open_for, rake: self.rake };
                    pools.push(self.resolver.open(&pool).await?);
                }
                What::Resolve { pool, outcome } => {
                    if let Some(Some(pool)) = pools.get(pool) {
                        self.resolver.close(*pool).await?;
                        self.resolver.resolve(*pool, Verdict::Outcome(outcome)).await?;
                    }
                }
            }
        }
        self.resolver.end(game).await?;
        Ok(())
    }

    fn of_match(&self, thousandths: u32) -> Duration {
        self.match_time * thousandths / 1_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_match_follows_from_its_seed_and_every_question_is_answered_once_after_its_pool() {
        assert_eq!(plan(7, 3), plan(7, 3));
        assert_ne!(plan(7, 3), plan(7, 4));
        assert_ne!(plan(7, 3), plan(8, 3));
        for number in 0..200 {
            let (name, all) = plan(7, number);
            assert!(all.is_sorted_by_key(|one| one.at), "{name}: {all:?}");
            let mut open: Vec<(u32, usize)> = Vec::new();
            let mut answered = Vec::new();
            for Happening { at, what } in &all {
                match what {
                    What::Open { outcomes, open_for, .. } => {
                        open.push((at + open_for, outcomes.len()));
                    }
                    What::Resolve { pool, outcome } => {
                        let (closes, outcomes) = open[*pool];
                        assert!(closes <= *at, "{name}: {all:?}");
                        assert!(usize::try_from(*outcome).unwrap() < outcomes);
                        answered.push(*pool);
                    }
                }
            }
            answered.sort_unstable();
            assert_eq!(answered, (0..open.len()).collect::<Vec<_>>(), "{name}: {all:?}");
        }
    }
}

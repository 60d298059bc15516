//! Games and their pools, as they are told, and what makes a prediction be refused.

use serde::{Deserialize, Serialize};

use crate::money::{Cents, is_a_stake};

/// The most characters of a name or a question.
pub(crate) const MAX_TEXT: usize = 100;

/// The most outcomes of a pool.
pub(crate) const MAX_OUTCOMES: usize = 16;

/// A match that is played, or anything else about which questions are asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Game {
    pub(crate) game: u64,
    pub(crate) name: String,
    /// `open` or `ended`.
    pub(crate) state: String,
}

/// A question with the outcomes on which users stake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pool {
    pub(crate) pool: u64,
    pub(crate) question: String,
    pub(crate) outcomes: Vec<String>,
    /// Unix time in milliseconds.
    pub(crate) closes_at: u64,
    pub(crate) state: State,
}

/// A pool goes from `open` to `closed` to one of the two others, and never back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// Stakes are taken until `closes_at`, by the database's clock.
    Open,
    /// No more stakes, and nothing paid yet.
    Closed,
    /// Its outcome is known and paid.
    Resolved,
    /// The stakes went back.
    Void,
}

impl State {
    /// The state of this word, as the database has it.
    pub(crate) fn of(word: &str) -> Option<Self> {
        let all = [Self::Open, Self::Closed, Self::Resolved, Self::Void];
        all.into_iter().find(|state| state.word() == word)
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Resolved => "resolved",
            Self::Void => "void",
        }
    }
}

/// Why a prediction stakes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Refusal {
    /// The pool takes no more stakes.
    Closed,
    /// The balance is smaller than the stake.
    Funds,
    /// The stake is not from 1 to 10^9 cents.
    Stake,
    /// There is no such pool, or no such outcome of it.
    Unknown,
}

impl Refusal {
    /// The refusal of this word, as the database has it.
    pub(crate) fn of(word: &str) -> Option<Self> {
        let all = [Self::Closed, Self::Funds, Self::Stake, Self::Unknown];
        all.into_iter().find(|refusal| refusal.word() == word)
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Funds => "funds",
            Self::Stake => "stake",
            Self::Unknown => "unknown",
        }
    }
}

/// What a user predicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Prediction {
    pub(crate) pool: u64,
    /// Which of the pool's outcomes, counted from 0.
    pub(crate) outcome: u32,
    pub(crate) stake: Cents,
    /// The user's number of it: the same again gets the same answer and stakes nothing.
    pub(crate) n: u64,
}

/// What the database tells of a pool that somebody stakes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) takes_stakes: bool,
    pub(crate) outcomes: usize,
}

/// Why a prediction is refused whatever its user has.
pub(crate) fn refuses(pool: Option<Standing>, prediction: &Prediction) -> Option<Refusal> {
    let Some(pool) = pool else { return Some(Refusal::Unknown) };
    if usize::try_from(prediction.outcome).map_or(true, |outcome| outcome >= pool.outcomes) {
        Some(Refusal::Unknown)
    } else if !is_a_stake(prediction.stake) {
        Some(Refusal::Stake)
    } else if !pool.takes_stakes {
        Some(Refusal::Closed)
    } else {
        None
    }
}

/// What is wrong with a text that people will read, if anything is.
pub(crate) fn fault_of_text(what: &str, text: &str) -> Option<String> {
    let length = text.chars().count();
    if length == 0 || length > MAX_TEXT {
        Some(format!("{what} has {length} characters: give it 1 to {MAX_TEXT}"))
    } else if text.chars().any(char::is_control) {
        Some(format!("{what} has a control character: leave it out"))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_whatever_the_user_has() {
        let open = Standing { takes_stakes: true, outcomes: 2 };
        let closed = Standing { takes_stakes: false, ..open };
        let of = |outcome, stake| Prediction { pool: 1, outcome, stake, n: 0 };
        assert_eq!(refuses(None, &of(0, 1)), Some(Refusal::Unknown));
        assert_eq!(refuses(Some(open), &of(2, 1)), Some(Refusal::Unknown));
        assert_eq!(refuses(Some(open), &of(1, 0)), Some(Refusal::Stake));
        assert_eq!(refuses(Some(open), &of(1, 1_000_000_001)), Some(Refusal::Stake));
        assert_eq!(refuses(Some(closed), &of(1, 1)), Some(Refusal::Closed));
        assert_eq!(refuses(Some(open), &of(1, 1)), None);
    }

    #[test]
    fn words_are_read_back() {
        for state in [State::Open, State::Closed, State::Resolved, State::Void] {
            assert_eq!(State::of(state.word()), Some(state));
        }
        for refusal in [Refusal::Closed, Refusal::Funds, Refusal::Stake, Refusal::Unknown] {
            assert_eq!(Refusal::of(refusal.word()), Some(refusal));
        }
        assert_eq!((State::of("shut"), Refusal::of("no")), (None, None));
    }

    #[test]
    fn texts_have_bounds() {
        assert_eq!(fault_of_text("the name", "Ann"), None);
        assert!(fault_of_text("the name", "").is_some());
        assert!(fault_of_text("the name", &"ä".repeat(101)).is_some());
        assert_eq!(fault_of_text("the name", &"ä".repeat(100)), None);
        assert!(fault_of_text("the name", "a\nb").is_some());
    }
}

//! What is known of an instance by its health checks, and when it takes no more requests for them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// So many wrong answers in a row put an instance out: a single one is a hiccup of what it asks in
/// turn.
const WRONG_IN_A_ROW: u32 = 3;
/// An answer that is not there after so long may never come.
const SLOW: Duration = Duration::from_secs(1);

/// What is wrong with an instance, as its last health check has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ill {
    /// It cannot be connected to: it has ended, or refuses.
    Gone,
    /// It answers wrongly: with this status, or with what is no answer.
    Wrong(Option<u16>),
    /// It does not answer in time.
    Late,
}

/// What is known of an instance by its health checks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Health {
    /// What was wrong the last time.
    ill: Option<Ill>,
    /// How many answers in a row were wrong.
    wrong: u32,
}

impl Health {
    /// A check has come out.
    pub(crate) fn heard(&mut self, answer: Result<(), Ill>) {
        self.ill = answer.err();
        self.wrong = match self.ill {
            Some(Ill::Wrong(_)) => self.wrong.saturating_add(1),
            _ => 0,
        };
    }

    /// What is wrong with it, where it was asked so long ago and has not answered yet.
    pub(crate) fn ill(&self, asked_for: Option<Duration>) -> Option<Ill> {
        self.ill.or_else(|| asked_for.filter(|span| *span > SLOW).map(|_| Ill::Late))
    }

    /// Whether it takes no requests by itself. `together`: whether it fails
    /// [together](fail_together) with others; then it does as long as it can be connected to.
    pub(crate) fn is_out(&self, together: bool) -> bool {
        match self.ill {
            None => false,
            Some(Ill::Gone) => true,
            Some(Ill::Wrong(_)) => self.wrong >= WRONG_IN_A_ROW && !together,
            Some(Ill::Late) => !together,
        }
    }
}

/// Whether so many instances of a pool fail together: more than half of it, and not a single one.
/// Then it is something that they share, and none is better than another.
#[must_use]
pub fn fail_together(failing: usize, of: usize) -> bool {
    failing > 1 && 2 * failing > of
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn answer() -> impl Strategy<Value = Result<(), Ill>> {
        prop_oneof![
            4 => Just(Ok(())),
            4 => Just(Err(Ill::Wrong(Some(500)))),
            1 => Just(Err(Ill::Wrong(None))),
            1 => Just(Err(Ill::Late)),
            1 => Just(Err(Ill::Gone)),
        ]
    }

    proptest! {
        #[test]
        fn who_refuses_is_out_at_once_and_who_answers_wrongly_after_three_in_a_row(
            answers in prop::collection::vec(answer(), 1..40),
        ) {
            let mut health = Health::default();
            for (at, last) in answers.iter().enumerate() {
                health.heard(*last);
                let is_wrong = |of: &Result<(), Ill>| matches!(of, Err(Ill::Wrong(_)));
                let in_a_row = answers[..=at].iter().rev().take_while(|of| is_wrong(of)).count();
                let alone = match last {
                    Ok(()) => false,
                    Err(Ill::Gone | Ill::Late) => true,
                    Err(Ill::Wrong(_)) => in_a_row >= 3,
                };
                prop_assert_eq!(health.is_out(false), alone);
                prop_assert_eq!(health.is_out(true), *last == Err(Ill::Gone));
                prop_assert_eq!(health.ill(None), last.err());
            }
        }

        #[test]
        fn no_single_one_and_no_half_fail_together(failing in 0..50_usize, well in 0..50_usize) {
            let together = fail_together(failing, failing + well);
            prop_assert_eq!(together, failing > well && failing != 1);
        }
    }

    #[test]
    fn who_has_not_answered_for_long_may_be_late() {
        let health = Health::default();
        assert_eq!(health.ill(None), None);
        assert_eq!(health.ill(Some(SLOW)), None);
        assert_eq!(health.ill(Some(SLOW * 2)), Some(Ill::Late));
        assert!(!health.is_out(false), "it may answer yet");
    }
}

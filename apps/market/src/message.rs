//! The messages of WebSocket: what clients ask, and what they are told.

use axum::extract::ws::Utf8Bytes;
use serde::{Deserialize, Serialize};

use crate::market::Shown;
use crate::money::Cents;
use crate::pool::{Game, Prediction, Refusal};

/// What a client asks. A key that nothing here has is refused: who names another user in a
/// prediction is told so, instead of staking his own money.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum ClientMessage {
    Hello { token: String, n: Option<u64> },
    Time { n: Option<u64> },
    Games { n: Option<u64> },
    Pools { game: u64, n: Option<u64> },
    Subscribe { game: u64, n: Option<u64> },
    Unsubscribe { game: u64, n: Option<u64> },
    Predict { pool: u64, outcome: u32, stake: Cents, n: u64 },
}

impl ClientMessage {
    /// What a text asks, or the number and the reason why it asks nothing.
    pub(crate) fn read(text: &str) -> Result<Self, (Option<u64>, String)> {
        serde_json::from_str(text).map_err(|error| {
            /// What an answer needs even of a message that is not understood.
            #[derive(Deserialize)]
            struct Number {
                n: Option<u64>,
            }
            let number = serde_json::from_str::<Number>(text).ok().and_then(|it| it.n);
            (number, format!("not understood: {error}"))
        })
    }
}

/// The prediction that a message asks for.
pub(crate) fn prediction(pool: u64, outcome: u32, stake: Cents, n: u64) -> Prediction {
    Prediction { pool, outcome, stake, n }
}

/// What a client is told, with the number of what it asked.
#[derive(Debug, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(crate) enum ServerMessage<'a> {
    Welcome {
        #[serde(skip_serializing_if = "Option::is_none")]
        n: Option<u64>,
        user: u64,
    },
    Time {
        #[serde(skip_serializing_if = "Option::is_none")]
        n: Option<u64>,
        at: String,
    },
    Games {
        #[serde(skip_serializing_if = "Option::is_none")]
        n: Option<u64>,
        games: &'a [Game],
    },
    Pools {
        #[serde(skip_serializing_if = "Option::is_none")]
        n: Option<u64>,
        pools: &'a [Shown],
    },
    Subscribed {
        #[serde(skip_serializing_if = "Option::is_none")]
        n: Option<u64>,
        game: u64,
        seq: u64,
    },
    Unsubscribed {
        #[serde(skip_serializing_if = "Option::is_none")]
        n: Option<u64>,
        game: u64,
    },
    Ok {
        n: u64,
        balance: Cents,
    },
    Refused {
        n: u64,
        reason: Refusal,
    },
    Reconnect {
        to: &'a str,
    },
    Error {
        #[serde(skip_serializing_if = "Option::is_none")]
        n: Option<u64>,
        reason: &'a str,
    },
}

impl ServerMessage<'_> {
    pub(crate) fn text(&self) -> Utf8Bytes {
        // Nothing in it can fail to be written.
        serde_json::to_string(self).unwrap_or_default().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_understood_is_answered_with_its_number() {
        let Err((n, reason)) = ClientMessage::read(r#"{"op":"predict","n":7,"user":3}"#) else {
            panic!()
        };
        assert_eq!(n, Some(7));
        assert!(reason.starts_with("not understood: unknown field `user`"), "{reason}");
        assert!(ClientMessage::read("[").is_err_and(|(n, _)| n.is_none()));
        assert!(ClientMessage::read(r#"{"op":"dance"}"#).is_err());
    }

    #[test]
    fn answers_begin_with_what_they_are() {
        let refused = ServerMessage::Refused { n: 7, reason: Refusal::Funds };
        assert_eq!(refused.text().as_str(), r#"{"op":"refused","n":7,"reason":"funds"}"#);
        let games = ServerMessage::Games { n: None, games: &[] };
        assert_eq!(games.text().as_str(), r#"{"op":"games","games":[]}"#);
    }
}

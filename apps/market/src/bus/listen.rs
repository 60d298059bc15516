//! What comes from Redis for subscribers, for as long as the process lives.

use std::time::Duration;

use futures_streams::StreamExt as _;
use redis::{Client, RedisError};
use tokio::sync::mpsc::Sender;
use tokio::sync::oneshot;

use super::CHANNEL;
use crate::hub::Broadcast;

/// How long after Redis was lost it is looked for again.
const PAUSE: Duration = Duration::from_millis(200);

/// One thing that was heard.
#[derive(Debug)]
pub(crate) enum Heard {
    Distribution(Broadcast),
    Resolved { game: u64, pool: u64, outcome: Option<u32> },
}

/// Listens for good, and gives what it hears, after it has said once that it does. It comes back
/// when nobody wants to hear any more.
pub(crate) async fn listen(url: &str, heard: &Sender<Heard>, ready: oneshot::Sender<()>) {
    let mut ready = Some(ready);
    while !heard.is_closed() {
        // Whatever ended it, it begins again.
        let _ = once(url, heard, &mut ready).await;
        tokio::time::sleep(PAUSE).await;
    }
}

async fn once(
    url: &str,
    heard: &Sender<Heard>,
    ready: &mut Option<oneshot::Sender<()>>,
) -> Result<(), RedisError> {
    let mut connection = Client::open(url)?.get_async_pubsub().await?;
    connection.subscribe(CHANNEL).await?;
    let mut messages = connection.into_on_message();
    if let Some(ready) = ready.take() {
        // Nobody waits any more where it took too long.
        let _ = ready.send(());
    }
    while let Some(message) = messages.next().await {
        let text: String = message.get_payload()?;
        if let Some(one) = read(&text)
            && heard.send(one).await.is_err()
        {
            return Ok(());
        }
    }
    Ok(())
}

fn read(text: &str) -> Option<Heard> {
    let (head, body) = text.split_once('\n').unwrap_or((text, ""));
    let words: Vec<&str> = head.split(' ').collect();
    match words[..] {
        ["distribution", game, pool, seq] => {
            let (game, pool, seq) = (game.parse().ok()?, pool.parse().ok()?, seq.parse().ok()?);
            Broadcast::new(game, pool, seq, body).map(Heard::Distribution)
        }
        ["resolved", game, pool, outcome] => Some(Heard::Resolved {
            game: game.parse().ok()?,
            pool: pool.parse().ok()?,
            outcome: if outcome == "-" { None } else { Some(outcome.parse().ok()?) },
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_published_is_read_and_nonsense_is_not() {
        let text = "distribution 1 2 3\n{\"seq\":3,\"skipped\":0,\"shares\":[]}";
        let Some(Heard::Distribution(one)) = read(text) else { panic!("{text}") };
        assert_eq!((one.game, one.pool, one.seq), (1, 2, 3));
        let ended = |text| match read(text) {
            Some(Heard::Resolved { game, pool, outcome }) => Some((game, pool, outcome)),
            _ => None,
        };
        assert_eq!(ended("resolved 1 2 0"), Some((1, 2, Some(0))));
        assert_eq!(ended("resolved 1 2 -"), Some((1, 2, None)));
        for text in ["", "resolved 1 2", "resolved 1 2 x", "distribution 1 2 3\n{}"] {
            assert!(read(text).is_none(), "{text}");
        }
    }
}

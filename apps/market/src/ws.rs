//! A client over WebSocket: its messages are answered one after the other, and what is pushed goes
//! out between them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use crate::hub::{Client, MAX_GAMES, Next};
use crate::market::Market;
use crate::message::{ClientMessage, ServerMessage, prediction};
use crate::rest::{Fault, Permit, bearer};
use crate::store::Answer;

/// The most bytes of a message of a client.
const MAX_MESSAGE: usize = 4 << 10;

/// The most bytes of a message that is answered with itself.
const MAX_ECHO: usize = 1 << 20;

/// What a connection reads at once: the library's own choice would be 128 KiB of memory each.
const READ_BUFFER: usize = 4 << 10;

/// How long a client may take to read what it is sent.
const PATIENCE: Duration = Duration::from_secs(60);

/// After how long of silence a client is asked whether it is still there, and then let go.
const SILENCE: Duration = Duration::from_secs(60);

/// How long a client may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(2);

/// What a session needs of its worker.
#[derive(Clone)]
pub(crate) struct Going(pub(crate) watch::Receiver<bool>);

/// Answers a handshake.
pub(crate) async fn upgrade(
    State(market): State<Market>,
    Extension(permit): Extension<Permit>,
    Extension(going): Extension<Going>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Result<Response, Fault> {
    let user = match bearer(&headers) {
        Some(token) => Some(market.user_of(token).await?.ok_or_else(Fault::token)?),
        None => None,
    };
    let upgrade = upgrade
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(0)
        .max_message_size(MAX_MESSAGE)
        .max_frame_size(MAX_MESSAGE);
    let session = move |socket| async move {
        let client = market.hub.join();
        if let Some(user) = user {
            client.is(user);
        }
        market.metrics.websockets.add(1);
        market.metrics.websockets_opened.add(1);
        let mut session =
            Session { market: &market, client, games: BTreeSet::new(), socket, going: going.0 };
        let end = session.serve().await;
        session.goodbye(end).await;
        let games: Vec<u64> = session.games.iter().copied().collect();
        market.hub.leave(&session.client, &games);
        market.metrics.websockets.take(1);
        drop(permit);
    };
    Ok(upgrade.on_upgrade(session).into_response())
}

/// Answers every message with itself, within the bounds of a suite's cases and not of a market.
pub(crate) async fn echo(
    Extension(permit): Extension<Permit>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let upgrade = upgrade.read_buffer_size(READ_BUFFER).max_message_size(MAX_ECHO);
    upgrade.on_upgrade(move |mut socket| async move {
        while let Some(Ok(message)) = socket.recv().await {
            let is_data = matches!(message, Message::Text(_) | Message::Binary(_));
            if is_data && socket.send(message).await.is_err() {
                break;
            }
        }
        drop(permit);
    })
}

/// Why a session ends.
enum End {
    /// The client is gone, or has said goodbye.
    Theirs,
    /// We say goodbye, with this code and these words.
    Ours(u16, &'static str),
}

/// What a session does next.
enum Turn {
    Message(Option<Result<Message, axum::Error>>),
    Push,
    Goodbye,
    Silence,
}

/// Waits until it is true, or nobody is left to say so.
pub(crate) async fn is_true(what: &mut watch::Receiver<bool>) {
    let _ = what.wait_for(|it| *it).await;
}

struct Session<'a> {
    market: &'a Market,
    client: Arc<Client>,
    games: BTreeSet<u64>,
    socket: WebSocket,
    going: watch::Receiver<bool>,
}

impl Session<'_> {
    async fn serve(&mut self) -> End {
        let mut silent_from = Instant::now();
        let mut asked = false;
        loop {
            let turn = tokio::select! {
                message = self.socket.recv() => Turn::Message(message),
                () = self.client.wake.notified() => Turn::Push,
                () = is_true(&mut self.going) => Turn::Goodbye,
                () = tokio::time::sleep_until(silent_from + SILENCE) => Turn::Silence,
            };
            let done = match turn {
                Turn::Message(Some(Ok(message))) => {
                    silent_from = Instant::now();
                    asked = false;
                    self.message(message).await
                }
                Turn::Message(_) => Err(End::Theirs),
                Turn::Push => self.push().await,
                Turn::Goodbye => Err(End::Ours(close_code::AWAY, "this server ends")),
                Turn::Silence if asked => Err(End::Ours(close_code::POLICY, "silent for too long")),
                Turn::Silence => {
                    silent_from = Instant::now();
                    asked = true;
                    self.write(Message::Ping("".into())).await
                }
            };
            if let Err(end) = done {
                return end;
            }
        }
    }

    async fn message(&mut self, message: Message) -> Result<(), End> {
        let metrics = &self.market.metrics;
        match message {
            Message::Text(text) => {
                metrics.messages_received.add(1);
                match ClientMessage::read(&text) {
                    Ok(asked) => self.answer(asked).await,
                    Err((n, reason)) => {
                        metrics.faulty_messages.add(1);
                        self.tell(&ServerMessage::Error { n, reason: &reason }).await
                    }
                }
            }
            Message::Binary(_) => {
                metrics.messages_received.add(1);
                metrics.faulty_messages.add(1);
                Err(End::Ours(close_code::UNSUPPORTED, "messages are text"))
            }
            // The library answers both.
            Message::Ping(_) | Message::Close(_) | Message::Pong(_) => Ok(()),
        }
    }

    async fn answer(&mut self, asked: ClientMessage) -> Result<(), End> {
        let market = self.market;
        match asked {
            ClientMessage::Hello { token, n } => return self.hello(&token, n).await,
            // The time is no secret: who has not said hello yet may ask for it.
            ClientMessage::Time { n } => return self.time(n).await,
            _ => {}
        }
        let Some(user) = self.client.user() else {
            self.tell(&ServerMessage::Error { n: None, reason: "say hello with your token first" })
                .await?;
            return Err(End::Ours(close_code::POLICY, "no hello"));
        };
        match asked {
            ClientMessage::Hello { .. } | ClientMessage::Time { .. } => Ok(()),
            ClientMessage::Games { n } => match market.games().await {
                Ok(games) => self.tell(&ServerMessage::Games { n, games: &games }).await,
                Err(_) => self.unavailable(n).await,
            },
            ClientMessage::Pools { game, n } => match market.pools(game, Some(user)).await {
                Ok(pools) => self.tell(&ServerMessage::Pools { n, pools: &pools }).await,
                Err(_) => self.unavailable(n).await,
            },
            ClientMessage::Subscribe { game, n } => {
                if self.games.len() >= MAX_GAMES && !self.games.contains(&game) {
                    let reason = "too many games: unsubscribe from one first";
                    return self.tell(&ServerMessage::Error { n, reason }).await;
                }
                self.games.insert(game);
                let seq = match market.hub.last(game) {
                    Some(seq) => seq,
                    None => market.seq(game).await,
                };
                let seq = market.hub.subscribe(&self.client, game, seq);
                self.tell(&ServerMessage::Subscribed { n, game, seq }).await
            }
            ClientMessage::Unsubscribe { game, n } => {
                self.games.remove(&game);
                market.hub.unsubscribe(&self.client, game);
                self.tell(&ServerMessage::Unsubscribed { n, game }).await
            }
            ClientMessage::Predict { pool, outcome, stake, n } => {
                match market.predict(user, prediction(pool, outcome, stake, n)).await {
                    Ok((answer, placed)) => {
                        self.tell(&match answer {
                            Answer::Ok(balance) => ServerMessage::Ok { n, balance },
                            Answer::Refused(reason) => ServerMessage::Refused { n, reason },
                        })
                        .await?;
                        if let Some(placed) = placed {
                            market.announce(placed).await;
                        }
                        Ok(())
                    }
                    Err(_) => self.unavailable(Some(n)).await,
                }
            }
        }
    }

    async fn hello(&mut self, token: &str, n: Option<u64>) -> Result<(), End> {
        match (self.client.user(), self.market.user_of(token).await) {
            (None, Ok(Some(user))) => {
                self.client.is(user);
                self.tell(&ServerMessage::Welcome { n, user }).await
            }
            // One connection is one user's.
            (Some(before), Ok(Some(user))) if before == user => {
                self.tell(&ServerMessage::Welcome { n, user }).await
            }
            (_, Ok(_)) => {
                self.tell(&ServerMessage::Error { n, reason: "the token is nobody's here" })
                    .await?;
                Err(End::Ours(close_code::POLICY, "no such token"))
            }
            (_, Err(_)) => self.unavailable(n).await,
        }
    }

    async fn time(&mut self, n: Option<u64>) -> Result<(), End> {
        match self.market.time().await {
            Some(at) => self.tell(&ServerMessage::Time { n, at: at.to_string() }).await,
            None => {
                let reason = "the clock does not answer: ask again";
                self.tell(&ServerMessage::Error { n, reason }).await
            }
        }
    }

    async fn unavailable(&mut self, n: Option<u64>) -> Result<(), End> {
        let reason = "the database does not answer: ask again, with the same n";
        self.tell(&ServerMessage::Error { n, reason }).await
    }

    async fn push(&mut self) -> Result<(), End> {
        while let Some(next) = self.client.next() {
            match next {
                Next::Delivery(text) => {
                    self.send(text).await?;
                    self.market.metrics.deliveries.add(1);
                }
                Next::Text(text) => self.send(text).await?,
                Next::TooSlow => {
                    self.market.metrics.slow_clients.add(1);
                    return Err(End::Ours(close_code::AGAIN, "too slow a reader"));
                }
            }
        }
        Ok(())
    }

    async fn tell(&mut self, told: &ServerMessage<'_>) -> Result<(), End> {
        self.send(told.text()).await
    }

    async fn send(&mut self, text: Utf8Bytes) -> Result<(), End> {
        self.market.metrics.messages_sent.add(1);
        self.write(Message::Text(text)).await
    }

    async fn write(&mut self, message: Message) -> Result<(), End> {
        match timeout(PATIENCE, self.socket.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(End::Theirs),
            Err(_) => {
                self.market.metrics.slow_clients.add(1);
                Err(End::Theirs)
            }
        }
    }

    /// Says goodbye, where it is for us to say, and waits a little for the client's own.
    async fn goodbye(&mut self, end: End) {
        let End::Ours(code, reason) = end else { return };
        let close = Message::Close(Some(CloseFrame { code, reason: reason.into() }));
        let said = async {
            if self.socket.send(close).await.is_ok() {
                while let Some(Ok(_)) = self.socket.recv().await {}
            }
        };
        // A client that does not answer is let go all the same.
        let _ = timeout(GOODBYE, said).await;
    }
}

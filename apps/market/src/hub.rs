//! Who is told what: the clients of one worker, what they subscribe to, and what waits for each.
//!
//! A broadcast is one text, shared by all. What waits for a client is bounded, and the latest wins:
//! a distribution takes the place of an earlier one of its pool that has not been sent, and the
//! next of the same game that is sent says how many were left out before it. Broadcasts go out from
//! a random subscriber on, as those who come late in the order wait for all before them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::ws::Utf8Bytes;
use tokio::sync::Notify;

use crate::metrics::Metrics;
use crate::money::Cents;
use crate::random::Seeded;

/// The most messages that wait for one client.
const MAX_WAITING: usize = 64;

/// The most games that one client subscribes to.
pub(crate) const MAX_GAMES: usize = 64;

/// What comes through Redis for the clients of every process.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// How the stakes on a pool are distributed.
    Distribution(Arc<Broadcast>),
    /// A pool has ended.
    Resolved { game: u64, pool: u64, outcome: Option<u32>, payouts: Arc<BTreeMap<u64, Cents>> },
    /// Clients should connect elsewhere: the text for all of them.
    Reconnect(Utf8Bytes),
}

/// A distribution as it is sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Broadcast {
    pub(crate) game: u64,
    pub(crate) pool: u64,
    /// Of the game, without a gap.
    pub(crate) seq: u64,
    /// As most clients get it: nothing was left out.
    text: Utf8Bytes,
    /// Where in the text the number of those left out begins, of one digit.
    skipped_at: usize,
}

/// What stands before the number of broadcasts that were left out.
const SKIPPED: &str = "\"skipped\":";

impl Broadcast {
    /// Of its text in JSON, which says that none were left out.
    pub(crate) fn new(game: u64, pool: u64, seq: u64, text: &str) -> Option<Self> {
        let skipped_at = text.find(SKIPPED)? + SKIPPED.len();
        let rest = text.get(skipped_at..)?;
        rest.starts_with("0,").then(|| Self { game, pool, seq, text: text.into(), skipped_at })
    }

    fn text(&self, skipped: u64) -> Utf8Bytes {
        if skipped == 0 {
            return self.text.clone();
        }
        let (before, after) = self.text.split_at(self.skipped_at);
        format!("{before}{skipped}{}", &after[1..]).into()
    }
}

/// What waits to be sent.
#[derive(Debug)]
enum Waiting {
    Distribution { broadcast: Arc<Broadcast>, skipped: u64 },
    Text(Utf8Bytes),
}

/// What waits for one client.
#[derive(Debug, Default)]
struct Outbox {
    waiting: VecDeque<Waiting>,
    texts: usize,
    overflowed: bool,
}

impl Outbox {
    /// Gives how many distributions will not be sent.
    fn distribution(&mut self, broadcast: Arc<Broadcast>, skipped: u64) -> u64 {
        let is_earlier = |one: &Waiting| match one {
            Waiting::Distribution { broadcast: earlier, .. } => earlier.pool == broadcast.pool,
            Waiting::Text(_) => false,
        };
        let oldest = |one: &Waiting| matches!(one, Waiting::Distribution { .. });
        let mut gone = self.waiting.iter().position(is_earlier);
        if gone.is_none() && self.waiting.len() >= MAX_WAITING {
            gone = self.waiting.iter().position(oldest);
        }
        self.waiting.push_back(Waiting::Distribution { broadcast, skipped });
        gone.map_or(0, |at| self.leave_out(at))
    }

    /// Takes one out, and has the next of its game say so.
    fn leave_out(&mut self, at: usize) -> u64 {
        let Some(Waiting::Distribution { broadcast: gone, skipped: before }) =
            self.waiting.remove(at)
        else {
            return 0;
        };
        for later in self.waiting.iter_mut().skip(at) {
            if let Waiting::Distribution { broadcast, skipped } = later
                && broadcast.game == gone.game
            {
                *skipped += before + 1;
                break;
            }
        }
        1
    }

    fn text(&mut self, text: Utf8Bytes) {
        if self.texts >= MAX_WAITING {
            self.overflowed = true;
        } else {
            self.texts += 1;
            self.waiting.push_back(Waiting::Text(text));
        }
    }
}

/// What is sent to a client next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A distribution.
    Delivery(Utf8Bytes),
    /// Anything else.
    Text(Utf8Bytes),
    /// Nothing more: so much waits that must not be left out that the client has to go.
    TooSlow,
}

/// One WebSocket connection.
#[derive(Debug)]
pub(crate) struct Client {
    id: u64,
    /// 0 before it has said who it is.
    user: std::sync::atomic::AtomicU64,
    outbox: Mutex<Outbox>,
    /// Woken when something waits.
    pub(crate) wake: Notify,
}

impl Client {
    pub(crate) fn user(&self) -> Option<u64> {
        let user = self.user.load(std::sync::atomic::Ordering::Relaxed);
        (user != 0).then_some(user)
    }

    pub(crate) fn is(&self, user: u64) {
        self.user.store(user, std::sync::atomic::Ordering::Relaxed);
    }

    /// What is to be sent now, if anything is.
    pub(crate) fn next(&self) -> Option<Next> {
        let mut outbox = locked(&self.outbox);
        if outbox.overflowed {
            return Some(Next::TooSlow);
        }
        match outbox.waiting.pop_front()? {
            Waiting::Distribution { broadcast, skipped } => {
                Some(Next::Delivery(broadcast.text(skipped)))
            }
            Waiting::Text(text) => {
                outbox.texts -= 1;
                Some(Next::Text(text))
            }
        }
    }

    fn text(&self, text: Utf8Bytes) {
        locked(&self.outbox).text(text);
        self.wake.notify_one();
    }
}

/// A client that wants to hear of a game.
#[derive(Debug)]
struct Subscriber {
    client: Arc<Client>,
    /// The last number it has, or was there before it came.
    has: u64,
}

#[derive(Debug, Default)]
struct Game {
    /// The last number that came.
    last: Option<u64>,
    /// By the client's number.
    subscribers: BTreeMap<u64, Subscriber>,
}

#[derive(Debug)]
struct State {
    next: u64,
    clients: BTreeMap<u64, Arc<Client>>,
    games: BTreeMap<u64, Game>,
    random: Seeded,
}

/// The clients of one worker.
#[derive(Debug)]
pub(crate) struct Hub {
    state: Mutex<State>,
    metrics: Arc<Metrics>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is locked is whole again before anything can go wrong.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hub {
    pub(crate) fn new(seed: u64, metrics: Arc<Metrics>) -> Self {
        let state = State {
            next: 1,
            clients: BTreeMap::new(),
            games: BTreeMap::new(),
            random: Seeded::new(seed),
        };
        Self { state: Mutex::new(state), metrics }
    }

    /// Takes a new client in.
    pub(crate) fn join(&self) -> Arc<Client> {
        let mut state = locked(&self.state);
        let client = Arc::new(Client {
            id: state.next,
            user: std::sync::atomic::AtomicU64::new(0),
            outbox: Mutex::default(),
            wake: Notify::new(),
        });
        state.next += 1;
        state.clients.insert(client.id, client.clone());
        client
    }

    /// Lets a client go, with its subscriptions to these games.
    pub(crate) fn leave(&self, client: &Client, games: &[u64]) {
        let mut state = locked(&self.state);
        state.clients.remove(&client.id);
        for game in games {
            if let Some(game) = state.games.get_mut(game)
                && game.subscribers.remove(&client.id).is_some()
            {
                self.metrics.subscriptions.take(1);
            }
        }
    }

    /// The last number of a game that came here.
    pub(crate) fn last(&self, game: u64) -> Option<u64> {
        locked(&self.state).games.get(&game)?.last
    }

    /// Has a client hear of a game, from the broadcast on that comes after the one with this number
    /// or the last that came here, which is given back.
    pub(crate) fn subscribe(&self, client: &Arc<Client>, game: u64, seq: u64) -> u64 {
        let mut state = locked(&self.state);
        let game = state.games.entry(game).or_default();
        let has = game.last.map_or(seq, |last| last.max(seq));
        let subscriber = Subscriber { client: client.clone(), has };
        if game.subscribers.insert(client.id, subscriber).is_none() {
            self.metrics.subscriptions.add(1);
        }
        has
    }

    /// Ends a subscription.
    pub(crate) fn unsubscribe(&self, client: &Client, game: u64) {
        let mut state = locked(&self.state);
        let gone = state.games.get_mut(&game).and_then(|it| it.subscribers.remove(&client.id));
        if gone.is_some() {
            self.metrics.subscriptions.take(1);
        }
    }

    /// Gives an event to the clients that it is for.
    pub(crate) fn tell(&self, event: &Event) {
        let mut state = locked(&self.state);
        match event {
            Event::Distribution(broadcast) => {
                let start = state.random.next();
                let game = state.games.entry(broadcast.game).or_default();
                let skips = game.distribute(broadcast, start);
                self.metrics.skips.add(skips);
            }
            Event::Resolved { game, pool, outcome, payouts } => {
                let Some(game) = state.games.get(game) else { return };
                let outcome = outcome.map_or("null".to_owned(), |outcome| outcome.to_string());
                let text = |payout: Cents| -> Utf8Bytes {
                    format!(
                        "{{\"op\":\"resolved\",\"pool\":{pool},\"outcome\":{outcome},\
                         \"payout\":{payout}}}"
                    )
                    .into()
                };
                let nothing = text(0);
                for Subscriber { client, .. } in game.subscribers.values() {
                    let payout = client.user().and_then(|user| payouts.get(&user));
                    client.text(payout.map_or_else(|| nothing.clone(), |payout| text(*payout)));
                }
            }
            Event::Reconnect(told) => {
                for client in state.clients.values() {
                    client.text(told.clone());
                }
            }
        }
    }
}

impl Game {
    /// Gives a broadcast to all subscribers, and tells how many others will not be sent for it.
    fn distribute(&mut self, broadcast: &Arc<Broadcast>, random: u64) -> u64 {
        // What comes is in order. A lower number means that Redis has begun anew.
        if self.last.is_some_and(|last| broadcast.seq <= last) {
            for subscriber in self.subscribers.values_mut() {
                subscriber.has = broadcast.seq - 1;
            }
        }
        self.last = Some(broadcast.seq);
        let (Some((first, _)), Some((last, _))) =
            (self.subscribers.first_key_value(), self.subscribers.last_key_value())
        else {
            return 0;
        };
        let start = first + random % (last - first + 1);
        let mut skips = 0;
        let mut give = |subscriber: &mut Subscriber| {
            if broadcast.seq <= subscriber.has {
                return;
            }
            let lost = broadcast.seq - subscriber.has - 1;
            subscriber.has = broadcast.seq;
            skips += lost;
            skips += locked(&subscriber.client.outbox).distribution(broadcast.clone(), lost);
            subscriber.client.wake.notify_one();
        };
        self.subscribers.range_mut(start..).for_each(|(_, subscriber)| give(subscriber));
        self.subscribers.range_mut(..start).for_each(|(_, subscriber)| give(subscriber));
        skips
    }
}

#[cfg(test)]
mod tests;

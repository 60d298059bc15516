//! Mail of one end, brought to its sessions; what is for none of them is for whoever asks.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use plimsoll_net::amqp::Error;
use ring::rand::{SecureRandom, SystemRandom};

use super::envelope::{self, Head, Kind, Nonce};
use super::post::{Bus, Mail, Mailbox, Office, Post};
use super::session::Door;

/// So many messages wait at most.
const UNREAD: usize = 16;

/// Both nonces of a session.
pub(super) type Nonces = (Nonce, Nonce);

/// What has come.
pub(super) enum Turn {
    /// A message that is of no session, and of which nothing is believed.
    Message(Vec<u8>),
    /// Nothing for whoever asks.
    Nothing,
    /// There will be nothing more.
    Over,
}

/// The mail of one end.
pub(super) struct Desk {
    office: Office,
    mail: Receiver<Mail>,
    doors: BTreeMap<Nonces, Door>,
    /// How many messages were dropped, by cause.
    dropped: BTreeMap<&'static str, u64>,
}

impl Desk {
    /// Connects to a broker.
    ///
    /// # Errors
    /// [`Error`].
    pub(super) fn open(bus: Bus, mailbox: Mailbox) -> Result<Self, Error> {
        let (tell, mail) = sync_channel(UNREAD);
        let office = Office::open(bus, mailbox, tell)?;
        Ok(Self { office, mail, doors: BTreeMap::new(), dropped: BTreeMap::new() })
    }

    /// Who sends.
    pub(super) fn post(&self) -> &Post {
        self.office.post()
    }

    /// A session has begun. Those that are over are forgotten.
    pub(super) fn add(&mut self, nonces: Nonces, door: Door) {
        self.doors.retain(|_, door| !door.is_over());
        self.doors.insert(nonces, door);
    }

    /// A message is not believed, for this cause.
    pub(super) fn drop_message(&mut self, cause: &'static str) {
        *self.dropped.entry(cause).or_default() += 1;
    }

    /// How many messages were dropped, by cause.
    pub(super) fn dropped(&self) -> &BTreeMap<&'static str, u64> {
        &self.dropped
    }

    /// Brings the next mail to where it belongs, waiting for it so long at most.
    pub(super) fn turn(&mut self, patience: Duration) -> Turn {
        let message = match self.mail.recv_timeout(patience) {
            Ok(Mail::Message(message)) => message,
            Ok(Mail::Back) => {
                self.doors.values().for_each(Door::again);
                return Turn::Nothing;
            }
            Err(RecvTimeoutError::Timeout) => return Turn::Nothing,
            Err(RecvTimeoutError::Disconnected) => return Turn::Over,
        };
        let Some(sealed) = envelope::open(&message) else {
            self.drop_message("no message of ours, or too long");
            return Turn::Nothing;
        };
        let Head { kind, controller, worker, .. } = sealed.head;
        if [Kind::Call, Kind::Hello, Kind::Take].contains(&kind) {
            return Turn::Message(message);
        }
        match self.doors.get(&(controller, worker)) {
            Some(door) => door.hand_in(message),
            None => self.drop_message("of no session that goes on"),
        }
        Turn::Nothing
    }
}

/// Draws a nonce; `None` where the system has no randomness.
pub(super) fn nonce() -> Option<Nonce> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(Nonce(bytes))
}

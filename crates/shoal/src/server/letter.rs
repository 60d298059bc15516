//! What a broker brings, whatever protocol it speaks: heartbeats, goodbyes, errors of agents.
//!
//! Letters are taken many at once: what can be found out about each without the registry is found
//! out first, then the registry's lock is taken once for all of them.

use std::sync::Arc;

use super::{Shared, announce};
use crate::Now;
use crate::auth::KeyUse;
use crate::heartbeat::{Goodbye, Heartbeat, MAX_BYTES, Refusal, parse, parse_goodbye};
use crate::registry::{Origin, Source};

/// A message with its address.
#[derive(Debug, Clone, Default)]
pub struct Letter {
    /// Words with dots between: `info`, `<cloud>.info`, `<cloud>.bye`, `<cloud>.error`. One with
    /// any other key is as good as a heartbeat, as it is with Shoal's own server.
    pub key: String,
    /// At most [`MAX_BYTES`]; of a longer one, nothing.
    pub body: Vec<u8>,
    /// How long the body is.
    pub length: u64,
    /// The values of [`crate::auth::HEADERS`], those that are there; `None` if one is there twice
    /// or is no text.
    pub signature: Option<[Option<String>; 3]>,
}

/// What a letter says.
enum Said {
    Heartbeat(Origin, Box<Heartbeat>),
    Goodbye(Origin, Goodbye),
    Error,
    Nothing(Refusal),
}

impl Shared {
    /// Takes letters in, in their order. Whatever is in one, it is at most refused and counted.
    pub fn take(&self, letters: &[Letter]) {
        let now = self.clock.now();
        let all: Vec<_> = letters.iter().map(|letter| self.open(letter, now)).collect();
        if !letters.is_empty() {
            self.heard(now);
        }
        let mut registry = self.registry();
        for said in all {
            // Refusals are counted by the registry, and there is nobody to answer.
            let _ = match said {
                Said::Heartbeat(origin, beat) => {
                    registry.heard(now, &origin, &beat, &*self.geography).map(drop)
                }
                Said::Goodbye(origin, Goodbye { uuid, timestamp }) => {
                    registry.goodbye(now, &origin.source, &uuid, timestamp)
                }
                Said::Error => Ok(()),
                Said::Nothing(refusal) => Err(registry.refuse(refusal)),
            };
        }
    }

    fn open(&self, letter: &Letter, now: Now) -> Said {
        self.read(letter, now).unwrap_or_else(Said::Nothing)
    }

    fn read(&self, letter: &Letter, now: Now) -> Result<Said, Refusal> {
        if letter.length > MAX_BYTES as u64 {
            return Err(Refusal::TooLong(usize::try_from(letter.length).unwrap_or(usize::MAX)));
        }
        let values = letter.signature.as_ref().ok_or(());
        let values = values.map(|values| values.each_ref().map(Option::as_deref));
        let signed = announce::signed_by(self, values, &letter.body, now)?;
        let (cloud, word) = match letter.key.rsplit_once('.') {
            Some((cloud, word)) => (Some(cloud), word),
            None => (None, &*letter.key),
        };
        match word {
            "bye" => {
                let goodbye = parse_goodbye(&letter.body)?;
                if let Some(signed) = &signed {
                    announce::note(self, signed, &goodbye.uuid, now)?;
                }
                Ok(Said::Goodbye(origin(signed), goodbye))
            }
            "error" => {
                self.complaints.add(now.unix_s, cloud, &letter.body);
                Ok(Said::Error)
            }
            _ => {
                let beat = parse(&letter.body)?;
                if let Some(signed) = &signed {
                    signed.may_announce(&beat)?;
                    announce::note(self, signed, &beat.uuid, now)?;
                }
                Ok(Said::Heartbeat(origin(signed), Box::new(beat)))
            }
        }
    }
}

fn origin(signed: Option<KeyUse>) -> Origin {
    let source = match signed {
        Some(signed) => Source::Key(Arc::from(signed.key.id())),
        None => Source::Broker,
    };
    Origin { source, trusted: false }
}

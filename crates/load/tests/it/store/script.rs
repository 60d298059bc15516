//! Stores with a script: they read commands of either protocol, and answer as a closure says.

use crate::server::Peer;
use plimsoll_load::Protocol;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::sync::Mutex;

/// Which protocol a script speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaks {
    Redis,
    Memcached,
}

impl Speaks {
    pub(super) fn protocol(self) -> Protocol {
        let scheme = match self {
            Self::Redis => &plimsoll_load::redis::SCHEME,
            Self::Memcached => &plimsoll_load::memcached::SCHEME,
        };
        Protocol::of(scheme).unwrap()
    }
}

/// A command: its words, the value last.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) words: Vec<Vec<u8>>,
}

/// What a script says.
pub(super) enum Answer {
    /// A value, or that there is none.
    Value(Option<Vec<u8>>),
    /// That it is written.
    Written,
    /// These bytes.
    Bytes(Vec<u8>),
}

/// Records by key.
#[derive(Default)]
pub(super) struct Table(Mutex<BTreeMap<Vec<u8>, Vec<u8>>>);

impl Table {
    pub(super) fn answer(&self, command: &Command) -> Answer {
        let mut table = self.0.lock().unwrap();
        match &command.words[..] {
            [_, key] => Answer::Value(table.get(key).cloned()),
            [_, key, value] => {
                table.insert(key.clone(), value.clone());
                Answer::Written
            }
            other => panic!("no command of ours: {other:?}"),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    pub(super) fn all(&self, is: impl Fn(&[u8]) -> bool) -> bool {
        self.0.lock().unwrap().values().all(|value| is(value))
    }
}

/// Answers commands until the client closes.
pub(super) fn serve(speaks: Speaks, peer: Peer, mut answer: impl FnMut(&Command) -> Answer) {
    let mut stream = BufReader::new(peer.stream);
    loop {
        let command = match speaks {
            Speaks::Redis => redis(&mut stream),
            Speaks::Memcached => memcached(&mut stream),
        };
        let Some(command) = command else { return };
        let greeting = match &command.words[0][..] {
            b"PING" => Some(&b"+PONG\r\n"[..]),
            b"version" => Some(&b"VERSION 1.6.18\r\n"[..]),
            _ => None,
        };
        if let Some(greeting) = greeting {
            if stream.get_mut().write_all(greeting).and_then(|()| stream.get_mut().flush()).is_err()
            {
                return;
            }
            continue;
        }
        let bytes = encoded(speaks, &command, answer(&command));
        // In two parts, so that values come in pieces.
        let (first, second) = bytes.split_at(bytes.len() / 2);
        let out = stream.get_mut();
        let sent = out.write_all(first).and_then(|()| out.flush()).and_then(|()| {
            out.write_all(second)?;
            out.flush()
        });
        if sent.is_err() {
            return;
        }
    }
}

fn line(stream: &mut impl BufRead) -> Option<String> {
    let mut line = Vec::new();
    stream.read_until(b'\n', &mut line).ok()?;
    String::from_utf8(line).ok()?.strip_suffix("\r\n").map(str::to_owned)
}

fn block(stream: &mut impl BufRead, len: &str) -> Option<Vec<u8>> {
    let mut block = vec![0; len.parse::<usize>().ok()? + 2];
    stream.read_exact(&mut block).ok()?;
    block.strip_suffix(b"\r\n").map(<[u8]>::to_vec)
}

fn redis(stream: &mut impl BufRead) -> Option<Command> {
    let count: usize = line(stream)?.strip_prefix('*')?.parse().ok()?;
    let words = (0..count).map(|_| {
        let len = line(stream)?;
        block(stream, len.strip_prefix('$')?)
    });
    Some(Command { words: words.collect::<Option<_>>()? })
}

fn memcached(stream: &mut impl BufRead) -> Option<Command> {
    let line = line(stream)?;
    let words: Vec<&str> = line.split(' ').collect();
    let words = match words[..] {
        ["version"] => vec![b"version".to_vec()],
        ["get", key] => vec![b"get".to_vec(), key.into()],
        ["set", key, "0", "0", len] => vec![b"set".to_vec(), key.into(), block(stream, len)?],
        _ => panic!("no command of ours: {line}"),
    };
    Some(Command { words })
}

/// An answer's bytes.
pub(super) fn encoded(speaks: Speaks, command: &Command, answer: Answer) -> Vec<u8> {
    let value =
        |head: String, value: &[u8], tail: &[u8]| [head.as_bytes(), value, b"\r\n", tail].concat();
    match (speaks, answer) {
        (_, Answer::Bytes(bytes)) => bytes,
        (Speaks::Redis, Answer::Written) => b"+OK\r\n".to_vec(),
        (Speaks::Memcached, Answer::Written) => b"STORED\r\n".to_vec(),
        (Speaks::Redis, Answer::Value(None)) => b"$-1\r\n".to_vec(),
        (Speaks::Memcached, Answer::Value(None)) => b"END\r\n".to_vec(),
        (Speaks::Redis, Answer::Value(Some(bytes))) => {
            value(format!("${}\r\n", bytes.len()), &bytes, b"")
        }
        (Speaks::Memcached, Answer::Value(Some(bytes))) => {
            let key = String::from_utf8_lossy(&command.words[1]).into_owned();
            value(format!("VALUE {key} 0 {}\r\n", bytes.len()), &bytes, b"END\r\n")
        }
    }
}

//! What is said between this program and its copy on a host: a line of JSON each way for each
//! thing.

use std::io::{BufRead, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::Why;
use crate::op::Op;
use crate::thing::Thing;

/// The longest line, bytes: what an instance said is up to 1 MiB, of which each byte may be six in
/// JSON.
const MOST_LINE: u64 = 16 << 20;

/// What is asked of the copy on the host.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ask {
    /// The first of all.
    Begin {
        /// The bed's id.
        bed: String,
        /// What the ledger has of this host.
        rows: Vec<(Thing, u64)>,
        /// How much of what an instance said is handed back, bytes.
        most_output: u64,
        /// Whether files take the place of those that are there.
        replaces: bool,
    },
    /// Something to be done.
    Do {
        /// The number of the request.
        id: u64,
        /// What.
        deed: Deed,
        /// How long it may take, milliseconds.
        within_ms: u64,
    },
    /// What became of a line in the ledger: its number, or why it could not be written.
    Written {
        /// The request that wanted it.
        id: u64,
        /// The row's number.
        row: Result<u64, String>,
    },
}

/// Something to be done on the host.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Deed {
    /// Does a thing.
    Act {
        /// What.
        op: Op,
    },
    /// Undoes a thing.
    Undo {
        /// What.
        op: Op,
    },
    /// Copies the bytes that follow this line into a file.
    Put {
        /// As what it is copied.
        op: Op,
        /// How many bytes follow.
        length: u64,
        /// The bits of its mode that make it a program.
        mode: u32,
    },
    /// Removes what the ledger has of the host, as far as it is proved the bed's.
    Remove {
        /// What.
        thing: Thing,
    },
    /// Whether a process lives.
    Lives {
        /// The process.
        thing: Thing,
    },
}

/// What the copy on the host answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    /// It has begun.
    Begun,
    /// It is about to make a thing, and waits until that is written.
    WillMake {
        /// The request.
        id: u64,
        /// What.
        thing: Thing,
    },
    /// A thing is gone.
    Gone {
        /// The request.
        id: u64,
        /// Its number in the ledger.
        row: u64,
    },
    /// What an instance said, when it has ended.
    Output {
        /// The request.
        id: u64,
        /// The instance.
        instance: String,
        /// What it said.
        text: String,
    },
    /// It is done.
    Done {
        /// The request.
        id: u64,
        /// What was said.
        said: String,
    },
    /// It failed.
    Failed {
        /// The request.
        id: u64,
        /// Why.
        why: Why,
    },
}

impl Answer {
    /// The request that it is of; `None` of the first of all.
    pub(crate) fn id(&self) -> Option<u64> {
        match self {
            Self::Begun => None,
            Self::WillMake { id, .. }
            | Self::Gone { id, .. }
            | Self::Output { id, .. }
            | Self::Done { id, .. }
            | Self::Failed { id, .. } => Some(*id),
        }
    }
}

/// Writes a line, and what follows it.
pub(crate) fn send<T: Serialize>(
    to: &mut impl Write,
    line: &T,
    bytes: Option<&mut dyn Read>,
) -> std::io::Result<()> {
    let text = serde_json::to_string(line).map_err(std::io::Error::other)?;
    to.write_all(format!("{text}\n").as_bytes())?;
    if let Some(bytes) = bytes {
        std::io::copy(bytes, to)?;
    }
    to.flush()
}

/// The next line; `None` at the end, where one is too long, and where one is not understood.
pub(crate) fn next<T: DeserializeOwned>(from: &mut impl BufRead) -> Option<T> {
    let mut line = Vec::new();
    let read = from.by_ref().take(MOST_LINE).read_until(b'\n', &mut line).ok()?;
    (read > 0 && line.ends_with(b"\n")).then(|| serde_json::from_slice(&line).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_bytes_arrive_as_they_were_sent() {
        let mut sent = Vec::new();
        let row = Ask::Written { id: 7, row: Err("no space\nleft".to_owned()) };
        send(&mut sent, &row, Some(&mut &b"\n{}\0"[..])).unwrap();
        send(&mut sent, &Answer::Begun, None).unwrap();
        let mut from = &sent[..];
        let Some(Ask::Written { id: 7, row: Err(text) }) = next(&mut from) else { panic!() };
        assert_eq!(text, "no space\nleft");
        let mut bytes = [0; 4];
        from.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"\n{}\0");
        assert!(matches!(next(&mut from), Some(Answer::Begun)));
        assert!(next::<Answer>(&mut from).is_none());
    }

    #[test]
    fn what_is_cut_or_no_answer_ends_it() {
        for text in ["\"begun\"", "{}\n", "garbage\n", "\n"] {
            assert!(next::<Answer>(&mut text.as_bytes()).is_none(), "{text:?}");
        }
    }
}

//! Lines of bounded length, and what stands before the first of ours.

use crate::message::Order;
use crate::start::{Content, Input};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, BufRead, Read, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// Reads a line without its end, of `longest` bytes at most; `None` at the end of the input.
///
/// # Errors
/// The input's; a line that is longer, or is cut off.
pub(crate) fn read(input: &mut impl BufRead, longest: usize) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let most = u64::try_from(longest).unwrap_or(u64::MAX).saturating_add(1);
    input.take(most).read_until(b'\n', &mut line)?;
    match line.pop() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(line)),
        Some(_) if line.len() >= longest => {
            Err(io::Error::new(io::ErrorKind::InvalidData, format!("a line above {longest} bytes")))
        }
        Some(_) => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a line that is cut off")),
    }
}

/// So much of a line that is not understood is shown, characters.
const SHOWN: usize = 60;

/// Reads what a line says.
///
/// # Errors
/// A line that says nothing of the kind.
pub(crate) fn parse<T: DeserializeOwned>(line: &[u8]) -> io::Result<T> {
    serde_json::from_slice(line).map_err(|error| {
        let text = String::from_utf8_lossy(&line[..line.len().min(4 * SHOWN)]);
        let text: String =
            text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SHOWN).collect();
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("a line that is not understood, `{text}`: {error}"),
        )
    })
}

/// A line, behind a prefix.
///
/// # Errors
/// What cannot be said so.
pub(crate) fn line(prefix: &str, what: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = prefix.as_bytes().to_vec();
    serde_json::to_writer(&mut line, what)?;
    line.push(b'\n');
    Ok(line)
}

/// Says lines to somebody, on a thread of its own: who does not listen keeps nobody waiting.
#[derive(Debug, Clone)]
pub(crate) struct Speaker {
    say: Sender<Said>,
    said_bytes: Arc<AtomicU64>,
}

/// So much of a file is said at once, bytes.
const PIECE: usize = 1 << 20;

/// What is to be said.
#[derive(Debug)]
enum Said {
    Line(Vec<u8>),
    /// All that a file holds, as it is.
    Copy(File),
    /// All that a file holds, in orders.
    Input(Input),
    /// Nothing: that all before it is said is told here.
    End(Sender<()>),
}

impl Speaker {
    /// To whoever reads an output. `end` is called where that is over.
    pub(crate) fn to(
        mut output: impl Write + Send + 'static,
        end: impl FnOnce() + Send + 'static,
    ) -> Self {
        let (tell, lines) = channel();
        let said_bytes = Arc::<AtomicU64>::default();
        let told = said_bytes.clone();
        std::thread::spawn(move || {
            let mut write = |bytes: &[u8]| {
                output.write_all(bytes).and_then(|()| output.flush())?;
                told.fetch_add(bytes.len() as u64, Ordering::AcqRel);
                Ok(())
            };
            let say = |said: Said| match said {
                Said::Line(line) => write(&line),
                Said::Copy(file) => pieces(file, &mut write),
                Said::Input(input) => orders(&input, &mut write),
                // Who does not wait any more need not be told.
                Said::End(said) => {
                    let _ = said.send(());
                    Ok(())
                }
            };
            if lines.into_iter().try_for_each(say).is_err() {
                end();
            }
        });
        Self { say: tell, said_bytes }
    }

    /// How many bytes have been said.
    pub(crate) fn said_bytes(&self) -> u64 {
        self.said_bytes.load(Ordering::Acquire)
    }

    /// Says what a file holds, as it is.
    ///
    /// # Errors
    /// Where nobody can hear it.
    pub(crate) fn copy(&self, file: File) -> io::Result<()> {
        self.say.send(Said::Copy(file)).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Gives somebody a file, in orders.
    ///
    /// # Errors
    /// Where nobody can hear it.
    pub(crate) fn give(&self, input: &Input) -> io::Result<()> {
        self.say.send(Said::Input(input.clone())).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Says a line, behind a prefix, as soon as what was said before is read.
    ///
    /// # Errors
    /// Where nobody can hear it.
    pub(crate) fn say(&self, prefix: &str, what: &impl Serialize) -> io::Result<()> {
        let line = Said::Line(line(prefix, what)?);
        self.say.send(line).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Waits until all is said, for so long at most.
    pub(crate) fn finish(&self, longest: Duration) {
        let (tell, is_said) = channel();
        if self.say.send(Said::End(tell)).is_ok() {
            let _ = is_said.recv_timeout(longest);
        }
    }
}

fn pieces(mut file: File, write: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(()),
            read => write(&piece[..read])?,
        }
    }
}

/// A file that became shorter is given as it is: whoever takes it knows its digest.
fn orders(input: &Input, write: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut order = |piece: &[u8]| {
        let (name, base64) = (input.name.clone(), STANDARD.encode(piece));
        write(&line("", &Order::Input { name, base64 })?)
    };
    // One that is empty is a file all the same.
    order(&[])?;
    match &input.content {
        Content::Bytes(bytes) => bytes.chunks(PIECE).try_for_each(order),
        Content::File(file) => {
            let (mut at, mut piece) = (0, vec![0; PIECE]);
            while let read @ 1.. = file.read_at(&mut piece, at)? {
                order(&piece[..read])?;
                at += read as u64;
            }
            Ok(())
        }
    }
}

/// How much may stand before a greeting.
const BEFORE: usize = 64 << 10;

/// Passes over what stands before the line with this prefix, and reads that; `None` at the end of
/// the input.
///
/// # Errors
/// The input's; where more stands before it than a banner has.
pub(crate) fn greeting<T: DeserializeOwned>(
    input: &mut impl BufRead,
    prefix: &str,
) -> io::Result<Option<T>> {
    let mut before = 0;
    while let Some(line) = read(input, BEFORE)? {
        if let Some(rest) = line.strip_prefix(prefix.as_bytes()) {
            return parse(rest).map(Some);
        }
        before += line.len() + 1;
        if before > BEFORE {
            let text = "no greeting of a worker, but other text";
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_banner_is_passed_over_and_endless_text_is_not() {
        let said = |text: &str| greeting::<u32>(&mut text.as_bytes(), "worker ");
        assert_eq!(said("Welcome!\n\nworker 7\nrest").unwrap(), Some(7));
        assert_eq!(said("Welcome!\n").unwrap(), None);
        assert!(said("worker seven\n").is_err());
        assert!(said(&"y\n".repeat(BEFORE)).is_err());
        assert!(said(&"y".repeat(BEFORE + 1)).is_err());
    }

    proptest! {
        #[test]
        fn lines_come_back_whole_or_are_refused(text in "[a-c\n]{0,40}", longest in 1_usize..10) {
            let (mut input, mut lines) = (text.as_bytes(), Vec::new());
            let end = loop {
                match read(&mut input, longest) {
                    Ok(Some(line)) => lines.push(line),
                    end => break end,
                }
            };
            let wanted: Vec<&str> = text.split('\n').collect();
            let (last, whole) = wanted.split_last().unwrap();
            let too_long = whole.iter().position(|line| line.len() > longest);
            let whole = &whole[..too_long.unwrap_or(whole.len())];
            let whole: Vec<&[u8]> = whole.iter().map(|line| line.as_bytes()).collect();
            prop_assert_eq!(lines, whole);
            prop_assert_eq!(end.is_ok(), too_long.is_none() && last.is_empty());
        }
    }
}

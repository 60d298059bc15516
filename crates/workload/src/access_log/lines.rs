//! Lines of a stream in constant memory, each lent from one block.

use std::io::{self, Read};

/// The longest line that is read, in bytes without its end.
pub const MAX_LINE_BYTES: usize = 65_536;

/// The block: several times the longest line, so that little is moved to its front.
const BLOCK_BYTES: usize = 512 * 1024;

/// How many bytes of a line that is too long are kept, for showing it.
const KEPT_BYTES: usize = 256;

/// One line without its end.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// All of it.
    Text(&'a [u8]),
    /// Longer than [`MAX_LINE_BYTES`]: its first bytes.
    TooLong(&'a [u8]),
}

/// A line that was taken: where it is, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Taken {
    place: Place,
    /// Whether its end was seen; not so where the stream ends within the line.
    pub(super) is_whole: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Text(std::ops::Range<usize>),
    TooLong,
}

/// The lines of a stream: at most one block of it is in memory.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    block: Vec<u8>,
    start: usize,
    end: usize,
    /// Up to where `start..end` is known to hold no line end.
    searched: usize,
    ended: bool,
    number: u64,
    long: Vec<u8>,
}

impl<R: Read> Lines<R> {
    /// The lines of what a reader gives.
    #[must_use]
    pub fn new(reader: R) -> Self {
        let block = vec![0; BLOCK_BYTES];
        let long = Vec::new();
        Self { reader, block, start: 0, end: 0, searched: 0, ended: false, number: 0, long }
    }

    /// What the lines are read from.
    pub fn get_ref(&self) -> &R {
        &self.reader
    }

    /// The number of the line given last, from 1.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The start of the stream, as far as one block holds it, before the first line is taken.
    ///
    /// *Errors*: those of the reader.
    pub fn sample(&mut self) -> io::Result<&[u8]> {
        while !self.ended && self.end < self.block.len() {
            self.fill()?;
        }
        // A mark that says "this is UTF-8" belongs to no line.
        if self.number == 0
            && self.start == 0
            && self.block[..self.end].starts_with(b"\xef\xbb\xbf")
        {
            self.start = 3;
            self.searched = 3;
        }
        Ok(&self.block[self.start..self.end])
    }

    /// The next line; `None` at the end.
    ///
    /// *Errors*: those of the reader.
    #[expect(clippy::should_implement_trait, reason = "it lends, which iterators do not")]
    pub fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        Ok(self.take()?.map(|taken| self.line(&taken)))
    }

    /// The line that was taken last.
    pub(super) fn line(&self, taken: &Taken) -> Line<'_> {
        match &taken.place {
            Place::Text(range) => Line::Text(&self.block[range.clone()]),
            Place::TooLong => Line::TooLong(&self.long),
        }
    }

    /// Takes the next line; `None` at the end.
    ///
    /// *Errors*: those of the reader.
    pub(super) fn take(&mut self) -> io::Result<Option<Taken>> {
        loop {
            if let Some(found) = memchr::memchr(b'\n', &self.block[self.searched..self.end]) {
                let end = self.searched + found;
                return Ok(Some(self.taken(end, end + 1)));
            }
            self.searched = self.end;
            if self.end - self.start > MAX_LINE_BYTES + 1 {
                return self.skip_long();
            }
            if self.ended {
                if self.start == self.end {
                    return Ok(None);
                }
                return Ok(Some(self.taken(self.end, self.end)));
            }
            self.fill()?;
        }
    }

    fn taken(&mut self, end: usize, next: usize) -> Taken {
        let start = self.start;
        let text = &self.block[start..end];
        let len = text.strip_suffix(b"\r").unwrap_or(text).len();
        (self.start, self.searched) = (next, next);
        self.number += 1;
        let is_whole = next > end;
        if len > MAX_LINE_BYTES {
            self.long.clear();
            self.long.extend_from_slice(&self.block[start..start + KEPT_BYTES]);
            return Taken { place: Place::TooLong, is_whole };
        }
        Taken { place: Place::Text(start..start + len), is_whole }
    }

    /// Reads on to the end of a line that is too long, keeping its beginning only.
    fn skip_long(&mut self) -> io::Result<Option<Taken>> {
        self.long.clear();
        self.long.extend_from_slice(&self.block[self.start..self.start + KEPT_BYTES]);
        self.number += 1;
        let mut is_whole = false;
        loop {
            (self.start, self.end, self.searched) = (0, 0, 0);
            if self.ended {
                break;
            }
            self.fill()?;
            if let Some(found) = memchr::memchr(b'\n', &self.block[..self.end]) {
                (self.start, self.searched) = (found + 1, found + 1);
                is_whole = true;
                break;
            }
        }
        Ok(Some(Taken { place: Place::TooLong, is_whole }))
    }

    /// Reads once more, at the end of what is there.
    fn fill(&mut self) -> io::Result<()> {
        if self.end == self.block.len() {
            self.block.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.searched -= self.start;
            self.start = 0;
        }
        loop {
            match self.reader.read(&mut self.block[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives few bytes at a time.
    struct Dribble<'a>(&'a [u8], usize);

    impl Read for Dribble<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let len = self.1.min(self.0.len()).min(out.len());
            out[..len].copy_from_slice(&self.0[..len]);
            self.0 = &self.0[len..];
            Ok(len)
        }
    }

    fn all(text: &[u8], step: usize) -> Vec<Option<Vec<u8>>> {
        let mut lines = Lines::new(Dribble(text, step));
        let mut found = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            found.push(match line {
                Line::Text(text) => Some(text.to_vec()),
                Line::TooLong(_) => None,
            });
        }
        assert_eq!(lines.number(), found.len() as u64);
        found
    }

    #[test]
    fn lines_do_not_depend_on_how_they_arrive() {
        let longest = "x".repeat(MAX_LINE_BYTES);
        let text = format!("a\n\nb\r\n{longest}\n{longest}y\nc\n{}\nlast", "z".repeat(2_000_000));
        let expected: Vec<Option<Vec<u8>>> =
            [Some("a"), Some(""), Some("b"), Some(longest.as_str()), None, Some("c"), None]
                .into_iter()
                .chain([Some("last")])
                .map(|line| line.map(|line| line.as_bytes().to_vec()))
                .collect();
        for step in [997, 65_536, 1 << 22] {
            assert_eq!(all(text.as_bytes(), step), expected);
        }
        assert_eq!(all(b"", 1), []);
        assert_eq!(all(b"\n", 1), [Some(Vec::new())]);
    }
}

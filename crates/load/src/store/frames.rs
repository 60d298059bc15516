//! Dividing what a store sends into lines and blocks: lines end in CR LF, a block has a length that
//! a line has told, and CR LF behind it. RESP2 and memcached's text protocol both are made so.
//!
//! Bounded: a line has at most [`MAX_LINE`] bytes and is kept until the next one begins; a block
//! has at most [`MAX_BLOCK`] and is only counted. A line end without CR is refused.

/// The longest line, CR LF included.
pub const MAX_LINE: usize = 8 * 1024;
/// The longest block: that of Redis' `proto-max-bulk-len`, 512 MiB.
pub const MAX_BLOCK: u64 = 512 << 20;

/// Bytes that break the rules of their protocol, or a bound of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// What has come to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// A line: [`Frames::line`].
    Line,
    /// A block, with the line end behind it.
    Block,
}

/// Where in the stream the next byte lies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Line,
    Block {
        left: u64,
    },
    BlockEnd {
        seen_cr: bool,
    },
}

/// Divides one connection's bytes.
#[derive(Debug, Default)]
pub struct Frames {
    line: Vec<u8>,
    /// Whether `line` is whole, so that the next byte begins another.
    is_whole: bool,
    state: State,
    /// The length of the block under way, or of the last.
    block_len: u64,
}

impl Frames {
    /// Takes bytes up to the end of one frame, or all of them; says how many it took.
    ///
    /// # Errors
    /// [`Malformed`] at the first byte that cannot stand where it does.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(usize, Option<Frame>), Malformed> {
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            match &mut self.state {
                State::Line => return self.take_line(&bytes[at..]).map(|(n, end)| (at + n, end)),
                State::Block { left: 0 } => self.state = State::BlockEnd { seen_cr: false },
                State::Block { left } => {
                    let n = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len() - at);
                    *left -= n as u64;
                    at += n;
                }
                State::BlockEnd { seen_cr } => {
                    at += 1;
                    match (*seen_cr, byte) {
                        (false, b'\r') => *seen_cr = true,
                        (true, b'\n') => {
                            self.state = State::Line;
                            return Ok((at, Some(Frame::Block)));
                        }
                        _ => return Err(Malformed),
                    }
                }
            }
        }
        Ok((at, None))
    }

    fn take_line(&mut self, bytes: &[u8]) -> Result<(usize, Option<Frame>), Malformed> {
        if std::mem::take(&mut self.is_whole) {
            self.line.clear();
        }
        let end = memchr::memchr(b'\n', bytes);
        let n = end.map_or(bytes.len(), |end| end + 1);
        if self.line.len() + n > MAX_LINE {
            return Err(Malformed);
        }
        self.line.extend_from_slice(&bytes[..n]);
        if end.is_none() {
            return Ok((n, None));
        }
        if !self.line.ends_with(b"\r\n") {
            return Err(Malformed);
        }
        self.line.truncate(self.line.len() - 2);
        self.is_whole = true;
        Ok((n, Some(Frame::Line)))
    }

    /// The line that came last, without its end.
    #[must_use]
    pub fn line(&self) -> &[u8] {
        &self.line
    }

    /// A block of so many bytes comes next.
    ///
    /// # Errors
    /// [`Malformed`] where it is longer than [`MAX_BLOCK`].
    pub fn begin_block(&mut self, len: u64) -> Result<(), Malformed> {
        if len > MAX_BLOCK {
            return Err(Malformed);
        }
        self.state = State::Block { left: len };
        self.block_len = len;
        Ok(())
    }

    /// The length of the block under way, or of the last; 0 before the first.
    #[must_use]
    pub fn block_len(&self) -> u64 {
        self.block_len
    }

    /// Bytes of a block that are certain to follow next.
    #[must_use]
    pub fn block_left(&self) -> u64 {
        match self.state {
            State::Block { left } => left,
            State::Line | State::BlockEnd { .. } => 0,
        }
    }

    /// `n` bytes of a block passed by unseen; `n` is at most [`Frames::block_left`].
    pub fn pass_over(&mut self, n: u64) {
        if let State::Block { left } = &mut self.state {
            *left -= n.min(*left);
        }
    }

    /// How many received bytes are kept.
    #[must_use]
    pub fn held(&self) -> usize {
        self.line.len()
    }
}

/// Reads a length: digits, at most ten, no leading zero but `0` itself.
///
/// # Errors
/// [`Malformed`] for everything else.
pub(crate) fn length(text: &[u8]) -> Result<u64, Malformed> {
    let zero_first = text.len() > 1 && text[0] == b'0';
    if text.is_empty() || text.len() > 10 || zero_first || !text.iter().all(u8::is_ascii_digit) {
        return Err(Malformed);
    }
    Ok(text.iter().fold(0, |n, digit| n * 10 + u64::from(digit - b'0')))
}

/// Appends a number in digits, without an allocation.
pub(crate) fn push_decimal(mut number: usize, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b"0123456789"[number % 10];
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The frames of a text whose lines `$N` announce blocks.
    fn frames(pieces: &[&[u8]]) -> Result<Vec<(Frame, Vec<u8>)>, Malformed> {
        let (mut frames, mut found) = (Frames::default(), Vec::new());
        for piece in pieces {
            let mut rest = *piece;
            while !rest.is_empty() {
                let (n, frame) = frames.take(rest)?;
                rest = &rest[n..];
                let Some(frame) = frame else { continue };
                found.push((frame, frames.line().to_vec()));
                if frame == Frame::Line && frames.line().starts_with(b"$") {
                    frames.begin_block(length(&frames.line()[1..])?)?;
                }
            }
        }
        Ok(found)
    }

    #[test]
    fn reads_in_any_pieces() {
        let text = b"+OK\r\n$5\r\na\r\n\0b\r\n$0\r\n\r\n\r\n";
        let whole = frames(&[text]).unwrap();
        assert_eq!(whole.len(), 6);
        assert_eq!(whole[0], (Frame::Line, b"+OK".to_vec()));
        assert_eq!(whole[2].0, Frame::Block);
        assert_eq!(whole[5], (Frame::Line, Vec::new()));
        for at in 0..text.len() {
            assert_eq!(frames(&[&text[..at], &text[at..]]).unwrap(), whole, "cut at {at}");
        }
        let single: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(frames(&single).unwrap(), whole);
    }

    #[test]
    fn refuses_what_breaks_the_rules() {
        for text in [
            &b"+OK\n"[..],
            b"$2\r\nabc\r\n",
            b"$2\r\nab\n",
            b"$2\r\nab\r\r",
            b"$-1\r\n",
            b"$02\r\n",
            b"$99999999999\r\n",
            b"$536870913\r\n",
        ] {
            assert_eq!(frames(&[text]), Err(Malformed), "{:?}", text.escape_ascii());
        }
        let long = [vec![b'x'; MAX_LINE - 2], b"\r\n".to_vec()].concat();
        assert_eq!(frames(&[&long]).unwrap().len(), 1);
        assert_eq!(frames(&[b"x", &long]), Err(Malformed));
    }
}

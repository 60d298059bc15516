//! Follows the frames of a WebSocket, RFC 6455 section 5.2, so that a connection can be closed
//! between two of them.

/// Where in the frames of one direction a stream is.
#[derive(Debug, Default)]
pub struct Frames {
    /// The beginning of a frame's head that has not come whole.
    head: Vec<u8>,
    /// Bytes of the frame's payload that have not come.
    left: u64,
}

impl Frames {
    /// Takes bytes as they pass. Returns how many of them end with the last whole frame; `None`
    /// where no frame ends in them.
    pub fn follow(&mut self, bytes: &[u8]) -> Option<usize> {
        let (mut at, mut end) = (0, None);
        while at < bytes.len() {
            if self.left > 0 {
                let run = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len() - at);
                at += run;
                self.left -= run as u64;
                if self.left == 0 {
                    end = Some(at);
                }
                continue;
            }
            self.head.push(bytes[at]);
            at += 1;
            if let Some(payload) = payload(&self.head) {
                self.head.clear();
                self.left = payload;
                if payload == 0 {
                    end = Some(at);
                }
            }
        }
        end
    }

    /// Whether the stream is between two frames.
    #[must_use]
    pub fn is_between(&self) -> bool {
        self.left == 0 && self.head.is_empty()
    }
}

/// The bytes of payload behind a head; `None` where it is not whole.
fn payload(head: &[u8]) -> Option<u64> {
    let &[_, second, ref rest @ ..] = head else { return None };
    let mask = if second & 0x80 == 0 { 0 } else { 4 };
    let (length, extended) = match second & 0x7f {
        126 => (rest.get(..2)?.iter().fold(0, |all, byte| all << 8 | u64::from(*byte)), 2),
        127 => (rest.get(..8)?.iter().fold(0, |all, byte| all << 8 | u64::from(*byte)), 8),
        short => (u64::from(short), 0),
    };
    (rest.len() >= extended + mask).then_some(length)
}

/// A frame that closes because this side goes away (1001), as a server sends it.
pub const GOING_AWAY: [u8; 4] = [0x88, 2, 0x03, 0xe9];
/// The same, as a client sends it: masked, by a mask of zeros, which is one.
pub const GOING_AWAY_MASKED: [u8; 8] = [0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe9];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_followed_however_they_are_cut() {
        let mut stream = Vec::new();
        let mut ends = Vec::new();
        for (length, masked) in [(0_usize, false), (5, true), (126, false), (70_000, true)] {
            let mask = if masked { 0x80 } else { 0 };
            stream.push(0x82);
            match length {
                0..126 => stream.push(mask | u8::try_from(length).unwrap()),
                126..65_536 => {
                    stream.push(mask | 126);
                    stream.extend(u16::try_from(length).unwrap().to_be_bytes());
                }
                _ => {
                    stream.push(mask | 127);
                    stream.extend((length as u64).to_be_bytes());
                }
            }
            stream.extend(std::iter::repeat_n(7, length + if masked { 4 } else { 0 }));
            ends.push(stream.len());
        }
        for step in [1, 2, 3, 100, stream.len()] {
            let (mut frames, mut found, mut before) = (Frames::default(), Vec::new(), 0);
            for part in stream.chunks(step) {
                if let Some(end) = frames.follow(part) {
                    found.push(before + end);
                    assert_eq!(frames.is_between(), end == part.len());
                }
                before += part.len();
            }
            assert!(frames.is_between());
            assert!(found.iter().all(|end| ends.contains(end)), "{step}: {found:?}");
            assert_eq!(found.last(), ends.last());
            if step == 1 {
                assert_eq!(found, ends);
            }
        }
    }
}

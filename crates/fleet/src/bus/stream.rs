//! Bytes in their order, each once, over messages that may be lost, come twice or late.
//!
//! Parts have numbers. Whoever hears one says, with whatever he says next or a moment later, up to
//! which number he has heard all; what is not heard of for long is sent again, and all behind it
//! ("go back n"), as is everything when a connection to the broker is new. So nothing depends on
//! what a broker keeps. Time is passed in.

use std::collections::VecDeque;

/// The longest part, bytes.
const PART: usize = 128 << 10;
/// So many parts are on their way at most.
const WINDOW: usize = 32;
/// So long a part may be on its way before it is sent again.
const AGAIN_NS: u64 = 2_000_000_000;
/// What is said in less than this after the part before goes together: a broker's time is by the
/// message.
const TOGETHER_NS: u64 = 5_000_000;
/// So many parts are heard before it is said.
const OWED: u32 = 16;
/// So long after one was heard it is said.
const OWED_NS: u64 = 100_000_000;

/// What is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Out {
    /// A part, with its number; whether it is the last one.
    Part { number: u64, is_last: bool, bytes: Vec<u8> },
    /// Only how far was heard.
    Heard,
}

/// What comes of something that was heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Came {
    /// The next part.
    Part,
    /// What was heard before, or comes too early.
    Nothing,
}

#[derive(Debug)]
struct Part {
    number: u64,
    is_last: bool,
    bytes: Vec<u8>,
}

/// What of the last words has been done.
#[derive(Debug, Default)]
enum Closing {
    /// More may be said.
    #[default]
    Open,
    /// These are to be said behind all that is pending.
    Words(Vec<u8>),
    /// They are on their way, or heard.
    Said,
}

/// Both directions of a session, at one end.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// What is to be said, and not yet in parts.
    pending: VecDeque<u8>,
    closing: Closing,
    /// Parts that nobody is known to have heard, and how many of them were sent.
    parts: VecDeque<Part>,
    sent: usize,
    /// The number of the last part that was made, and when that was.
    made: u64,
    made_ns: Option<u64>,
    /// When something was heard of what is on its way last, or it was sent first.
    came_on_ns: u64,
    /// The number of the last part up to which all were heard.
    heard: u64,
    owed: u32,
    owed_since_ns: u64,
}

impl Stream {
    /// Something is to be said.
    pub(super) fn say(&mut self, bytes: &[u8]) {
        if matches!(self.closing, Closing::Open) {
            self.pending.extend(bytes);
        }
    }

    /// Nothing more is to be said than these last words.
    pub(super) fn end(&mut self, words: &[u8]) {
        if matches!(self.closing, Closing::Open) {
            self.closing = Closing::Words(words[..words.len().min(PART)].to_vec());
        }
    }

    /// How many bytes wait to be heard at the other end.
    pub(super) fn waiting(&self) -> usize {
        self.pending.len() + self.parts.iter().map(|part| part.bytes.len()).sum::<usize>()
    }

    /// Up to which part all were heard.
    pub(super) fn heard(&self) -> u64 {
        self.heard
    }

    /// Whether the other end has heard all, the last words too.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.closing, Closing::Said) && self.parts.is_empty()
    }

    /// The other end has heard all up to a number. Parts that were never sent, nobody has heard.
    pub(super) fn acknowledged(&mut self, number: u64, now_ns: u64) {
        while self.sent > 0 && self.parts.front().is_some_and(|part| part.number <= number) {
            self.parts.pop_front();
            self.sent -= 1;
            self.came_on_ns = now_ns;
        }
    }

    /// A part has come. `has_room`: whether it can be taken.
    pub(super) fn hear(&mut self, number: u64, has_room: bool, now_ns: u64) -> Came {
        if self.owed == 0 {
            self.owed_since_ns = now_ns;
        }
        self.owed += 1;
        if number == self.heard + 1 && has_room {
            self.heard = number;
            return Came::Part;
        }
        Came::Nothing
    }

    /// All that is on its way may be lost: it is sent again.
    pub(super) fn again(&mut self) {
        self.sent = 0;
        self.owed = self.owed.max(1);
    }

    /// What is to be sent now.
    pub(super) fn due(&mut self, now_ns: u64) -> Vec<Out> {
        if self.sent > 0 && now_ns.saturating_sub(self.came_on_ns) > AGAIN_NS {
            self.sent = 0;
        }
        self.make(now_ns);
        if self.sent == 0 {
            self.came_on_ns = now_ns;
        }
        let out: Vec<Out> = self.parts.iter().skip(self.sent).map(Part::out).collect();
        self.sent = self.parts.len();
        let is_due = self.owed >= OWED || now_ns.saturating_sub(self.owed_since_ns) >= OWED_NS;
        let owes = self.owed > 0 && is_due;
        if owes || !out.is_empty() {
            self.owed = 0;
        }
        if out.is_empty() && owes { vec![Out::Heard] } else { out }
    }

    /// In how many nanoseconds it is to be asked again what is due; `None` where nothing will be.
    pub(super) fn due_in(&self, now_ns: u64) -> Option<u64> {
        let after = |since_ns: u64, span_ns: u64| (since_ns + span_ns).saturating_sub(now_ns);
        let again = (self.sent > 0).then(|| after(self.came_on_ns, AGAIN_NS) + 1);
        let owed = (self.owed > 0).then(|| after(self.owed_since_ns, OWED_NS));
        let has_room = self.parts.len() < WINDOW;
        let is_pending = !self.pending.is_empty() || matches!(self.closing, Closing::Words(_));
        let goes = (is_pending && has_room).then(|| self.goes_ns().saturating_sub(now_ns));
        [again, owed, goes].into_iter().flatten().min()
    }

    /// When what is pending may go.
    fn goes_ns(&self) -> u64 {
        let is_whole = self.pending.len() >= PART;
        self.made_ns.filter(|_| !is_whole).map_or(0, |made_ns| made_ns + TOGETHER_NS)
    }

    /// Makes parts of what is pending, as many as may be on their way.
    fn make(&mut self, now_ns: u64) {
        if now_ns < self.goes_ns() {
            return;
        }
        if !self.pending.is_empty() {
            self.made_ns = Some(now_ns);
        }
        while self.parts.len() < WINDOW && !self.pending.is_empty() {
            let length = self.pending.len().min(PART);
            let bytes = self.pending.drain(..length).collect();
            self.push(false, bytes);
        }
        if self.pending.is_empty()
            && self.parts.len() < WINDOW
            && let Closing::Words(words) = &mut self.closing
        {
            let words = std::mem::take(words);
            self.closing = Closing::Said;
            self.push(true, words);
        }
    }

    fn push(&mut self, is_last: bool, bytes: Vec<u8>) {
        self.made += 1;
        self.parts.push_back(Part { number: self.made, is_last, bytes });
    }
}

impl Part {
    fn out(&self) -> Out {
        Out::Part { number: self.number, is_last: self.is_last, bytes: self.bytes.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    /// One end, and what it has heard.
    #[derive(Default)]
    struct End {
        stream: Stream,
        heard: Vec<u8>,
        last: Option<Vec<u8>>,
    }

    impl End {
        fn hear(&mut self, (out, heard): &(Out, u64), now_ns: u64) {
            self.stream.acknowledged(*heard, now_ns);
            let Out::Part { number, is_last, bytes } = out else { return };
            if self.stream.hear(*number, true, now_ns) == Came::Part {
                assert!(self.last.is_none(), "nothing comes behind the last");
                if *is_last {
                    self.last = Some(bytes.clone());
                } else {
                    self.heard.extend(bytes);
                }
            }
        }

        fn due(&mut self, now_ns: u64) -> Vec<(Out, u64)> {
            let out = self.stream.due(now_ns);
            out.into_iter().map(|out| (out, self.stream.heard())).collect()
        }
    }

    #[test]
    fn what_is_heard_is_said_with_the_next_word_or_a_moment_later() {
        let mut stream = Stream::default();
        assert_eq!(stream.hear(1, true, 5 * MS), Came::Part);
        assert_eq!(stream.due(50 * MS), []);
        assert_eq!(stream.due_in(50 * MS), Some(55 * MS));
        assert_eq!(stream.due(105 * MS), [Out::Heard]);
        assert_eq!(stream.due_in(105 * MS), None);
        assert_eq!(stream.hear(1, true, 110 * MS), Came::Nothing, "twice");
        stream.say(b"a");
        let part = |number| Out::Part { number, is_last: false, bytes: b"a".to_vec() };
        assert_eq!(stream.due(110 * MS), [part(1)]);
        assert_eq!(stream.due(300 * MS), [], "it was said with the part");
        assert_eq!(stream.due(2111 * MS), [part(1)], "nobody is known to have heard it");
        stream.acknowledged(9, 2112 * MS);
        assert_eq!((stream.waiting(), stream.due(9000 * MS)), (0, Vec::new()));
        for number in 2..18 {
            stream.hear(number, true, 9000 * MS);
        }
        assert_eq!(stream.due(9000 * MS), [Out::Heard], "sixteen are owed at once");
        assert_eq!(stream.hear(18, false, 9000 * MS), Came::Nothing, "there is no room");
        assert_eq!(stream.heard(), 17);
    }

    #[test]
    fn no_more_is_on_its_way_than_the_window() {
        let mut stream = Stream::default();
        stream.say(&vec![7; PART * (WINDOW + 5)]);
        stream.end(b"bye");
        stream.say(b"too late");
        assert_eq!(stream.due(0).len(), WINDOW);
        stream.acknowledged(u64::MAX, 0);
        let rest = stream.due(0);
        assert_eq!(rest.len(), 6);
        assert!(!stream.is_over());
        let last = Out::Part { number: 38, is_last: true, bytes: b"bye".to_vec() };
        assert_eq!(rest.last(), Some(&last));
        stream.acknowledged(38, 0);
        assert!(stream.is_over());
    }

    proptest! {
        /// Messages that are lost, doubled, or come late change nothing of what is heard.
        #[test]
        fn all_is_heard_once_in_its_order(
            words in proptest::collection::vec((any::<bool>(), 1..200_000_usize), 1..12),
            fates in proptest::collection::vec(0..10_u8, 1..400),
        ) {
            let mut ends = [End::default(), End::default()];
            let mut said = [Vec::new(), Vec::new()];
            let mut fates = fates.into_iter();
            let mut late: Vec<(usize, (Out, u64))> = Vec::new();
            let mut words = words.into_iter();
            for round in 0..4000_u64 {
                let now_ns = round * 50 * MS;
                if let Some((side, length)) = words.next() {
                    let bytes: Vec<u8> = (0..=250).cycle().take(length).collect();
                    ends[usize::from(side)].stream.say(&bytes);
                    said[usize::from(side)].extend(bytes);
                } else {
                    ends.iter_mut().for_each(|end| end.stream.end(b"bye"));
                }
                if round % 97 == 96 {
                    ends[0].stream.again();
                }
                for side in 0..2 {
                    for out in ends[side].due(now_ns) {
                        // When all fates have been met, nothing is lost any more.
                        match fates.next().unwrap_or(9) {
                            0..=2 => {}
                            3 => late.push((1 - side, out)),
                            4 => {
                                ends[1 - side].hear(&out, now_ns);
                                ends[1 - side].hear(&out, now_ns);
                            }
                            _ => ends[1 - side].hear(&out, now_ns),
                        }
                    }
                }
                if round % 7 == 0 {
                    late.drain(..).for_each(|(side, out)| ends[side].hear(&out, now_ns));
                }
                if ends.iter().all(|end| end.stream.is_over()) {
                    break;
                }
            }
            for side in 0..2 {
                prop_assert!(ends[side].stream.is_over());
                prop_assert_eq!(&ends[1 - side].heard, &said[side]);
                prop_assert_eq!(ends[side].last.as_deref(), Some(&b"bye"[..]));
            }
        }
    }
}

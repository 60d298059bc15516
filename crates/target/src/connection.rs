//! One connection: the requests read from it, the answers owed on it, in order.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, send, sendmsg};

use crate::counters::Answered;
use crate::http::answer::{Answer, Answers, Status};
use crate::http::head::Link;
use crate::http::reader::Reader;

/// Answers that a connection may owe before no more requests are read from it.
const OWED: usize = 1024;
/// Room for answers that a connection keeps while it owes none.
const ROOM: usize = 8;
/// Pieces of the block in one system call.
const PIECES: usize = 4;
/// Bytes sent on one connection before others have their turn.
const TURN: u64 = 4 << 20;

/// State of one connection; some 130 bytes, and nothing on the heap before its first request.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) fd: OwnedFd,
    pub(crate) reader: Reader,
    /// Answers not yet sent whole, in the order of their requests.
    answers: VecDeque<Answer>,
    /// Bytes of the first answer that are gone.
    sent: u64,
    /// Answers that are gone whole; goes round.
    gone: u32,
    /// What epoll was told to watch for.
    pub(crate) watched: Watch,
    /// The kernel's buffer is full.
    is_blocked: bool,
    /// No more is read as requests: the client has ended, or is to be hung up on.
    pub(crate) is_read_out: bool,
    /// The last answer has left and the connection is shut for writing; what the client still
    /// sends is dropped, so that the answer is not lost to a reset.
    pub(crate) is_lingering: bool,
}

/// What a connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Watch {
    pub(crate) read: bool,
    pub(crate) write: bool,
}

/// What is to be done with a connection after it has been sent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Stay,
    /// Shut it for writing, and linger.
    Linger,
    Close,
}

impl Connection {
    /// One whose requests are noted where `notes` says so.
    pub(crate) fn new(fd: OwnedFd, notes: bool) -> Self {
        Self {
            fd,
            reader: Reader::new().noting(notes),
            answers: VecDeque::new(),
            sent: 0,
            gone: 0,
            watched: Watch { read: true, write: false },
            is_blocked: false,
            is_read_out: false,
            is_lingering: false,
        }
    }

    /// Reads once into `buffer`; 0 at the end of what the client sends, `None` when it has sent
    /// nothing new.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> Result<Option<usize>, Errno> {
        match recv(&self.fd, buffer, RecvFlags::empty()) {
            Ok((read, _)) => Ok(Some(read)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Queues an answer behind those owed already: it leaves at its release, but never before
    /// them. Returns its number on this connection.
    pub(crate) fn owe(&mut self, answer: Answer) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "numbers go round")]
        let number = self.gone.wrapping_add(self.answers.len() as u32);
        self.answers.push_back(answer);
        number
    }

    /// Lets the answer of that number leave from `now_ns` on.
    pub(crate) fn release(&mut self, number: u32, now_ns: u64) {
        let place = number.wrapping_sub(self.gone) as usize;
        if let Some(answer) = self.answers.get_mut(place) {
            answer.release_ns = now_ns;
        }
    }

    /// How many answers have not left whole.
    pub(crate) fn owed(&self) -> usize {
        self.answers.len()
    }

    /// Sends an answer that is not queued. Returns whether the kernel took it whole.
    ///
    /// Behind an answer that is owed it would come too early: nothing is sent then.
    pub(crate) fn send_at_once(&self, answer: &[u8]) -> bool {
        self.answers.is_empty() && send(&self.fd, answer, SendFlags::NOSIGNAL) == Ok(answer.len())
    }

    /// Sends what may leave by `now_ns`, as far as the kernel takes it, and counts the answers that
    /// are gone whole; returns what is to be done next, and how many bytes left.
    pub(crate) fn send_due(
        &mut self,
        now_ns: u64,
        answers: &Answers,
        scratch: &mut Vec<u8>,
        answered: &mut Answered,
    ) -> (Next, u64) {
        let mut bytes_out = 0;
        self.is_blocked = false;
        while let Some(first) = self.answers.front().filter(|first| first.release_ns <= now_ns) {
            let has_more = self.answers.get(1).is_some_and(|next| next.release_ns <= now_ns);
            let outcome = match answers.usual(first) {
                Some(usual) if self.sent == 0 && !has_more => {
                    send(&self.fd, usual, SendFlags::NOSIGNAL)
                }
                _ => self.send_gathered(now_ns, answers, scratch),
            };
            match outcome {
                Ok(sent) => {
                    bytes_out += sent as u64;
                    if let Some(next) = self.advance(sent as u64, answers, answered) {
                        return (next, bytes_out);
                    }
                    if bytes_out >= TURN && !self.answers.is_empty() {
                        // The next event says that it may go on.
                        self.is_blocked = true;
                        return (Next::Stay, bytes_out);
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    self.is_blocked = true;
                    return (Next::Stay, bytes_out);
                }
                Err(_) => return (Next::Close, bytes_out),
            }
        }
        let is_done = self.is_read_out && self.answers.is_empty() && !self.is_lingering;
        (if is_done { Next::Close } else { Next::Stay }, bytes_out)
    }

    fn send_gathered(
        &self,
        now_ns: u64,
        answers: &Answers,
        scratch: &mut Vec<u8>,
    ) -> Result<usize, Errno> {
        let due = self.answers.iter().take_while(|answer| answer.release_ns <= now_ns);
        let large = answers.gather(due, self.sent, scratch).large;
        if large == 0 {
            return send(&self.fd, scratch, SendFlags::NOSIGNAL);
        }
        let block = answers.block();
        let mut pieces = [IoSlice::new(&[]); PIECES];
        pieces[0] = IoSlice::new(scratch);
        let mut used = 1;
        let mut left = usize::try_from(large).unwrap_or(usize::MAX);
        while left > 0 && used < PIECES {
            let piece = left.min(block.len());
            pieces[used] = IoSlice::new(&block[..piece]);
            left -= piece;
            used += 1;
        }
        let mut control = SendAncillaryBuffer::default();
        sendmsg(&self.fd, &pieces[..used], &mut control, SendFlags::NOSIGNAL)
    }

    /// Takes note that `sent` bytes have gone; says what to do when the last answer has.
    fn advance(
        &mut self,
        mut sent: u64,
        answers: &Answers,
        answered: &mut Answered,
    ) -> Option<Next> {
        while let Some(first) = self.answers.front() {
            let left = answers.len(first) - self.sent;
            if sent < left {
                self.sent += sent;
                return None;
            }
            sent -= left;
            self.sent = 0;
            let Some(gone) = self.answers.pop_front() else { break };
            self.gone = self.gone.wrapping_add(1);
            answered.count(gone.status);
            if self.answers.is_empty() && self.answers.capacity() > ROOM {
                self.answers = VecDeque::new();
            }
            if gone.link == Link::Close && gone.status != Status::Continue {
                let is_refusal = !matches!(
                    gone.status,
                    Status::Ok | Status::Forbidden | Status::InternalError | Status::Unavailable
                );
                return Some(if is_refusal { Next::Linger } else { Next::Close });
            }
        }
        None
    }

    /// What epoll should watch for now.
    pub(crate) fn wants(&self) -> Watch {
        let reads = !self.is_read_out && self.answers.len() < OWED;
        Watch { read: reads || self.is_lingering, write: self.is_blocked }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 19,000 idle connections, each having been used, are to cost some four megabytes.
    #[test]
    fn an_idle_connection_is_small() {
        let first_room = 4 * size_of::<Answer>();
        let bytes = size_of::<(u32, Option<Connection>)>() + first_room;
        assert!(bytes <= 200, "{bytes} bytes");
    }
}

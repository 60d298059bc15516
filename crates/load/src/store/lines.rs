//! Stores that speak in lines and blocks: RESP2 and memcached's text protocol both do.
//!
//! A [`Dialect`] says what a line means; dividing the bytes is [`Frames`]' part.

use super::frames::{Frame, Frames, Malformed};
use super::{Heard, Reply, Speech};
use plimsoll_workload::store::Operation;

/// What follows a line or a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The answer is whole.
    Reply(Reply),
    /// A block of so many bytes.
    Block(u64),
    /// Another line of the same answer.
    Line,
}

/// How one such store speaks.
pub trait Dialect: Send {
    /// What is kept between two lines of one answer.
    type State: Default + Send;

    /// Appends what a connection begins with, so that the store says whether it lets us in; returns
    /// how many answers that gets, each of them [`Reply::Done`] or [`Reply::Greeted`] where all is
    /// well.
    fn greet(&self, out: &mut Vec<u8>) -> u32;

    /// Appends the command of an operation, which writes `value`.
    fn command(operation: &Operation, value: &[u8], out: &mut Vec<u8>);

    /// What a line of an answer means.
    ///
    /// # Errors
    /// [`Malformed`] where no answer to our commands has such a line.
    fn line(state: &mut Self::State, text: &[u8]) -> Result<Next, Malformed>;

    /// Whether a connection can be used all the same whose last greeting is answered by this error:
    /// one that concerns the greeting only, or that each request will be told again.
    fn lets_in(_error: &[u8]) -> bool {
        false
    }

    /// What follows a block.
    fn block(state: &mut Self::State) -> Next;
}

/// Where a connection's bytes are divided, and what its dialect keeps.
#[derive(Default)]
pub struct Lined<S> {
    frames: Frames,
    state: S,
}

impl<D: Dialect> Speech for D {
    type State = Lined<D::State>;

    fn open(&self, out: &mut Vec<u8>) -> (Self::State, u32) {
        let greetings = self.greet(out);
        (Lined::default(), greetings)
    }

    fn command(_: &Self::State, _: u16, operation: &Operation, value: &[u8], out: &mut Vec<u8>) {
        <D as Dialect>::command(operation, value, out);
    }

    fn lets_in(state: &Self::State) -> bool {
        D::lets_in(state.frames.line())
    }

    fn take(
        &self,
        lined: &mut Self::State,
        bytes: &[u8],
        _: &mut Vec<u8>,
    ) -> Result<(usize, Option<Reply>), Malformed> {
        let Lined { frames, state } = lined;
        let mut at = 0;
        while at < bytes.len() {
            let (n, frame) = frames.take(&bytes[at..])?;
            at += n;
            let next = match frame {
                None => break,
                Some(Frame::Line) => D::line(state, frames.line())?,
                Some(Frame::Block) => D::block(state),
            };
            match next {
                Next::Reply(reply) => return Ok((at, Some(reply))),
                Next::Block(len) => frames.begin_block(len)?,
                Next::Line => {}
            }
        }
        Ok((at, None))
    }
}

impl<S: Send> Heard for Lined<S> {
    fn said(&self) -> &[u8] {
        self.frames.line()
    }

    fn value_len(&self) -> Option<u64> {
        Some(self.frames.block_len())
    }

    fn certain(&self) -> u64 {
        self.frames.block_left()
    }

    fn pass_over(&mut self, n: u64) {
        self.frames.pass_over(n);
    }

    fn held(&self) -> usize {
        self.frames.held()
    }
}

//! Turns on the machine: each test says what it weighs, and no more run at once than the budget
//! carries.
//!
//! The runner gives turns out over a Unix socket, to all binaries, pages and examples together: the
//! test sends `WEIGHT NAME`, waits for a line, and closes the connection when it is done, or when
//! it dies. Without a runner, turns are given out among the tests of this process.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::{Condvar, Mutex, PoisonError};

use crate::{TURNS, variable};

/// What may run at once, on two cores.
const BUDGET: u32 = 12;

static FREE: Mutex<u32> = Mutex::new(BUDGET);
static CHANGED: Condvar = Condvar::new();

/// How much of the machine a test takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weight(u32);

impl Weight {
    /// Mostly waits: for a server, for a load of a few requests a second.
    pub const WAITS: Self = Self(1);
    /// Starts servers and loads them.
    pub const LOADS: Self = Self(2);
    /// Starts a database.
    pub const DATABASE: Self = Self(3);
    /// Simulates, builds, or keeps a core busy.
    pub const COMPUTES: Self = Self(4);
    /// Needs the machine to itself.
    pub const ALONE: Self = Self(BUDGET);

    /// Of the 12 that the budget carries.
    #[must_use]
    pub fn value(self) -> u32 {
        self.0
    }
}

/// A turn, until it is dropped.
pub struct Turn {
    held: Held,
}

enum Held {
    /// Of the runner: closing the connection gives it back.
    Connection { _open: UnixStream },
    /// Of this process.
    Share(u32),
}

impl Turn {
    /// Waits for a turn. The test's name is that of its thread, which libtest names after it.
    ///
    /// # Panics
    ///
    /// Where the runner is gone.
    #[must_use]
    pub fn take(weight: Weight) -> Self {
        let held = match variable(TURNS) {
            Some(socket) => Held::Connection { _open: of_runner(&socket, weight) },
            None => of_process(weight),
        };
        Self { held }
    }
}

fn of_runner(socket: &str, weight: Weight) -> UnixStream {
    let thread = std::thread::current();
    let asked = || -> std::io::Result<UnixStream> {
        let mut stream = UnixStream::connect(socket)?;
        writeln!(stream, "{} {}", weight.0, thread.name().unwrap_or("a test"))?;
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line)?;
        if line.is_empty() { Err(std::io::ErrorKind::UnexpectedEof.into()) } else { Ok(stream) }
    };
    asked().unwrap_or_else(|error| panic!("the runner at {socket} gives no turn: {error}"))
}

fn of_process(weight: Weight) -> Held {
    let free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    let is_too_little = |free: &mut u32| *free < weight.0;
    let free = CHANGED.wait_while(free, is_too_little);
    *free.unwrap_or_else(PoisonError::into_inner) -= weight.0;
    Held::Share(weight.0)
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Held::Share(weight) = self.held {
            *FREE.lock().unwrap_or_else(PoisonError::into_inner) += weight;
            CHANGED.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_of_this_process_is_given_back() {
        for _ in 0..3 {
            // Two at once would never end.
            drop(of_process_turn(Weight::ALONE));
        }
        let both = (of_process_turn(Weight::COMPUTES), of_process_turn(Weight::DATABASE));
        drop(both);
    }

    fn of_process_turn(weight: Weight) -> Turn {
        Turn { held: of_process(weight) }
    }
}

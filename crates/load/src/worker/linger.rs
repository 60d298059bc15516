//! Sockets of WebSockets that are over, which are left to their peers for a while: it is the peer's
//! to close them first (RFC 6455, section 7.1.1), and bytes of his that nobody reads would have our
//! last words thrown away.

use super::Worker;
use crate::clock::timespec;
use crate::driver::Driver;
use rustix::event::{PollFd, PollFlags, epoll, poll};
use rustix::net::{RecvFlags, recv};
use std::os::fd::AsFd as _;

/// How long a socket is left to its peer, and how many are while the load goes on.
const LINGER_NS: u64 = 1_000_000_000;
const MOST_LINGERING: usize = 1024;

impl<D: Driver> Worker<D> {
    /// A WebSocket is over: its last words are sent, a close that answers the peer's or says what
    /// it broke, and its socket is left to the peer.
    pub(super) fn linger(&mut self, at: u32) {
        let connection = &mut self.connections[at as usize];
        let _ = connection.send_gathered();
        let Some(socket) = connection.socket.take() else { return };
        let _ = epoll::delete(&self.epoll, &socket);
        if self.lingering.len() >= MOST_LINGERING && !self.is_ending {
            self.lingering.pop_front();
        }
        self.lingering.push_back((self.now.saturating_add(LINGER_NS), socket));
    }

    /// Closes the sockets that were left to their peers for long enough.
    pub(super) fn expire_lingering(&mut self) {
        while self.lingering.front().is_some_and(|(until, _)| *until <= self.now) {
            self.lingering.pop_front();
        }
    }

    /// The load is over: reads what peers still say until they have closed their sockets, or their
    /// time is over.
    pub(super) fn see_off(&mut self) {
        while !self.lingering.is_empty() {
            self.now = self.clock.now();
            self.expire_lingering();
            let Some((until, _)) = self.lingering.front() else { return };
            let wait = timespec(until.saturating_sub(self.now));
            let watch = |(_, socket)| PollFd::from_borrowed_fd(socket, PollFlags::IN);
            let mut watched: Vec<PollFd<'_>> = self
                .lingering
                .iter()
                .map(|(until, socket)| watch((until, socket.as_fd())))
                .collect();
            // An interrupted wait is a short wait.
            let _ = poll(&mut watched, Some(&wait));
            let told: Vec<bool> = watched.iter().map(|of| !of.revents().is_empty()).collect();
            let mut told = told.into_iter();
            let buffer = &mut self.buffer;
            self.lingering.retain(|(_, socket)| {
                let is_told = told.next().unwrap_or(false);
                !is_told
                    || recv(socket, &mut buffer[..], RecvFlags::empty()).is_ok_and(|got| got.0 > 0)
            });
        }
    }
}

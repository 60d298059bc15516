//! One connection: its socket, its TLS, what is still to be written, and a driver's state.

use crate::driver::Slot;
use crate::in_flight::NOBODY;
use crate::sys;
use crate::tls::Tls;
use crate::way::Endpoint;
use plimsoll_runs::LocalCause;
use plimsoll_workload::scenario::Lane;
use rustix::event::epoll;
use rustix::net::{
    AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, bind, connect, ipproto,
    send, socket_with, sockopt,
};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// How far a connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// There is none.
    Closed,
    /// The kernel is connecting.
    Connecting,
    /// A proxy is asked for a tunnel.
    Tunnelling,
    /// TLS is being agreed on.
    Handshaking,
    /// The protocol's own login is under way.
    LoggingIn,
    /// Requests can be sent.
    Open,
}

/// One entry of a worker's table.
pub(crate) struct Connection<C> {
    /// The socket, unless closed.
    pub(crate) socket: Option<OwnedFd>,
    /// How far it has come.
    pub(crate) state: State,
    /// Counts the sockets of this entry, so that an event for a former one is known as such.
    pub(crate) generation: u32,
    /// Unique in the run.
    pub(crate) serial: u32,
    /// The driver's state.
    pub(crate) protocol: Option<C>,
    tls: Option<Box<rustls::ClientConnection>>,
    /// Whether TLS has to agree on HTTP/2, which was offered alone.
    needs_http2: bool,
    /// What the socket did not take yet.
    out: Vec<u8>,
    /// Plain bytes that go out together at the end of the turn.
    pub(crate) gathered: Vec<u8>,
    /// Whether epoll watches for room to write.
    pub(crate) watches_write: bool,
    /// When bytes were last written that the socket had not taken at once; 0 where there were none.
    pub(crate) wrote: u64,
    /// When connecting began.
    pub(crate) began: u64,
    /// Since when it could take a request.
    pub(crate) free_since: u64,
    /// Whether an answer has come in several reads, and whether the next has been seen to arrive.
    pub(crate) in_parts: bool,
    pub(crate) seen: bool,
    /// Whether the kernel stamps what arrives.
    pub(crate) stamped: bool,
    /// Requests it has answered.
    pub(crate) answered: u32,
    /// Requests on it.
    pub(crate) in_use: u32,
    /// Whether it stands among the idle connections, and among those that requests can share.
    pub(crate) queued: bool,
    pub(crate) shared: bool,
    /// Whether a request on it has run out of time.
    pub(crate) timed_out: bool,
    /// Whether it has something to write that waits for the end of the turn.
    pub(crate) dirty: bool,
    /// The request it is opened for, if that was sent in vain on a stale one.
    pub(crate) reserved: Option<Slot>,
    /// The seat of the user whose own it is; [`NOBODY`] where any request may go on it.
    pub(crate) owner: u32,
    /// Whether it has been free since it was last used, where it is a user's own.
    pub(crate) is_idle: bool,
    /// To which server it leads, and for what.
    pub(crate) lane: Lane,
    /// Since when it is a WebSocket; 0 where it is none.
    pub(crate) online_since: u64,
    /// By which code it was closed, where that was told; 0 before.
    pub(crate) code: u16,
    /// Who has closed it first, and by which words.
    pub(crate) closed_by: ClosedBy,
}

/// Who has closed a WebSocket first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum ClosedBy {
    /// Its user, or nobody yet: a connection that ends so was let go by the peer without a word.
    #[default]
    User,
    /// The peer, by a close frame with this reason.
    Peer(String),
    /// This program: what the peer sent is no WebSocket.
    Broken(String),
}

impl<C> Connection<C> {
    /// An entry without a socket.
    #[must_use]
    pub(crate) fn closed() -> Self {
        Self {
            socket: None,
            state: State::Closed,
            generation: 0,
            serial: 0,
            protocol: None,
            tls: None,
            needs_http2: false,
            out: Vec::new(),
            gathered: Vec::new(),
            watches_write: false,
            wrote: 0,
            began: 0,
            free_since: 0,
            in_parts: false,
            seen: false,
            stamped: false,
            answered: 0,
            in_use: 0,
            queued: false,
            shared: false,
            timed_out: false,
            dirty: false,
            reserved: None,
            owner: NOBODY,
            is_idle: false,
            lane: Lane::default(),
            online_since: 0,
            code: 0,
            closed_by: ClosedBy::User,
        }
    }

    /// The open socket.
    #[inline]
    pub(crate) fn socket(&self) -> io::Result<BorrowedFd<'_>> {
        self.socket.as_ref().map(AsFd::as_fd).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Whether received bytes can be taken off the socket unseen.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.tls.is_none()
    }

    /// Whether everything that was given to it has gone to the kernel.
    #[inline]
    pub(crate) fn is_flushed(&self) -> bool {
        self.out.is_empty()
    }

    /// How many entries it has among the free connections.
    pub(crate) fn entries(&self) -> u32 {
        u32::from(self.queued) + u32::from(self.shared)
    }

    /// Whether the peer has let requests on it run out of time, and has answered none.
    pub(crate) fn is_silent(&self) -> bool {
        self.timed_out && self.answered == 0
    }

    /// Begins TLS on a connected socket.
    pub(crate) fn begin_tls(&mut self, tls: &Tls) -> Result<(), rustls::Error> {
        let mut client = rustls::ClientConnection::new(tls.config.clone(), tls.name.clone())?;
        client.set_buffer_limit(None);
        self.tls = Some(Box::new(client));
        self.needs_http2 = tls.config.alpn_protocols == [crate::http2::ALPN];
        self.state = State::Handshaking;
        Ok(())
    }

    /// Has the kernel note when bytes arrive; where it does not, they arrive when they are read.
    #[cold]
    pub(crate) fn stamp_arrivals(&mut self) {
        self.stamped = true;
        if let Some(socket) = &self.socket {
            sys::stamp_arrivals(socket.as_fd());
        }
    }

    /// Sends bytes, or keeps what the socket does not take.
    #[inline]
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(tls) = &mut self.tls {
            tls.writer().write_all(bytes)?;
            return self.flush();
        }
        if !self.out.is_empty() {
            self.out.extend_from_slice(bytes);
            return self.flush();
        }
        let socket = self.socket()?;
        let sent = match send(socket, bytes, SendFlags::NOSIGNAL) {
            Ok(n) => n,
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => 0,
            Err(error) => return Err(error.into()),
        };
        self.out.extend_from_slice(&bytes[sent..]);
        Ok(())
    }

    /// Gives the kernel as much as it takes.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if let Some(tls) = &mut self.tls {
            while tls.wants_write() {
                tls.write_tls(&mut self.out)?;
            }
        }
        let mut at = 0;
        while at < self.out.len() {
            let socket = self.socket.as_ref().ok_or(io::ErrorKind::NotConnected)?;
            match send(socket, &self.out[at..], SendFlags::NOSIGNAL) {
                Ok(n) => at += n,
                Err(rustix::io::Errno::AGAIN) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.out.drain(..at);
        if self.out.is_empty() && self.out.capacity() > 64 * 1024 {
            self.out = Vec::new();
        }
        Ok(())
    }

    /// Sends what has gathered.
    pub(crate) fn send_gathered(&mut self) -> io::Result<()> {
        let mut bytes = std::mem::take(&mut self.gathered);
        let result = if bytes.is_empty() { Ok(()) } else { self.send(&bytes) };
        bytes.clear();
        self.gathered = bytes;
        result
    }

    /// Whether TLS has gone on with the session of another connection.
    pub(crate) fn is_resumed(&self) -> bool {
        let kind = self.tls.as_ref().and_then(|tls| tls.handshake_kind());
        kind == Some(rustls::HandshakeKind::Resumed)
    }

    /// Takes received TLS bytes; whole records become plain bytes in `plain`.
    pub(crate) fn decrypt(
        &mut self,
        mut bytes: &[u8],
        plain: &mut Vec<u8>,
    ) -> io::Result<Decrypted> {
        let mut ended = false;
        let Some(tls) = &mut self.tls else { return Ok(Decrypted { completed: false, ended }) };
        let handshaking = tls.is_handshaking();
        // What follows the peer's `close_notify` is not read, and means nothing.
        while !bytes.is_empty() && !ended {
            tls.read_tls(&mut bytes)?;
            let state = tls
                .process_new_packets()
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            let from = plain.len();
            plain.resize(from + state.plaintext_bytes_to_read(), 0);
            if plain.len() > from {
                tls.reader().read_exact(&mut plain[from..])?;
            }
            ended = state.peer_has_closed();
        }
        let completed = handshaking && !tls.is_handshaking();
        if completed && self.needs_http2 {
            agreed_on_http2(tls.alpn_protocol())?;
        }
        if tls.wants_write() {
            self.flush()?;
        }
        Ok(Decrypted { completed, ended })
    }

    /// Closes the socket and forgets everything about it. The kernel takes it out of epoll.
    pub(crate) fn close(&mut self) {
        self.socket = None;
        self.state = State::Closed;
        self.generation = self.generation.wrapping_add(1);
        self.protocol = None;
        self.tls = None;
        self.out = Vec::new();
        self.gathered = Vec::new();
        self.watches_write = false;
        self.wrote = 0;
        self.in_parts = false;
        self.seen = false;
        self.answered = 0;
        self.timed_out = false;
        self.in_use = 0;
        self.dirty = false;
    }
}

/// What received TLS bytes have done besides becoming plain ones.
pub(crate) struct Decrypted {
    /// Completed the handshake.
    pub(crate) completed: bool,
    /// Said that no more will come (`close_notify`).
    pub(crate) ended: bool,
}

/// HTTP/1.1 may be spoken where nothing was agreed on, HTTP/2 may not (RFC 9113, section 3.3).
fn agreed_on_http2(protocol: Option<&[u8]>) -> io::Result<()> {
    if protocol == Some(crate::http2::ALPN) {
        return Ok(());
    }
    let found = match protocol {
        Some(other) => format!("`{}`", other.escape_ascii()),
        None => "none".to_owned(),
    };
    Err(io::Error::other(format!(
        "agree on HTTP/2: expected the application protocol `h2` (ALPN), found {found}; ask for \
         HTTP/1.1, or let the server offer HTTP/2"
    )))
}

/// Why this host let no connection be opened, where an error says that it was the host.
pub(crate) fn local_cause(error: &io::Error) -> Option<LocalCause> {
    Some(match rustix::io::Errno::from_io_error(error)? {
        rustix::io::Errno::ADDRNOTAVAIL => LocalCause::Ports,
        rustix::io::Errno::MFILE => LocalCause::Descriptors,
        rustix::io::Errno::NFILE => LocalCause::Files,
        rustix::io::Errno::NOBUFS => LocalCause::Buffers,
        rustix::io::Errno::NOMEM => LocalCause::Memory,
        rustix::io::Errno::NOSPC => LocalCause::Watches,
        rustix::io::Errno::ACCESS => LocalCause::Access,
        rustix::io::Errno::PERM => LocalCause::Permission,
        _ => return None,
    })
}

/// Begins to connect, from an address of ours where one is given; the socket is non-blocking and
/// sends small writes at once.
pub(crate) fn begin(endpoint: &Endpoint, from: Option<IpAddr>) -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (socket, result) = match endpoint {
        Endpoint::Tcp(address) => {
            let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
            let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
            sockopt::set_tcp_nodelay(&socket, true)?;
            if let Some(from) = from {
                // The port is chosen when it is known where to: each pair has ports of its own.
                sys::bind_address_only(socket.as_fd())?;
                bind(&socket, &SocketAddr::new(from, 0))?;
            }
            let result = connect(&socket, address);
            (socket, result)
        }
        Endpoint::Unix(path) => {
            let address = SocketAddrUnix::new(path.as_path())?;
            let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
            let result = connect(&socket, &address);
            (socket, result)
        }
    };
    match result {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error.into()),
    }
}

/// What epoll reports for a connection that waits for answers, or for room to write as well.
#[must_use]
pub(crate) fn interest(write: bool) -> epoll::EventFlags {
    let read = epoll::EventFlags::IN | epoll::EventFlags::RDHUP;
    if write { read | epoll::EventFlags::OUT } else { read }
}

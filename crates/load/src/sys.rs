//! The system calls that rustix does not offer: reading a body's bytes without copying them, when
//! bytes arrived, and the kernel's own measurement of a connection's round trip.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Takes up to `most` received bytes off a TCP socket without copying them (`MSG_TRUNC`, tcp(7)).
///
/// Returns how many were taken (0 means that the peer has closed), and when the last of them
/// arrived where that was asked for and [`stamp_arrivals`] is on.
///
/// # Errors
/// As `recv(2)`; `WouldBlock` where nothing has arrived.
pub fn discard(
    socket: BorrowedFd<'_>,
    most: usize,
    stamped: bool,
) -> io::Result<(usize, Option<i64>)> {
    if stamped {
        return receive(socket, std::ptr::null_mut(), most, libc::MSG_TRUNC);
    }
    // SAFETY: with MSG_TRUNC the kernel drops bytes of a TCP stream instead of storing them, so the
    // buffer is never written to and may be null; the descriptor is open for the borrow's life.
    let taken =
        unsafe { libc::recv(socket.as_raw_fd(), std::ptr::null_mut(), most, libc::MSG_TRUNC) };
    usize::try_from(taken).map(|taken| (taken, None)).map_err(|_| io::Error::last_os_error())
}

/// Has the kernel note when bytes arrive on a socket (`SO_TIMESTAMPNS`, socket(7)); `false` where
/// it does not.
pub fn stamp_arrivals(socket: BorrowedFd<'_>) -> bool {
    let on: libc::c_int = 1;
    let Ok(len) = libc::socklen_t::try_from(size_of_val(&on)) else { return false };
    // SAFETY: the pointer and the length describe `on`, which outlives the call.
    let code = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            (&raw const on).cast(),
            len,
        )
    };
    code == 0
}

/// Has `bind(2)` choose an address and no port (`IP_BIND_ADDRESS_NO_PORT`, ip(7)): `connect(2)`
/// chooses that, and may take one that another connection elsewhere has.
///
/// # Errors
/// As `setsockopt(2)`.
pub fn bind_address_only(socket: BorrowedFd<'_>) -> io::Result<()> {
    let on: libc::c_int = 1;
    let len = libc::socklen_t::try_from(size_of_val(&on)).map_err(io::Error::other)?;
    // SAFETY: the pointer and the length describe `on`, which outlives the call.
    let code = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            len,
        )
    };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Receives bytes, and when the last of them arrived: nanoseconds of the wall clock.
///
/// # Errors
/// As `recv(2)`.
pub fn receive_stamped(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
) -> io::Result<(usize, Option<i64>)> {
    receive(socket, buffer.as_mut_ptr(), buffer.len(), 0)
}

fn receive(
    socket: BorrowedFd<'_>,
    buffer: *mut u8,
    len: usize,
    flags: libc::c_int,
) -> io::Result<(usize, Option<i64>)> {
    let mut part = libc::iovec { iov_base: buffer.cast(), iov_len: len };
    // Room for one control message with a timespec, aligned as the kernel wants it.
    let mut control = [0u64; 8];
    // SAFETY: msghdr is plain data, for which all bytes zero is a valid value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: the header points at one part and one control buffer that outlive the call. The part
    // is the caller's buffer, or, with MSG_TRUNC on TCP, is never written to and may be null.
    let received = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) };
    let received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: the kernel has filled `control` as far as msg_controllen says, which these macros
    // keep to; a timespec is read unaligned from the data of a message of its kind.
    let stamp = unsafe {
        let first = libc::CMSG_FIRSTHDR(&raw const message);
        (!first.is_null()
            && (*first).cmsg_level == libc::SOL_SOCKET
            && (*first).cmsg_type == libc::SCM_TIMESTAMPNS)
            .then(|| libc::CMSG_DATA(first).cast::<libc::timespec>().read_unaligned())
    };
    Ok((received, stamp.map(|time| time.tv_sec * 1_000_000_000 + time.tv_nsec)))
}

/// What the kernel knows of the round trip of a TCP connection, nanoseconds; 0 where it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RoundTrip {
    /// The smoothed one. Right after the handshake it is the handshake's; later an acknowledgement
    /// that waits for the answer (RFC 9293, 3.8.6.3) makes it as long as the server takes.
    pub smoothed_ns: u64,
    /// The least of the last minutes.
    pub least_ns: u64,
    /// How long ago the last acknowledgement arrived, which every segment of an open connection
    /// carries, FIN included; exact to [`crate::clock::tick_ns`].
    pub heard_ns_ago: u64,
}

/// Where struct tcp_info (linux/tcp.h) has its figures of 32 bits: one in milliseconds, two in
/// microseconds.
const HEARD_AT: usize = 56;
const SMOOTHED_AT: usize = 68;
const LEAST_AT: usize = 148;

/// The round trip of a TCP connection, as the kernel keeps it (`TCP_INFO`); `None` where the socket
/// is no TCP connection.
#[must_use]
pub fn round_trip(socket: BorrowedFd<'_>) -> Option<RoundTrip> {
    let mut info = [0u8; 256];
    let mut len = libc::socklen_t::try_from(info.len()).ok()?;
    // SAFETY: the pointer and the length describe `info`, which outlives the call; the kernel
    // writes at most `len` bytes of plain data.
    let code = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut len,
        )
    };
    let at = |from: usize| {
        let bytes = info.get(from..from + 4).and_then(|bytes| bytes.try_into().ok());
        u64::from(bytes.map_or(0, u32::from_ne_bytes))
    };
    // Kernels from 2016 on fill in the least; it is all ones before there is one.
    let least = Some(at(LEAST_AT)).filter(|&us| us < u64::from(u32::MAX)).unwrap_or(0);
    (code == 0).then(|| RoundTrip {
        smoothed_ns: at(SMOOTHED_AT) * 1000,
        least_ns: least * 1000,
        heard_ns_ago: at(HEARD_AT) * 1_000_000,
    })
}

/// Asks the kernel to wake this thread's timed waits within `ns` instead of the usual 50 µs.
pub fn set_timer_slack(ns: u64) {
    // SAFETY: PR_SET_TIMERSLACK takes one integer and touches no memory of ours. A kernel that
    // refuses leaves the default, which only makes waits less exact.
    let _ = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, ns, 0, 0, 0) };
}

/// Makes the calling thread give way to others (`setpriority(2)`, nice 10): storing a second must
/// not make a request late, where both share a core.
pub fn give_way() {
    let thread = Some(rustix::thread::gettid());
    // Where it is refused, all threads have the same right to the core, as before.
    let _ = rustix::process::setpriority_process(thread, 10);
}

/// Has the allocator map blocks from 32 KiB on by themselves instead of cutting them from its
/// heaps.
///
/// Histograms grow, and go from one thread to another: cut from heaps they leave holes of which
/// only smaller ones can be made. Mapped, they grow in place and give back what they do not need:
/// 12 MB resident at 20,000/s instead of 16 (benches/load/RESULTS.md). Only glibc has the setting.
pub fn map_large_blocks() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt takes two integers, and this setting may change while other threads allocate:
    // it is one word that decides on later allocations only. A refusal leaves what was.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 32 * 1024);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn discards_what_arrived_and_reports_the_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        server.write_all(&[7; 1000]).unwrap();
        assert_eq!(discard(client.as_fd(), 600, false).unwrap().0, 600);
        assert_eq!(discard(client.as_fd(), 4000, true).unwrap().0, 400);
        assert!(round_trip(client.as_fd()).is_some_and(|trip| trip.smoothed_ns > 0));
        drop(server);
        assert_eq!(discard(client.as_fd(), 1, true).unwrap().0, 0);
    }
}

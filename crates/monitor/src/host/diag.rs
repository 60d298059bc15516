//! TCP sockets of one network namespace, asked of the kernel by netlink (`NETLINK_SOCK_DIAG`).
//!
//! The older of its two questions is put, `TCPDIAG_GETSOCK`: one answer has IPv4 and IPv6, where
//! the newer one would have the kernel go through its table twice. A socket of netlink keeps its
//! namespace alive, so it is open for one question only.
//!
//! Source: sock_diag(7) and netlink(7); the kernel's `include/uapi/linux/inet_diag.h`.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

use super::states::States;
use crate::namespace::Namespace;

/// Counts the TCP sockets of a namespace that are in the wanted states, of which each is the bit of
/// its number.
pub(super) fn count(namespace: &Namespace, wanted: u32) -> io::Result<States> {
    let socket = namespace.open(open)?;
    // The kernel answers at once. Should it not, the tables are read instead.
    set_socket_timeout(&socket, Timeout::Recv, Some(Duration::from_millis(500)))?;
    send(&socket, &question(wanted), SendFlags::empty())?;
    let mut states = States::default();
    let mut answer = vec![0_u8; 64 * 1024];
    loop {
        let (length, _) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if read(&answer[..length], &mut states)? {
            return Ok(states);
        }
    }
}

fn open() -> io::Result<OwnedFd> {
    let (family, kind) = (AddressFamily::NETLINK, SocketType::RAW);
    Ok(socket_with(family, kind, SocketFlags::CLOEXEC, Some(netlink::SOCK_DIAG))?)
}

const HEADER_BYTES: usize = 16;
const TCPDIAG_GETSOCK: u16 = 18;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_DUMP: u16 = 0x300;
/// The timer of a connection that has ended, of which the kernel keeps only a remainder.
const ENDING: u8 = 3;

/// `struct nlmsghdr`, then `struct inet_diag_req`: which sockets are wanted.
fn question(wanted: u32) -> Vec<u8> {
    let (family, lengths_and_extensions) = (2_u8, [0_u8; 3]);
    let (id, data_base) = ([0_u8; 48], 0_u32);
    let body = [&[family][..], &lengths_and_extensions, &id].concat();
    let body = [body, wanted.to_ne_bytes().to_vec(), data_base.to_ne_bytes().to_vec()].concat();
    let length = u32::try_from(HEADER_BYTES + body.len()).unwrap_or(u32::MAX);
    let mut message = length.to_ne_bytes().to_vec();
    message.extend(TCPDIAG_GETSOCK.to_ne_bytes());
    message.extend((NLM_F_REQUEST | NLM_F_DUMP).to_ne_bytes());
    // The sequence number and the asker's port, which are not needed here.
    message.extend([0; 8]);
    message.extend(body);
    message
}

/// Counts the sockets of one piece of the answer. Returns true where it was the last.
pub(crate) fn read(mut piece: &[u8], states: &mut States) -> io::Result<bool> {
    states.begin();
    let garbage = || io::Error::new(io::ErrorKind::InvalidData, "a message of netlink is cut");
    while !piece.is_empty() {
        let header = piece.first_chunk::<HEADER_BYTES>().ok_or_else(garbage)?;
        let [l0, l1, l2, l3, t0, t1, ..] = *header;
        let length = usize::try_from(u32::from_ne_bytes([l0, l1, l2, l3])).unwrap_or(usize::MAX);
        let body = piece.get(HEADER_BYTES..length).ok_or_else(garbage)?;
        match u16::from_ne_bytes([t0, t1]) {
            NLMSG_DONE => return Ok(true),
            NLMSG_ERROR => {
                let code = body.first_chunk().copied().map_or(0, i32::from_ne_bytes);
                return Err(io::Error::from_raw_os_error(code.saturating_neg()));
            }
            // `struct inet_diag_msg` begins with the family, the state and the timer.
            TCPDIAG_GETSOCK => {
                let [_, state, timer] = *body.first_chunk().ok_or_else(garbage)?;
                states.add(state, timer == ENDING);
            }
            _ => {}
        }
        piece = piece.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

//! A server that does as little as a server can: one thread, epoll, the same answer to every head.
//!
//! `benches/load` measures generators against it, so that they are the limit and not the server. It
//! takes every empty line for the end of a request without a body, and answers one byte:
//! `trivial ADDRESS`.
#![allow(clippy::unwrap_used, missing_docs)]

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};

// HTTP/1.0 asks to be told that the connection stays.
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\nx";
/// Requests that came together and are answered by one send, at most.
const MOST: usize = 64;

fn main() {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let listener = TcpListener::bind(address).unwrap();
    listener.set_nonblocking(true).unwrap();
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
    // Connections go by their descriptors, which are never 0.
    epoll::add(&poll, &listener, EventData::new_u64(0), EventFlags::IN).unwrap();
    let answers = ANSWER.repeat(MOST);
    let mut connections: Vec<Option<TcpStream>> = Vec::new();
    let mut events: Vec<epoll::Event> = Vec::with_capacity(256);
    let mut buffer = [0; 16 * 1024];
    loop {
        events.clear();
        if epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), None).is_err() {
            continue;
        }
        for event in &events {
            let at = usize::try_from(event.data.u64()).unwrap();
            if at == 0 {
                accept(&listener, &poll, &mut connections);
                continue;
            }
            let Some(stream) = &connections[at] else { continue };
            let requests = match recv(stream, &mut buffer[..], RecvFlags::empty()) {
                Ok((n, _)) => buffer[..n].windows(4).filter(|four| *four == b"\r\n\r\n").count(),
                Err(_) => 0,
            };
            let bytes = &answers[..requests.min(MOST) * ANSWER.len()];
            if requests == 0 || send(stream, bytes, SendFlags::NOSIGNAL) != Ok(bytes.len()) {
                connections[at] = None;
            }
        }
    }
}

fn accept(listener: &TcpListener, poll: &OwnedFd, connections: &mut Vec<Option<TcpStream>>) {
    while let Ok((stream, _)) = listener.accept() {
        stream.set_nonblocking(true).unwrap();
        stream.set_nodelay(true).unwrap();
        let at = usize::try_from(stream.as_raw_fd()).unwrap();
        epoll::add(poll, &stream, EventData::new_u64(at as u64), EventFlags::IN).unwrap();
        connections.resize_with(connections.len().max(at + 1), || None);
        connections[at] = Some(stream);
    }
}

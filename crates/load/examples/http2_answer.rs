//! A server that answers every HTTP/2 request in the same few bytes and looks at nothing but the
//! heads of frames: so that a generator, and not its target, is what is measured.
//!
//! `http2_answer ADDRESS [BYTES]`: the body's length is 1 unless given. One thread; HEADERS are
//! answered as soon as they are there, bodies of requests are passed over.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, missing_docs)]
use rustix::event::{PollFd, PollFlags, poll};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

struct Peer {
    stream: TcpStream,
    /// What was read and not taken, what is not written.
    input: Vec<u8>,
    output: Vec<u8>,
    begun: bool,
}

/// Answers all whole frames; `false` at the end of the connection.
fn serve(peer: &mut Peer, buffer: &mut [u8], body: &[u8]) -> std::io::Result<bool> {
    let n = peer.stream.read(buffer)?;
    peer.input.extend_from_slice(&buffer[..n]);
    let mut at = 0;
    if !peer.begun && peer.input.len() >= 24 {
        (peer.begun, at) = (true, 24);
        // SETTINGS: 1000 streams at once. The connection's window: as wide as can be.
        peer.output.extend_from_slice(&[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 3, 0xe8]);
        peer.output.extend_from_slice(&[0, 0, 4, 8, 0, 0, 0, 0, 0, 0x7f, 0xff, 0, 0]);
    }
    while peer.begun && peer.input.len() - at >= 9 {
        let frame = &peer.input[at..];
        let len = u32::from_be_bytes([0, frame[0], frame[1], frame[2]]) as usize;
        if frame.len() < 9 + len {
            break;
        }
        match (frame[3], frame[4]) {
            (1, _) => {
                let id = [frame[5], frame[6], frame[7], frame[8]];
                // `:status 200`, `content-type text/plain`, `server bench`.
                let block = b"\x88\x0f\x10\x0atext/plain\x0f\x27\x05bench";
                peer.output.extend_from_slice(&[0, 0, block.len() as u8, 1, 4]);
                peer.output.extend_from_slice(&id);
                peer.output.extend_from_slice(block);
                peer.output.extend_from_slice(&(body.len() as u32).to_be_bytes()[1..]);
                peer.output.extend_from_slice(&[0, 1]);
                peer.output.extend_from_slice(&id);
                peer.output.extend_from_slice(body);
            }
            (4, 0) => peer.output.extend_from_slice(&[0, 0, 0, 4, 1, 0, 0, 0, 0]),
            _ => {}
        }
        at += 9 + len;
    }
    peer.input.drain(..at);
    Ok(n > 0)
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let body = vec![b'x'; args.get(2).map_or(1, |len| len.parse().unwrap())];
    let listener = TcpListener::bind(&args[1]).unwrap();
    listener.set_nonblocking(true).unwrap();
    let mut peers: Vec<Peer> = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let mut waited_for = vec![PollFd::new(&listener, PollFlags::IN)];
        for peer in &peers {
            let out = if peer.output.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
            waited_for.push(PollFd::new(&peer.stream, PollFlags::IN | out));
        }
        poll(&mut waited_for, None).unwrap();
        let ready: Vec<PollFlags> = waited_for.iter().map(PollFd::revents).collect();
        let mut ready = ready.into_iter();
        if ready.next().is_some_and(|flags| flags.contains(PollFlags::IN)) {
            let (stream, _) = listener.accept().unwrap();
            stream.set_nonblocking(true).unwrap();
            stream.set_nodelay(true).unwrap();
            peers.push(Peer { stream, input: Vec::new(), output: Vec::new(), begun: false });
        }
        peers.retain_mut(|peer| {
            let Some(flags) = ready.next() else { return true };
            if flags.is_empty() {
                return true;
            }
            let again = |error: &std::io::Error| error.kind() == std::io::ErrorKind::WouldBlock;
            let read = flags.contains(PollFlags::OUT)
                || serve(peer, &mut buffer, &body).unwrap_or_else(|error| again(&error));
            match peer.stream.write(&peer.output) {
                Ok(n) => drop(peer.output.drain(..n)),
                Err(error) if again(&error) => {}
                Err(_) => return false,
            }
            read
        });
    }
}

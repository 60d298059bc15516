//! Random messages, in random frames, to and from implementations that share nothing with ours:
//! Python's `websockets` and Node's `ws`.
#![expect(clippy::disallowed_methods, reason = "a peer is a process")]

use crate::support::Owned;
use crate::support::ends::{End, serve};
use crate::support::peers::{NODE_PATH, Probe, find};
use plimsoll_testing::{Running, websocket_peers};
use plimsoll_units::hash::{GOLDEN, mix};
use plimsoll_websocket::CloseCode;
use plimsoll_websocket::extension::{Deflate, Side};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

/// Messages a connection, each way: some in every test, many in `make conformance`, where both
/// peers together see more than a million frames.
const SOME: usize = 200;
const MANY: usize = 5_000;

/// A peer's program, with its script; `None`, said by name, where it is not installed.
fn peer(test: &str, name: &str) -> Option<Command> {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers");
    let (arguments, lacks, script): (&[&str], _, _) = match name {
        "node" => (&["-e", "require('ws')"], ("ws", "Cannot find module 'ws'"), "echo.cjs"),
        _ => {
            let lacks = ("websockets", "No module named 'websockets");
            (&["-c", "import websockets.sync.client"], lacks, "echo.py")
        }
    };
    let probe = Probe { arguments, lacks: Some(lacks) };
    let mut command = Command::new(find(test, name, &probe)?);
    command.env(NODE_PATH, websocket_peers().join("node_modules"));
    command.arg(scripts.join(script));
    Some(command)
}

/// The peer sends, and our server echoes.
fn to_us(test: &str, name: &str, count: usize) {
    let Some(mut peer) = peer(test, name) else { return };
    for allowed in [None, Some(Deflate::KEPT), Some(Deflate::ALONE)] {
        let url = format!("ws://{}/", serve(allowed));
        peer.args(["drive", &url, &count.to_string(), "7"]);
        assert!(peer.status().unwrap().success(), "{allowed:?}");
        peer = self::peer(test, name).unwrap();
    }
}

/// Our client sends, and the peer echoes.
fn from_us(test: &str, name: &str, count: usize) {
    let Some(mut peer) = peer(test, name) else { return };
    let (_peer, line) = Running::telling(peer.arg("serve"));
    let address = SocketAddr::from(([127, 0, 0, 1], line.trim().parse().unwrap()));
    let narrow = Side { keeps_context: true, window_bits: 10 };
    let narrow = Deflate { client: narrow, server: narrow };
    for deflate in [None, Some(Deflate::KEPT), Some(Deflate::ALONE), Some(narrow)] {
        let mut end = End::open(address, "/", deflate);
        assert_eq!(end.compresses(), deflate.is_some());
        let mut draws = Draws(count as u64);
        for _ in 0..count.div_ceil(8) {
            let sent: Vec<Owned> = (0..8).map(|_| draws.message()).collect();
            for message in &sent {
                let most = [usize::MAX, 1000, 100][draws.below(3)];
                end.send(message, most);
            }
            let ping = draws.bytes(125);
            end.send(&Owned::Ping(ping.clone()), usize::MAX);
            let mut wanted = sent.into_iter();
            let mut has_pong = false;
            while wanted.len() > 0 || !has_pong {
                match end.next().unwrap() {
                    Owned::Pong(pong) => {
                        assert_eq!(pong, ping);
                        has_pong = true;
                    }
                    Owned::Ping(_) => {}
                    message => assert_eq!(Some(message), wanted.next()),
                }
            }
        }
        let code = CloseCode::new(4000);
        end.send(&Owned::Close(code, "done, 好".to_owned()), usize::MAX);
        assert!(matches!(end.next(), Some(Owned::Close(told, _)) if told == code));
        end.echo();
    }
}

/// SplitMix64.
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(GOLDEN);
        usize::try_from(mix(self.0) >> 1).unwrap() % bound
    }

    fn bytes(&mut self, most: usize) -> Vec<u8> {
        let length = self.below(most + 1);
        (0..length).map(|_| u8::try_from(self.below(256)).unwrap()).collect()
    }

    fn message(&mut self) -> Owned {
        let most = [0, 1, 126, 300, 3000, 66_000][self.below(6)];
        if self.below(2) == 0 {
            return Owned::Binary(self.bytes(most));
        }
        let length = self.below(most + 1);
        let letters = ['a', 'é', '€', '𝄞', ' ', 'z'];
        Owned::Text((0..length).map(|_| letters[self.below(6)]).collect())
    }
}

#[test]
fn what_pythons_websockets_sends_comes_back_whole() {
    to_us("what_pythons_websockets_sends_comes_back_whole", "python3", SOME);
}

#[test]
fn what_we_send_comes_back_whole_from_pythons_websockets() {
    from_us("what_we_send_comes_back_whole_from_pythons_websockets", "python3", SOME);
}

#[test]
fn what_nodes_ws_sends_comes_back_whole() {
    to_us("what_nodes_ws_sends_comes_back_whole", "node", SOME);
}

#[test]
fn what_we_send_comes_back_whole_from_nodes_ws() {
    from_us("what_we_send_comes_back_whole_from_nodes_ws", "node", SOME);
}

#[test]
#[ignore = "more than a million frames: make conformance"]
fn a_million_frames_pass_both_ways_between_us_and_others() {
    for name in ["python3", "node"] {
        to_us("a_million_frames_pass_both_ways_between_us_and_others", name, MANY);
        from_us("a_million_frames_pass_both_ways_between_us_and_others", name, MANY);
    }
}

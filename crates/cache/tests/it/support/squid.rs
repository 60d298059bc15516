//! A real Squid on ports and in a folder of its own, ended with its test.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::path::Path;
use std::time::Duration;

use plimsoll_testing::servers;

/// What it calls itself: who asks for its own pages must call it so.
const NAME: &str = "plimsoll.example";

/// The address of its ports.
pub(crate) const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// How long an answer over TCP may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running one.
pub(crate) struct Squid {
    own: servers::Squid,
}

/// A port that nothing listens at, neither by TCP nor by UDP.
pub(crate) fn free_port() -> u16 {
    loop {
        let port = plimsoll_testing::free_port();
        if UdpSocket::bind((HERE, port)).is_ok() {
            return port;
        }
    }
}

impl Squid {
    /// One with more settings, which are told its folder; `None`, said by name, where the program
    /// is not installed.
    pub(crate) fn start(test: &str, more: impl Fn(&Path) -> String) -> Option<Self> {
        let settings = |folder: &Path| {
            let more = more(folder);
            format!(
                "access_log none\ncache_mem 16 MB\nvisible_hostname {NAME}\n\
                 udp_incoming_address {HERE}\nhttp_access allow localhost\n\
                 http_access deny all\n{more}"
            )
        };
        servers::Squid::own(test, settings).map(|own| Self { own })
    }

    /// Fetches a URL through it: the status and the body.
    pub(crate) fn get(&self, url: &str) -> (u16, Vec<u8>) {
        self.exchange(url, "")
    }

    /// Fetches one of its own pages.
    pub(crate) fn own(&self, path: &str) -> (u16, Vec<u8>) {
        self.exchange(path, &format!("Host: {NAME}:{}\r\n", self.own.port()))
    }

    fn exchange(&self, target: &str, headers: &str) -> (u16, Vec<u8>) {
        let mut stream = TcpStream::connect((HERE, self.own.port())).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let request = format!("GET {target} HTTP/1.0\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
        let head = String::from_utf8_lossy(&answer[..end]).into_owned();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, answer.split_off(end + 4))
    }

    /// What it has written of itself.
    pub(crate) fn log(&self) -> String {
        self.own.log()
    }
}

/// A neighbour of a Squid, at an address of its own: Squid takes a datagram from its own address
/// for one of its own.
pub(crate) struct Neighbour(UdpSocket);

impl Neighbour {
    pub(crate) fn new(address: [u8; 4], port: u16) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::from(address), 0)).unwrap();
        socket.connect((HERE, port)).unwrap();
        Self(socket)
    }

    /// What is answered within a second of one of five questions.
    pub(crate) fn ask(&self, message: &[u8]) -> Vec<u8> {
        let answer = (0..5).find_map(|_| self.ask_once(message, Duration::from_secs(1)));
        answer.expect("an answer within 5 seconds")
    }

    /// What is answered to one question within a time.
    pub(crate) fn ask_once(&self, message: &[u8], time: Duration) -> Option<Vec<u8>> {
        self.0.set_read_timeout(Some(time)).unwrap();
        self.0.send(message).unwrap();
        let mut answer = vec![0; 1 << 16];
        let length = self.0.recv(&mut answer).ok()?;
        answer.truncate(length);
        Some(answer)
    }
}

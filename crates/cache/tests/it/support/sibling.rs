//! What a Squid takes for a sibling: answers its questions by a function, and remembers them.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// Where it is: not where Squid is, which takes a datagram from its own address for its own.
pub(crate) const SIBLING: [u8; 4] = [127, 0, 0, 2];

/// Listens for datagrams until it is dropped.
pub(crate) struct Sibling {
    pub(crate) port: u16,
    asked: Arc<Mutex<Vec<Vec<u8>>>>,
    end: Arc<AtomicBool>,
    listening: Option<JoinHandle<()>>,
}

impl Sibling {
    pub(crate) fn start(answer: impl Fn(&[u8]) -> Vec<u8> + Send + 'static) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::from(SIBLING), 0)).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let port = socket.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let end = Arc::new(AtomicBool::new(false));
        let (kept, ended) = (asked.clone(), end.clone());
        let listening = std::thread::spawn(move || {
            let mut datagram = vec![0; 1 << 16];
            while !ended.load(Ordering::SeqCst) {
                let Ok((length, from)) = socket.recv_from(&mut datagram) else { continue };
                let question = &datagram[..length];
                kept.lock().unwrap().push(question.to_vec());
                let _ = socket.send_to(&answer(question), from);
            }
        });
        Self { port, asked, end, listening: Some(listening) }
    }

    /// All questions, in order.
    pub(crate) fn asked(&self) -> Vec<Vec<u8>> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Sibling {
    fn drop(&mut self) {
        self.end.store(true, Ordering::SeqCst);
        let _ = self.listening.take().map(JoinHandle::join);
    }
}

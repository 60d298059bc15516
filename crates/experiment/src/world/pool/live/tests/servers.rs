//! Servers that obey the test: each start, each end and each new balancer takes as long as the test
//! wants, and comes to what it says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use plimsoll_testbed::cloud::CloudError;
use plimsoll_testbed::{Instance as Server, TestbedError};

use super::super::yard::Servers;
use super::balancer::Board;
use super::time::ByHand;

/// What is said where the budget has no room.
pub(super) const POOR: &str = "rent web-2: 0.50 USD of the budget of 0.50 USD are spent";
/// What is said of a start that is refused.
pub(super) const REFUSED: &str = "start another: there is no place left";
/// What an instance is told of when its server stands.
pub(super) const STANDS: &str = "stands";

/// What a thread has asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask {
    Launch,
    /// The end of the server of this number.
    End(u32),
    /// Another balancer.
    Again,
}

/// Servers that obey the test.
pub(super) struct Works {
    time: Arc<ByHand>,
    board: Arc<Board>,
    stock: Mutex<Stock>,
}

/// What there is of them.
#[derive(Default)]
pub(super) struct Stock {
    last: u32,
    pub(super) standing: BTreeMap<u32, Server>,
    /// How often each was ended.
    pub(super) ended: BTreeMap<u32, u32>,
    /// What is asked for just now, by threads.
    pub(super) asked: BTreeMap<u64, Ask>,
    told: BTreeMap<u64, bool>,
    /// The budget has no room for another.
    pub(super) is_poor: bool,
    /// Those that have ended by themselves, and whether that is seen.
    pub(super) ended_alone: BTreeSet<u32>,
    pub(super) are_seen: bool,
    /// Those whose host is gone.
    pub(super) away: BTreeSet<u32>,
    /// How many were started, and how many starts were refused.
    pub(super) started: u64,
    pub(super) refused: u64,
    /// Nothing is to be started any more.
    pub(super) is_closed: bool,
    /// What should not have been asked.
    pub(super) faults: Vec<String>,
}

/// A server of a name at a port.
pub(super) fn server(name: &str, number: u32, port: u16) -> Server {
    Server {
        role: "web".to_owned(),
        name: name.to_owned(),
        number,
        place: 0,
        host: None,
        address: "127.0.0.1".to_owned(),
        port,
        folder: "/nowhere".into(),
        cgroups: Vec::new(),
        collect: BTreeMap::new(),
    }
}

impl Works {
    pub(super) fn new(time: &Arc<ByHand>, board: &Arc<Board>) -> Self {
        let (time, board) = (Arc::clone(time), Arc::clone(board));
        Self { time, board, stock: Mutex::default() }
    }

    pub(super) fn stock(&self) -> MutexGuard<'_, Stock> {
        self.stock.lock().unwrap()
    }

    /// Servers that a process before has left.
    pub(super) fn leaves(&self, count: u32) -> Vec<Server> {
        (0..count).map(|_| self.stock().makes()).collect()
    }

    /// What this thread asks for; whether it is had.
    fn asks(&self, ask: Ask) -> bool {
        let own = ByHand::own();
        self.stock().asked.insert(own, ask);
        self.time.holds();
        let mut stock = self.stock();
        stock.asked.remove(&own);
        stock.told.remove(&own).unwrap_or(false)
    }

    /// What a thread has asked for is had, or is not.
    pub(super) fn says(&self, thread: u64, is_had: bool) {
        self.stock().told.insert(thread, is_had);
        self.time.releases(thread);
    }

    /// What is asked for, and not said yet.
    pub(super) fn asked(&self) -> Vec<(u64, Ask)> {
        let stock = self.stock();
        let open = stock.asked.iter().filter(|(thread, _)| !stock.told.contains_key(thread));
        open.map(|(thread, ask)| (*thread, *ask)).collect()
    }
}

impl Stock {
    fn makes(&mut self) -> Server {
        self.last += 1;
        self.started += 1;
        let port = u16::try_from(1000 + self.last).unwrap();
        let server = server(&format!("web-{}", self.last), self.last, port);
        self.standing.insert(self.last, server.clone());
        server
    }
}

impl Servers for Works {
    fn launch(&self, tells: &dyn Fn(&str)) -> Result<Server, TestbedError> {
        if self.stock().is_closed {
            self.stock().faults.push("a server is started after the end".to_owned());
        }
        if !self.asks(Ask::Launch) {
            self.stock().refused += 1;
            if self.stock().is_poor {
                return Err(CloudError::Budget(POOR.to_owned()).into());
            }
            return Err(TestbedError::Wrong(REFUSED.to_owned()));
        }
        let server = self.stock().makes();
        tells(STANDS);
        Ok(server)
    }

    fn end(&self, number: u32) -> Result<(), TestbedError> {
        let mut stock = self.stock();
        *stock.ended.entry(number).or_default() += 1;
        let name = stock.standing.remove(&number).map(|of| of.name);
        if name.as_ref().is_none_or(|name| self.board.gives_to(name)) {
            stock.faults.push(format!("server {number} is ended, which gets requests or is gone"));
        }
        drop(stock);
        match self.asks(Ask::End(number)) {
            true => Ok(()),
            false => Err(TestbedError::Wrong(format!("end web-{number}: it does not obey"))),
        }
    }

    fn again(&self, server: &Server) -> Result<(), TestbedError> {
        if !self.asks(Ask::Again) {
            return Err(TestbedError::Wrong(format!("make {} anew: no place", server.name)));
        }
        self.board.begins_anew();
        Ok(())
    }

    fn ended(&self, server: &Server) -> Option<String> {
        let stock = self.stock();
        let has_ended = stock.are_seen && stock.ended_alone.contains(&server.number);
        has_ended.then(|| "exit code 1".to_owned())
    }

    fn runs(&self, server: &Server) -> bool {
        self.stock().are_seen && self.ended(server).is_none()
    }

    fn is_away(&self, server: &Server) -> Option<TestbedError> {
        let is_away = self.stock().away.contains(&server.number);
        is_away.then(|| TestbedError::Wrong(format!("reach the host of {}", server.name)))
    }
}

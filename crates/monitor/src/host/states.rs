//! TCP sockets of one network namespace by their state.
//!
//! The kernel is asked by [netlink](super::diag) for those that it does not count itself. Where
//! that is not possible its tables are read, `/proc/net/tcp` and `tcp6`, which takes six times as
//! long on a host with 20,000 connections. On one with few it takes about 3 ms either way: the
//! kernel goes through all places where a connection could be.
//!
//! Source: the kernel's `Documentation/networking/proc_net_tcp.rst`; the numbers of states are
//! those of `include/net/tcp_states.h`.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use super::Host;
use super::diag;
use crate::collector::CollectError;
use crate::namespace::Namespace;
use crate::read::is_absent;
use crate::sample::{Group, Samples, gauge};

pub(crate) const GROUP: Group = Group {
    source: "proc/net/tcp and tcp6, or netlink",
    series: &[gauge("st", "node_tcp_connection_states", "", "TCP sockets by state").by(&["state"])],
};

/// The states by their numbers, which begin with 1, and the words of node_exporter.
const NAMES: [&str; 12] = [
    "established",
    "syn_sent",
    "syn_recv",
    "fin_wait1",
    "fin_wait2",
    "time_wait",
    "close",
    "close_wait",
    "last_ack",
    "listen",
    "closing",
    // A request for a connection that is not one yet: `syn_recv` to whoever looks on.
    "syn_recv",
];

/// The numbers of three states.
const ESTABLISHED: usize = 1;
const TIME_WAIT: usize = 6;
const CLOSE_WAIT: usize = 8;

/// All states by their numbers, a bit each.
const ALL: u32 = 0x1ffe;

/// Counts the sockets. The kernel's counters must stand in `out` already.
pub(super) fn read(host: &Host, out: &mut Samples) -> Result<(), CollectError> {
    let counted = out.value("node_netstat_Tcp_CurrEstab", &[]);
    let counted = counted.zip(out.value("node_sockstat_TCP_tw", &[]));
    if let Some(states) = host.namespace.as_ref().and_then(|namespace| ask(namespace, counted).ok())
    {
        states.push(out);
        return Ok(());
    }
    let mut states = States::default();
    for file in ["tcp", "tcp6"] {
        states.read(&host.net.join(file))?;
    }
    states.push(out);
    Ok(())
}

/// Asks the kernel for the sockets of all states but the two most frequent ones, which follow from
/// its counters: `CurrEstab` is those that are established or in `CLOSE_WAIT`, and `tw` is the
/// remainders of connections, in `TIME_WAIT` or `FIN_WAIT2`.
fn ask(namespace: &Namespace, counted: Option<(f64, f64)>) -> io::Result<States> {
    let Some((standing, ending)) = counted else { return diag::count(namespace, ALL) };
    let mut states = diag::count(namespace, ALL & !(1 << ESTABLISHED) & !(1 << TIME_WAIT))?;
    // The counters were read a moment before: a difference below zero is none.
    states.counts[ESTABLISHED - 1] = (standing - states.counts[CLOSE_WAIT - 1]).max(0.0);
    states.counts[TIME_WAIT - 1] = (ending - states.ending).max(0.0);
    Ok(states)
}

/// The counts of sockets by state. Rows are counted as they are read, and none is kept: there may
/// be a hundred thousand of them.
#[derive(Debug, Default)]
pub(crate) struct States {
    /// Whether there was anything to count in: a file has a heading at least.
    is_there: bool,
    counts: [f64; NAMES.len()],
    /// The remainders of connections among them, where the kernel tells them apart.
    ending: f64,
    not_understood: u32,
    /// Where in a row the reading is.
    row: Row,
}

#[derive(Debug, Default, Clone, Copy)]
struct Row {
    /// How many words have begun.
    words: u8,
    is_in_word: bool,
    /// The number of the state, as far as it was read.
    state: Option<u8>,
    /// Whether the first word was `sl`: the headings.
    is_heading: bool,
}

/// The word of a row that is the state, counted from 1.
const STATE_WORD: u8 = 4;

impl States {
    /// Counts the rows of a file.
    fn read(&mut self, path: &Path) -> Result<(), CollectError> {
        let failed = |source| CollectError::File { path: path.to_owned(), source };
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if is_absent(&error) => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        let mut chunk = vec![0; 64 * 1024];
        loop {
            match file.read(&mut chunk).map_err(failed)? {
                0 => break,
                length => self.feed(&chunk[..length]),
            }
        }
        self.end_of_row();
        Ok(())
    }

    /// Takes note that there is something to count in.
    pub(super) fn begin(&mut self) {
        self.is_there = true;
    }

    /// Counts the rows in a piece of the file.
    pub(crate) fn feed(&mut self, mut piece: &[u8]) {
        self.begin();
        while let Some((&byte, rest)) = piece.split_first() {
            match byte {
                b'\n' => self.end_of_row(),
                b' ' => self.row.is_in_word = false,
                _ => self.row.take(byte),
            }
            piece = rest;
            if self.row.words > STATE_WORD {
                // What follows the state does not matter, and is most of the file.
                let end = piece.iter().position(|&byte| byte == b'\n');
                piece = &piece[end.unwrap_or(piece.len())..];
            }
        }
    }

    fn end_of_row(&mut self) {
        let row = std::mem::take(&mut self.row);
        if row.words == 0 || row.is_heading {
            return;
        }
        self.add(row.state.unwrap_or(u8::MAX), false);
    }

    /// Counts a socket by the number of its state.
    pub(super) fn add(&mut self, state: u8, is_ending: bool) {
        let place = usize::from(state).checked_sub(1);
        match place.and_then(|place| self.counts.get_mut(place)) {
            Some(count) => *count += 1.0,
            None => self.not_understood += 1,
        }
        self.ending += f64::from(u8::from(is_ending));
    }

    /// Gives the count of each state, those without a socket too.
    pub(crate) fn push(mut self, out: &mut Samples) {
        self.end_of_row();
        out.leave_out(u64::from(self.not_understood), format!("rows of {}", GROUP.source));
        if !self.is_there {
            return;
        }
        let [.., asked] = self.counts;
        for (name, count) in NAMES.iter().zip(self.counts).take(NAMES.len() - 1) {
            let count = if *name == "syn_recv" { count + asked } else { count };
            out.push(&GROUP.series[0], &[name], count);
        }
    }
}

impl Row {
    fn take(&mut self, byte: u8) {
        if !self.is_in_word {
            self.is_in_word = true;
            self.words += 1;
            self.is_heading |= self.words == 1 && byte == b's';
        }
        if self.words == STATE_WORD {
            let digit = char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
            let before = if self.state.is_none() { Some(0) } else { self.state };
            // Something else than a number of two digits is no state, and stays none.
            self.state = match (before, digit) {
                (Some(before @ 0..16), Some(digit)) => Some(before * 16 + digit),
                _ => Some(u8::MAX),
            };
        }
    }
}

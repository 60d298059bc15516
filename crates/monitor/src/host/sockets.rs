//! TCP of one network namespace: sockets by state, and what the kernel counts.
//!
//! # Sources
//!
//! proc_net(5); the kernel's `Documentation/networking/proc_net_tcp.rst` and
//! `snmp_counter.rst`; the numbers of states are those of `include/net/tcp_states.h`.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use super::Host;
use crate::collector::CollectError;
use crate::read::{count, is_absent};
use crate::sample::{Group, Samples, counter, gauge};

pub(crate) const STATES: Group = Group {
    source: "proc/net/tcp, tcp6",
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

pub(crate) const SNMP: Group = Group {
    source: "proc/net/snmp",
    series: &[
        counter("Tcp ActiveOpens", "node_netstat_Tcp_ActiveOpens", "", "connections opened"),
        counter("Tcp PassiveOpens", "node_netstat_Tcp_PassiveOpens", "", "connections accepted"),
        counter("Tcp AttemptFails", "node_netstat_Tcp_AttemptFails", "", "attempts that failed"),
        counter("Tcp EstabResets", "node_netstat_Tcp_EstabResets", "", "connections reset"),
        gauge("Tcp CurrEstab", "node_netstat_Tcp_CurrEstab", "", "connections that stand"),
        counter("Tcp InSegs", "node_netstat_Tcp_InSegs", "", "segments received"),
        counter("Tcp OutSegs", "node_netstat_Tcp_OutSegs", "", "segments sent"),
        counter("Tcp RetransSegs", "node_netstat_Tcp_RetransSegs", "", "segments sent again"),
        counter("Tcp InErrs", "node_netstat_Tcp_InErrs", "", "segments received with an error"),
        counter("Tcp OutRsts", "node_netstat_Tcp_OutRsts", "", "resets sent"),
        counter("Udp InDatagrams", "node_netstat_Udp_InDatagrams", "", "datagrams received"),
        counter("Udp OutDatagrams", "node_netstat_Udp_OutDatagrams", "", "datagrams sent"),
        counter("Udp NoPorts", "node_netstat_Udp_NoPorts", "", "datagrams to a port of nobody"),
        counter(
            "Udp RcvbufErrors",
            "node_netstat_Udp_RcvbufErrors",
            "",
            "datagrams dropped at a full buffer",
        ),
    ],
};

pub(crate) const NETSTAT: Group = Group {
    source: "proc/net/netstat",
    series: &[
        counter(
            "TcpExt ListenOverflows",
            "node_netstat_TcpExt_ListenOverflows",
            "",
            "connections refused by a full backlog",
        ),
        counter(
            "TcpExt ListenDrops",
            "node_netstat_TcpExt_ListenDrops",
            "",
            "connections dropped at a listener, for whatever reason",
        ),
        counter(
            "TcpExt SyncookiesSent",
            "node_netstat_TcpExt_SyncookiesSent",
            "",
            "SYN cookies sent",
        ),
        counter(
            "TcpExt SyncookiesRecv",
            "node_netstat_TcpExt_SyncookiesRecv",
            "",
            "SYN cookies that came back",
        ),
        counter(
            "TcpExt SyncookiesFailed",
            "node_netstat_TcpExt_SyncookiesFailed",
            "",
            "SYN cookies that came back and were wrong",
        ),
        counter(
            "TcpExt TCPReqQFullDrop",
            "node_netstat_TcpExt_TCPReqQFullDrop",
            "",
            "SYNs dropped at a full queue, without a cookie",
        ),
        counter(
            "TcpExt TCPTimeouts",
            "node_netstat_TcpExt_TCPTimeouts",
            "",
            "time-outs of retransmission",
        ),
        counter(
            "TcpExt TCPSynRetrans",
            "node_netstat_TcpExt_TCPSynRetrans",
            "",
            "SYNs and their answers sent again",
        ),
        counter(
            "TcpExt TCPAbortOnTimeout",
            "node_netstat_TcpExt_TCPAbortOnTimeout",
            "",
            "connections given up after too many time-outs",
        ),
        counter(
            "TcpExt TCPAbortOnMemory",
            "node_netstat_TcpExt_TCPAbortOnMemory",
            "",
            "connections given up for too many orphans or too little memory",
        ),
        counter(
            "TcpExt TCPTimeWaitOverflow",
            "node_netstat_TcpExt_TCPTimeWaitOverflow",
            "",
            "sockets not kept in TIME_WAIT, for there were too many",
        ),
        counter("IpExt InOctets", "node_netstat_IpExt_InOctets", "bytes", "received by IPv4"),
        counter("IpExt OutOctets", "node_netstat_IpExt_OutOctets", "bytes", "sent by IPv4"),
    ],
};

pub(crate) const SOCKSTAT: Group = Group {
    source: "proc/net/sockstat, sockstat6",
    series: &[
        gauge("sockets used", "node_sockstat_sockets_used", "", "sockets of any kind"),
        gauge(
            "TCP inuse",
            "node_sockstat_TCP_inuse",
            "",
            "TCP sockets of IPv4, bound or connected",
        ),
        gauge("TCP orphan", "node_sockstat_TCP_orphan", "", "TCP sockets that no process has"),
        gauge("TCP tw", "node_sockstat_TCP_tw", "", "TCP sockets in TIME_WAIT"),
        gauge("TCP alloc", "node_sockstat_TCP_alloc", "", "TCP sockets of the host"),
        gauge("TCP mem", "node_sockstat_TCP_mem", "pages", "memory of the host's TCP sockets"),
        gauge("UDP inuse", "node_sockstat_UDP_inuse", "", "UDP sockets of IPv4"),
        gauge("TCP6 inuse", "node_sockstat_TCP6_inuse", "", "TCP sockets of IPv6"),
        gauge("UDP6 inuse", "node_sockstat_UDP6_inuse", "", "UDP sockets of IPv6"),
    ],
};

pub(super) fn read(host: &Host, out: &mut Samples) -> Result<(), CollectError> {
    let mut states = States::default();
    for file in ["tcp", "tcp6"] {
        states.read(&host.net.join(file))?;
    }
    states.push(out);
    for (file, group) in [("snmp", &SNMP), ("netstat", &NETSTAT)] {
        Host::parse(&host.net.join(file), out, |text, out| paired(text, group, out))?;
    }
    for file in ["sockstat", "sockstat6"] {
        Host::parse(&host.net.join(file), out, parse_sockstat)?;
    }
    Ok(())
}

/// Sockets by state, counted while their rows go by: there may be a hundred thousand of them, and
/// none is kept.
#[derive(Debug, Default)]
pub(crate) struct States {
    /// Whether there was anything to count in: a file has a heading at least.
    is_there: bool,
    counts: [u32; NAMES.len()],
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

    /// Counts the rows in a piece of the file.
    pub(crate) fn feed(&mut self, mut piece: &[u8]) {
        self.is_there = true;
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
        let state = row.state.map(usize::from).and_then(|state| state.checked_sub(1));
        match state.and_then(|state| self.counts.get_mut(state)) {
            Some(count) => *count += 1,
            None => self.not_understood += 1,
        }
    }

    /// Gives the count of each state, those without a socket too.
    pub(crate) fn push(mut self, out: &mut Samples) {
        self.end_of_row();
        out.leave_out(u64::from(self.not_understood), format!("rows of {}", STATES.source));
        if !self.is_there {
            return;
        }
        let [.., asked] = self.counts;
        for (name, count) in NAMES.iter().zip(self.counts).take(NAMES.len() - 1) {
            let count = if *name == "syn_recv" { count + asked } else { count };
            out.push(&STATES.series[0], &[name], f64::from(count));
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

/// Reads pairs of lines: a word and names, the same word and values.
pub(crate) fn paired(text: &str, group: &'static Group, out: &mut Samples) {
    let mut lines = text.lines();
    while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
        let (Some((family, names)), Some((same, values))) =
            (names.split_once(':'), values.split_once(':'))
        else {
            out.leave_out(1, format!("a line without a colon in {}", group.source));
            continue;
        };
        if family != same {
            out.leave_out(1, format!("{family} without values in {}", group.source));
            continue;
        }
        let mut values = values.split_ascii_whitespace();
        for name in names.split_ascii_whitespace() {
            let value = values.next();
            let Some(series) = group.find(&format!("{family} {name}")) else { continue };
            match value.and_then(count) {
                Some(value) => out.push(series, &[], value),
                None => out.leave_out(1, format!("{family} {name} in {}", group.source)),
            }
        }
    }
}

/// Reads lines of a word, then names and values in turn.
pub(crate) fn parse_sockstat(text: &str, out: &mut Samples) {
    for line in text.lines() {
        let Some((family, rest)) = line.split_once(':') else {
            out.leave_out(1, format!("a line without a colon in {}", SOCKSTAT.source));
            continue;
        };
        let mut words = rest.split_ascii_whitespace();
        while let Some(name) = words.next() {
            let value = words.next();
            let Some(series) = SOCKSTAT.find(&format!("{family} {name}")) else { continue };
            match value.and_then(count) {
                Some(value) => out.push(series, &[], value),
                None => out.leave_out(1, format!("{family} {name} in {}", SOCKSTAT.source)),
            }
        }
    }
}

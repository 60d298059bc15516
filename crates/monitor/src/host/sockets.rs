//! TCP and UDP of one network namespace, as the kernel counts them: `/proc/net/snmp`, `netstat` and
//! `sockstat`.
//!
//! Source: proc_net(5), and the kernel's `Documentation/networking/snmp_counter.rst`.

use super::Host;
use crate::collector::CollectError;
use crate::read::count;
use crate::sample::{Group, Samples, counter, gauge};

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
    source: "proc/net/sockstat and sockstat6",
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
    for (file, group) in [("snmp", &SNMP), ("netstat", &NETSTAT)] {
        Host::parse(&host.net.join(file), out, |text, out| paired(text, group, out))?;
    }
    for file in ["sockstat", "sockstat6"] {
        Host::parse(&host.net.join(file), out, parse_sockstat)?;
    }
    Ok(())
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

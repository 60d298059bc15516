//! Interfaces: `/proc/net/dev`, of the namespace whose folder it is.
//!
//! Source: proc_pid_net(5). Fields are counted from 1 behind the interface's name: eight of what
//! was received, then eight of what was sent.

use super::Host;
use crate::collector::CollectError;
use crate::read::row;
use crate::sample::{Group, Samples, Series, counter};

const fn bytes(key: &'static str, name: &'static str, about: &'static str) -> Series {
    counter(key, name, "bytes", about).by(&["device"])
}

const fn packets(key: &'static str, name: &'static str, about: &'static str) -> Series {
    counter(key, name, "", about).by(&["device"])
}

pub(crate) const GROUP: Group = Group {
    source: "proc/net/dev",
    series: &[
        bytes("1", "node_network_receive_bytes_total", "received"),
        packets("2", "node_network_receive_packets_total", "packets received"),
        packets("3", "node_network_receive_errs_total", "packets received with an error"),
        packets("4", "node_network_receive_drop_total", "packets received and dropped"),
        bytes("9", "node_network_transmit_bytes_total", "sent"),
        packets("10", "node_network_transmit_packets_total", "packets sent"),
        packets("11", "node_network_transmit_errs_total", "packets not sent for an error"),
        packets("12", "node_network_transmit_drop_total", "packets dropped before they were sent"),
    ],
};

pub(super) fn read(host: &Host, out: &mut Samples) -> Result<(), CollectError> {
    Host::parse(&host.net.join("dev"), out, parse)
}

pub(crate) fn parse(text: &str, out: &mut Samples) {
    // Two lines of headings, which have bars in them and no colon.
    for line in text.lines().filter(|line| !line.contains('|') && !line.trim().is_empty()) {
        let (name, fields) = line.rsplit_once(':').unwrap_or((line, ""));
        row(fields.split_ascii_whitespace(), &GROUP, &[name.trim()], out);
    }
}

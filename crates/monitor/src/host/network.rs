//! Interfaces: `/proc/net/dev`, of the namespace whose folder it is, and the rate that one was
//! given.
//!
//! Source: proc_pid_net(5). Fields are counted from 1 behind the interface's name: eight of what
//! was received, then eight of what was sent.

use super::Host;
use crate::collector::CollectError;
use crate::read::row;
use crate::sample::{Group, Samples, Series, counter, gauge};

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

/// The rate of an instance's own interface. The kernel does not tell it: a virtual interface calls
/// itself as fast as any, whatever the queue before it lets through.
pub(crate) const SPEED: Group = Group {
    source: "the plan",
    series: &[gauge("rate", "node_network_speed_bytes", "bytes/s", "the role's `rate`, each way")
        .by(&["device"])],
};

/// The interface that a namespace of the test-bed has.
const OWN: &str = "eth0";

pub(super) fn read_speed(host: &Host, out: &mut Samples) -> Result<(), CollectError> {
    if let Some(bits) = host.net_bits_per_s {
        out.push(&SPEED.series[0], &[OWN], bits as f64 / 8.0);
    }
    Ok(())
}

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

//! RabbitMQ: the page of its plugin `rabbitmq_prometheus`, which comes with it from 3.8 on.
//!
//! The page has some thousand series, most of them of Erlang's machine. Those here are the ones by
//! which a broker is judged, with their names; where it tells one by protocol or kind of queue, it
//! is the sum. Figures are those of a moment ago: the broker gathers them every five seconds.

use std::collections::BTreeMap;

use plimsoll_net::http::client::Limits;
use plimsoll_net::prometheus;

use super::ask::Page;
use crate::collector::{CollectError, Collector, Kind, Need};
use crate::sample::{Group, Samples, counter, gauge};

/// The collector `rabbitmq`.
pub(crate) const KIND: Kind = Kind {
    name: "rabbitmq",
    about: "RabbitMQ: messages, queues, connections, memory, from its page for Prometheus",
    needs: &[Need::Address],
    groups: &[&GROUP],
    make: |source| {
        let address = source.address.as_deref().unwrap_or_default();
        let limits = Limits { total: source.limit, answer_bytes: PAGE_BYTES };
        Ok(Box::new(RabbitMq { page: Page::at(address, "/metrics", limits)? }))
    },
};

const PAGE_BYTES: usize = 1 << 20;
const MOST_SAMPLES: usize = 5_000;

/// What is told in milliseconds.
const CPU_MS: &str = "erlang_vm_statistics_runtime_milliseconds";

const GROUP: Group = Group {
    source: "GET /metrics",
    series: &[
        gauge("rabbitmq_connections", "rabbitmq_connections", "", "connections"),
        gauge("rabbitmq_channels", "rabbitmq_channels", "", "channels"),
        gauge("rabbitmq_consumers", "rabbitmq_consumers", "", "consumers"),
        gauge("rabbitmq_queues", "rabbitmq_queues", "", "queues"),
        counter(
            "rabbitmq_connections_opened_total",
            "rabbitmq_connections_opened_total",
            "",
            "connections opened",
        ),
        counter(
            "rabbitmq_connections_closed_total",
            "rabbitmq_connections_closed_total",
            "",
            "connections closed",
        ),
        counter(
            "rabbitmq_global_messages_received_total",
            "rabbitmq_global_messages_received_total",
            "",
            "messages that publishers sent",
        ),
        counter(
            "rabbitmq_global_messages_routed_total",
            "rabbitmq_global_messages_routed_total",
            "",
            "messages put into queues, once for each",
        ),
        counter(
            "rabbitmq_global_messages_unroutable_dropped_total",
            "rabbitmq_global_messages_unroutable_dropped_total",
            "",
            "messages that no queue took, and that were dropped",
        ),
        counter(
            "rabbitmq_global_messages_delivered_total",
            "rabbitmq_global_messages_delivered_total",
            "",
            "messages given to consumers",
        ),
        counter(
            "rabbitmq_global_messages_acknowledged_total",
            "rabbitmq_global_messages_acknowledged_total",
            "",
            "messages that consumers acknowledged",
        ),
        gauge("rabbitmq_queue_messages", "rabbitmq_queue_messages", "", "messages in queues"),
        gauge(
            "rabbitmq_queue_messages_ready",
            "rabbitmq_queue_messages_ready",
            "",
            "those of them that wait for a consumer",
        ),
        gauge(
            "rabbitmq_queue_messages_unacked",
            "rabbitmq_queue_messages_unacked",
            "",
            "those of them that a consumer has, and has not acknowledged",
        ),
        gauge(
            "rabbitmq_process_resident_memory_bytes",
            "rabbitmq_process_resident_memory_bytes",
            "bytes",
            "its resident memory",
        ),
        gauge(
            "rabbitmq_resident_memory_limit_bytes",
            "rabbitmq_resident_memory_limit_bytes",
            "bytes",
            "memory at which publishers are blocked",
        ),
        gauge(
            "rabbitmq_alarms_memory_used_watermark",
            "rabbitmq_alarms_memory_used_watermark",
            "",
            "whether publishers are blocked for memory",
        ),
        gauge(
            "rabbitmq_alarms_free_disk_space_watermark",
            "rabbitmq_alarms_free_disk_space_watermark",
            "",
            "whether publishers are blocked for the disk",
        ),
        gauge("rabbitmq_process_open_fds", "rabbitmq_process_open_fds", "", "open descriptors"),
        counter(CPU_MS, "rabbitmq_cpu_seconds_total", "s", "processor time of its schedulers"),
    ],
};

struct RabbitMq {
    page: Page,
}

impl Collector for RabbitMq {
    fn collect(&mut self, out: &mut Samples) -> Result<(), CollectError> {
        parse(&self.page.text()?, out)
    }
}

/// Reads the page; series of one name are added up.
pub(crate) fn parse(text: &str, out: &mut Samples) -> Result<(), CollectError> {
    let parsed = prometheus::parse(text, MOST_SAMPLES);
    let mut sums = BTreeMap::<&str, f64>::new();
    let mut is_broker = false;
    for sample in &parsed.samples {
        if GROUP.find(sample.name).is_some() {
            is_broker |= sample.name.starts_with("rabbitmq_");
            let unit = if sample.name == CPU_MS { 1e-3 } else { 1.0 };
            *sums.entry(sample.name).or_default() += sample.value * unit;
        }
    }
    if !is_broker {
        return Err(CollectError::garbage("RabbitMQ's page for Prometheus", text));
    }
    for (name, value) in sums {
        let Some(series) = GROUP.find(name) else { continue };
        match value.is_finite() {
            true => out.push(series, &[], value),
            false => out.leave_out(1, format!("{name} in {}", GROUP.source)),
        }
    }
    out.leave_out(parsed.unread as u64, format!("line {} of the page", parsed.first_unread));
    let beyond = parsed.beyond as u64;
    out.leave_out(beyond, format!("what follows the first {MOST_SAMPLES} samples"));
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A part of the page of 3.10.
    pub(crate) const PAGE: &str = "\
# TYPE rabbitmq_connections gauge\n\
rabbitmq_connections 2\n\
rabbitmq_global_messages_received_total{protocol=\"amqp091\"} 7\n\
rabbitmq_global_messages_received_total{protocol=\"amqp10\"} 1\n\
rabbitmq_queue_messages_ready 3\n";

    #[test]
    fn what_is_told_by_protocol_is_added_up() {
        let mut out = Samples::of(None);
        parse(PAGE, &mut out).unwrap();
        let value = |name: &str| out.iter().find(|of| of.name == name).map(|of| of.value);
        assert_eq!(value("rabbitmq_global_messages_received_total"), Some(8.0));
        assert_eq!((value("rabbitmq_connections"), out.len()), (Some(2.0), 3));
        assert!(parse("erlang_vm_port_count 12\n", &mut Samples::of(None)).is_err());
    }
}

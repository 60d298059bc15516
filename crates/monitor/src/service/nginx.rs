//! nginx: the page of its module `stub_status`.
//!
//! Source: the manual of `ngx_http_stub_status_module`. Names are those of
//! nginx-prometheus-exporter. The page's own request is among those that it counts.

use super::ask::{Page, limits};
use crate::collector::{CollectError, Collector, Kind, Need};
use crate::read::count;
use crate::sample::{Group, Samples, counter, gauge};

/// The collector `nginx`.
pub(crate) const KIND: Kind = Kind {
    name: "nginx",
    about: "nginx: connections and requests, from `stub_status`",
    needs: &[Need::Address],
    groups: &[&GROUP],
    make: |source| {
        let address = source.address.as_deref().unwrap_or_default();
        let page = Page::at(address, "/stub_status", limits(source.limit))?;
        Ok(Box::new(Nginx { page }))
    },
};

/// The numbers of the page, in their order.
const GROUP: Group = Group {
    source: "GET /stub_status",
    series: &[
        gauge("1", "nginx_connections_active", "", "connections, those that wait too"),
        counter("2", "nginx_connections_accepted", "", "connections accepted"),
        counter("3", "nginx_connections_handled", "", "connections not dropped at a limit"),
        counter("4", "nginx_http_requests_total", "", "requests"),
        gauge("5", "nginx_connections_reading", "", "connections whose request is being read"),
        gauge("6", "nginx_connections_writing", "", "connections whose answer is being written"),
        gauge("7", "nginx_connections_waiting", "", "idle connections"),
    ],
};

struct Nginx {
    page: Page,
}

impl Collector for Nginx {
    fn collect(&mut self, out: &mut Samples) -> Result<(), CollectError> {
        parse(&self.page.text()?, out)
    }
}

/// Reads the page: a number, a line of words, three numbers, then three with their words.
pub(crate) fn parse(text: &str, out: &mut Samples) -> Result<(), CollectError> {
    let garbage = || CollectError::garbage("the page of `stub_status`", text);
    if !text.starts_with("Active connections:") || !text.contains("server accepts handled requests")
    {
        return Err(garbage());
    }
    let numbers: Vec<f64> = text.split_ascii_whitespace().filter_map(count).collect();
    if numbers.len() != GROUP.series.len() {
        return Err(garbage());
    }
    for (series, value) in GROUP.series.iter().zip(numbers) {
        out.push(series, &[], value);
    }
    Ok(())
}

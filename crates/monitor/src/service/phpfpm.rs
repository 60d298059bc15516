//! php-fpm: the page of its `pm.status_path`, as text.
//!
//! Source: PHP's manual, "Status page" of FPM. Names are those of php-fpm_exporter. The page's own
//! request is among those that it counts, and takes a process while it is answered, where no
//! `pm.status_listen` gives it one of its own.

use super::ask::{Page, limits};
use crate::collector::{CollectError, Collector, Kind, Need};
use crate::read::count;
use crate::sample::{Group, Samples, Series, counter, gauge};

/// The collector `phpfpm`.
pub(crate) const KIND: Kind = Kind {
    name: "phpfpm",
    about: "php-fpm: busy processes and who waits for one, from `pm.status_path`",
    needs: &[Need::Address],
    groups: &[&GROUP],
    make: |source| {
        let address = source.address.as_deref().unwrap_or_default();
        let page = Page::at(address, "/status", limits(source.limit))?;
        Ok(Box::new(PhpFpm { page }))
    },
};

const fn is(key: &'static str, name: &'static str, about: &'static str) -> Series {
    gauge(key, name, "", about).by(&["pool"])
}

const fn rises(key: &'static str, name: &'static str, about: &'static str) -> Series {
    counter(key, name, "", about).by(&["pool"])
}

const GROUP: Group = Group {
    source: "GET /status",
    series: &[
        gauge("start since", "phpfpm_start_since", "s", "since its start").by(&["pool"]),
        rises("accepted conn", "phpfpm_accepted_connections", "requests that a process took"),
        is("listen queue", "phpfpm_listen_queue", "requests that wait for a process"),
        is("max listen queue", "phpfpm_max_listen_queue", "the most that waited since its start"),
        is("listen queue len", "phpfpm_listen_queue_length", "the most that can wait"),
        is("idle processes", "phpfpm_idle_processes", "processes that wait for a request"),
        is("active processes", "phpfpm_active_processes", "processes that make an answer"),
        is("total processes", "phpfpm_total_processes", "processes"),
        is("max active processes", "phpfpm_max_active_processes", "the most that worked at once"),
        rises(
            "max children reached",
            "phpfpm_max_children_reached",
            "times that more processes were wanted than it may have",
        ),
        rises("slow requests", "phpfpm_slow_requests", "requests beyond its limit of slow ones"),
    ],
};

struct PhpFpm {
    page: Page,
}

impl Collector for PhpFpm {
    fn collect(&mut self, out: &mut Samples) -> Result<(), CollectError> {
        parse(&self.page.text()?, out)
    }
}

/// Reads lines `NAME: VALUE`, of which the first names the pool.
pub(crate) fn parse(text: &str, out: &mut Samples) -> Result<(), CollectError> {
    let garbage = || CollectError::garbage("the status page of php-fpm", text);
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let (Some(("pool", pool)), before) = (lines.next(), (out.len(), out.left_out())) else {
        return Err(garbage());
    };
    for (key, word) in lines {
        let Some(series) = GROUP.find(key) else { continue };
        match count(word.trim()) {
            Some(value) => out.push(series, &[pool.trim()], value),
            None => out.leave_out(1, format!("{key} in {}", GROUP.source)),
        }
    }
    if before == (out.len(), out.left_out()) {
        return Err(garbage());
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The page of PHP 8.2's.
    pub(crate) const PAGE: &str = "pool:                 wiki\nprocess manager:      static\n\
        start time:           26/Nov/2026:16:00:00 +0000\nstart since:          123\n\
        accepted conn:        12\nlisten queue:         2\nmax listen queue:     5\n\
        listen queue len:     511\nidle processes:       9\nactive processes:     1\n\
        total processes:      10\nmax active processes: 3\nmax children reached: 0\n\
        slow requests:        0\n";

    #[test]
    fn a_page_is_read_whole() {
        let mut out = Samples::of(None);
        parse(PAGE, &mut out).unwrap();
        assert_eq!((out.len(), out.left_out()), (GROUP.series.len(), 0));
        let value = |name: &str| out.value(name, &[("pool", "wiki")]);
        assert_eq!(value("phpfpm_accepted_connections"), Some(12.0));
        assert_eq!(value("phpfpm_active_processes"), Some(1.0));
        assert_eq!(value("phpfpm_listen_queue"), Some(2.0));
    }

    #[test]
    fn what_is_not_understood_is_counted() {
        let mut out = Samples::of(None);
        parse(&PAGE.replace("conn:        12", "conn:        many"), &mut out).unwrap();
        assert_eq!((out.len(), out.left_out()), (GROUP.series.len() - 1, 1));
        for text in ["", "pool\n", "File not found.\n", "<html>", "pool: wiki\nother: 1\n"] {
            assert!(parse(text, &mut Samples::of(None)).is_err(), "{text}");
        }
    }
}

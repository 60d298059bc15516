//! `[collect]`: what is watched while a load goes on.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use plimsoll_units::{ParseError, duration};

use crate::sections::testbed::MAP;
use crate::takes::{DURATION, File, Line, List, Parsed};
use crate::write::Writer;

section! {
    /// What is watched beside the load, as series of the run.
    ["collect"; read, default]
    pub struct Collect {
        /// How often each source is read.
        every: Duration { EVERY, or Duration::from_secs(1), "5s" }
        /// The sources: `host`, `network`, `cgroup`, `statsd`, and services.
        from: Vec<String> { SOURCES, or Vec::new(), r#"["host", "cgroup", "nginx"]"# }
        /// Where sources are that the plan does not start: a page, a service, and where lines of
        /// StatsD are listened for.
        at: BTreeMap<String, String> { MAP, or BTreeMap::new(),
            r#"{ prometheus = "http://127.0.0.1:9100/metrics" }"# }
        /// Other hosts, by their agents: the name of each, and where its agent listens.
        agents: BTreeMap<String, String> { MAP, or BTreeMap::new(),
            r#"{ web7 = "10.0.0.7:5555" }"# }
        /// The file of the token that these agents ask for, which others may not read.
        token_file: Option<PathBuf> { File, "agent.token" }
        /// Names of programs whose processes are counted.
        processes: Vec<String> { PROCESSES, or Vec::new(), r#"["nginx", "php-fpm"]"# }
    }
}

impl Collect {
    pub(crate) fn write(&self, out: &mut Writer) {
        out.section(Self::SECTION.path);
        let maps = [("at", self.at.is_empty()), ("agents", self.agents.is_empty())];
        let left_out: Vec<&str> =
            maps.into_iter().filter(|(_, is_empty)| *is_empty).map(|(name, _)| name).collect();
        self.write_keys(out, &left_out);
    }
}

const EVERY: Parsed<Duration> = DURATION
    .only(|text| match duration(text)? {
        every if (100..=3_600_000).contains(&every.as_millis()) => Ok(every),
        _ => Err(ParseError::new("from 100ms to 1h", text, 0, text.len())),
    })
    .such_as("a period from 100ms to 1h");
const SOURCES: List<Line> = List(Line("source"), "list of sources");
const PROCESSES: List<Line> = List(Line("name"), "list of names");

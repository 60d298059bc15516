//! `[collect]`: what is watched while a load goes on.

use std::time::Duration;

use plimsoll_units::{ParseError, duration};

use crate::takes::{DURATION, Line, List, Parsed};

section! {
    /// What is watched beside the load, as series of the run.
    ["collect"; read, write, default]
    pub struct Collect {
        /// How often each source is read.
        every: Duration { EVERY, or Duration::from_secs(1), "5s" }
        /// The sources: `host`, `cgroup`, and the services of the test-bed.
        from: Vec<String> { SOURCES, or Vec::new(), r#"["host", "cgroup", "nginx"]"# }
        /// Names of programs whose processes are counted.
        processes: Vec<String> { PROCESSES, or Vec::new(), r#"["nginx", "php-fpm"]"# }
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

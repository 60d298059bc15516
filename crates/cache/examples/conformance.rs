//! Exact miss counts against those of libCacheSim on the reference trace.
//!
//! `conformance [POLICY…]` replays the six cells of each policy (all of them where none is named)
//! and prints what was expected, what was found, and the time. The counts and the definition of
//! the trace ("cachelab trace v1", integers only) lie beside this repository, in
//! `../shared/reference/cache`. It ends with 1 where a cell that must agree does not.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program")]

use std::process::ExitCode;

use plimsoll_cache::capacity::{Capacity, Unit};
use plimsoll_cache::eviction::{Kind, Settings};
use plimsoll_cache::replay::{Job, replay};
use plimsoll_cache::trace::reference::Reference;

const CSV: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../../shared/reference/cache/libcachesim_reference.csv"
);

const REFERENCE: Reference = Reference { objects: 1_000_000, requests: 10_000_000, seed: 42 };

/// Differences of miss ratios that are allowed; 0 elsewhere. None: of interest only, as theirs is
/// another policy of the name (`lfuda`).
const WITHIN: &[(&str, Option<f64>)] =
    &[("wtinylfu", Some(0.002)), ("lirs", Some(0.002)), ("2q", Some(0.002)), ("lfuda", None)];

#[expect(clippy::disallowed_methods, reason = "measuring is a purpose of this program")]
fn timed<T>(of: impl FnOnce() -> T) -> (T, f64) {
    let start = std::time::Instant::now();
    let value = of();
    (value, start.elapsed().as_secs_f64())
}

#[expect(clippy::cast_precision_loss, reason = "ten million")]
fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let named: Vec<String> = std::env::args().skip(1).collect();
    let Ok(csv) = std::fs::read_to_string(CSV) else {
        eprintln!("skipped: no reference counts at {CSV}");
        return Ok(ExitCode::SUCCESS);
    };
    let (trace, seconds) = timed(|| REFERENCE.trace());
    let trace = trace?;
    println!("trace: {} objects, {seconds:.1} s", trace.distinct());
    let next = trace.next_uses();
    let mut wrong = 0;
    for cell in cells(&csv, &named)? {
        let Some(kind) = Kind::named(&cell.policy) else { continue };
        let next: &[u32] = if kind.needs.next { &next } else { &[] };
        let settings = Settings::default();
        let (settings, admission, capacity) = (&settings, None, cell.capacity);
        let job = Job {
            trace: &trace,
            next,
            capacity,
            settings,
            admission,
            size_classes: None,
            marks: &[],
        };
        let (counts, seconds) = timed(|| replay(kind, &job));
        let found = counts?.stretches[0].misses;
        let verdict = cell.verdict(found, trace.len());
        wrong += u32::from(verdict.starts_with("WRONG"));
        println!(
            "{:16} {:7} {:>10} found {found:>7} {verdict:40} {:6.1} M/s",
            cell.policy,
            if capacity.unit == Unit::Objects { "objects" } else { "bytes" },
            capacity.amount,
            trace.len() as f64 / seconds / 1e6
        );
    }
    println!("{wrong} wrong");
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// One policy of one capacity.
struct Cell {
    policy: String,
    capacity: Capacity,
    /// None where the reference does not have the policy.
    misses: Option<u64>,
}

impl Cell {
    #[expect(clippy::cast_precision_loss, reason = "ten million")]
    fn verdict(&self, found: u64, requests: usize) -> String {
        let Some(expected) = self.misses else { return "no reference".into() };
        let off = (found as f64 - expected as f64) / requests as f64;
        let within = WITHIN.iter().find(|(of, _)| *of == self.policy);
        match within.map_or(Some(0.0), |(_, within)| *within) {
            None => format!("informative: theirs {expected}, off {off:+.5}"),
            Some(_) if found == expected => "exact".into(),
            Some(within) if off.abs() <= within => format!("near {expected}, off {off:+.5}"),
            Some(_) => format!("WRONG: wanted {expected}, off {off:+.5}"),
        }
    }
}

/// The cells of these policies, or of all of the reference; those that it does not have get the
/// capacities of the others.
fn cells(csv: &str, named: &[String]) -> Result<Vec<Cell>, Box<dyn std::error::Error>> {
    let mut cells = Vec::new();
    for line in csv.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let policy = if fields[0] == "twoq" { "2q" } else { fields[0] };
        let unit = if fields[1] == "unit" { Unit::Objects } else { Unit::Bytes };
        let capacity = Capacity { amount: fields[2].parse()?, unit };
        let misses = Some(fields[5].parse()?);
        cells.push(Cell { policy: policy.into(), capacity, misses });
    }
    let capacities: Vec<Capacity> =
        cells.iter().filter(|cell| cell.policy == "fifo").map(|cell| cell.capacity).collect();
    for policy in named {
        if !cells.iter().any(|cell| cell.policy == *policy) {
            let unknown = |&capacity| Cell { policy: policy.clone(), capacity, misses: None };
            cells.extend(capacities.iter().map(unknown));
        }
    }
    cells.retain(|cell| named.is_empty() || named.contains(&cell.policy));
    Ok(cells)
}

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
use plimsoll_cache::trace::{Names, Trace};

const CSV: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../../shared/reference/cache/libcachesim_reference.csv"
);

/// Differences of miss ratios that are allowed; 0 elsewhere. None: of interest only, as theirs is
/// another policy of the name (`lfuda`).
const WITHIN: &[(&str, Option<f64>)] =
    &[("wtinylfu", Some(0.002)), ("lirs", Some(0.002)), ("2q", Some(0.002)), ("lfuda", None)];

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The greatest `w` with `w^5 rank^4 <= 2^125`.
fn weight(rank: u64) -> u64 {
    let fits = |w: u64| {
        let fourth = u128::from(rank).pow(4);
        u128::from(w).pow(5).checked_mul(fourth).is_some_and(|product| product <= 1 << 125)
    };
    let (mut fit, mut misfit) = (0, (1 << 25) + 1);
    while misfit - fit > 1 {
        let middle = u64::midpoint(fit, misfit);
        *(if fits(middle) { &mut fit } else { &mut misfit }) = middle;
    }
    fit
}

#[expect(clippy::cast_possible_truncation, reason = "halves of products, a million objects")]
fn reference_trace() -> Result<Trace, Box<dyn std::error::Error>> {
    const OBJECTS: u64 = 1_000_000;
    let mut below = Vec::new();
    let mut total = 0;
    for rank in 1..=OBJECTS {
        total += weight(rank);
        below.push(total);
    }
    let mut numbers = vec![u32::MAX; OBJECTS as usize];
    let (mut requests, mut names, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
    let mut state = 42u64;
    for _ in 0..10_000_000 {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let drawn = ((u128::from(mix(state)) * u128::from(total)) >> 64) as u64;
        let place = below.partition_point(|&sum| sum <= drawn);
        let number = &mut numbers[place];
        if *number == u32::MAX {
            *number = names.len() as u32;
            let rank = place as u64 + 1;
            names.push(mix(rank));
            let hash = mix(rank ^ 0xA5A5_A5A5_A5A5_A5A5);
            let octave = 1024 << (hash | 1 << 63).trailing_zeros().min(12);
            sizes.push(octave + (((hash >> 32) * octave) >> 32));
        }
        requests.push(*number);
    }
    let seconds = (0..10_000_000).map(|at| at / 1000).collect();
    Ok(Trace::new(requests, Names::Numbers(names))?.with_sizes(sizes)?.with_seconds(seconds)?)
}

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
    let (trace, seconds) = timed(reference_trace);
    let trace = trace?;
    println!("trace: {} objects, {seconds:.1} s", trace.distinct());
    let next = trace.next_uses();
    let mut wrong = 0;
    for cell in cells(&csv, &named)? {
        let Some(kind) = Kind::named(&cell.policy) else { continue };
        let next: &[u32] = if kind.needs.next { &next } else { &[] };
        let settings = Settings::default();
        let (settings, admission, capacity) = (&settings, None, cell.capacity);
        let job = Job { trace: &trace, next, capacity, settings, admission, marks: &[] };
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

//! What the import of an access log costs: 1,000,000 lines of each format, plain and gzip. Run with
//! `cargo run --release -p plimsoll-workload --example access_log_speed [LINES]`.
#![expect(clippy::disallowed_methods, reason = "measuring is the purpose of this program")]
#![expect(clippy::print_stdout, reason = "its result goes to the terminal")]

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use flate2::Compression;
use flate2::write::GzEncoder;
use plimsoll_workload::access_log::{Format, ImportOptions, import};

#[path = "../tests/it/log_lines.rs"]
mod log_lines;

use log_lines::LogLines;

const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let lines: u64 = std::env::args().nth(1).map_or(Ok(1_000_000), |text| text.parse())?;
    let folder = tempfile::tempdir()?;
    println!("{lines} lines, best of {ROUNDS}");
    println!(
        "{:<10}{:<7}{:>9}{:>9}{:>9}{:>9}{:>13}{:>9}{:>9}",
        "format", "", "MB", "wall s", "CPU s", "MB/s", "resident MB", "urls", "other"
    );
    for format in Format::ALL {
        for gzip in [false, true] {
            let path = folder.path().join(format!("{format}{}", if gzip { ".gz" } else { "" }));
            let bytes = write(&path, format, lines, gzip)?;
            measure(&path, format, gzip, bytes, lines)?;
            std::fs::remove_file(&path)?;
        }
    }
    Ok(())
}

fn measure(
    path: &Path,
    format: Format,
    gzip: bool,
    bytes: u64,
    lines: u64,
) -> Result<(), Box<dyn Error>> {
    let (mut wall_s, mut cpu_s, mut resident) = (f64::MAX, f64::MAX, 0.0);
    let (mut urls, mut other) = (0, 0);
    for _ in 0..ROUNDS {
        // Writing 5 starts the peak of the resident memory anew: proc_pid_clear_refs(5).
        std::fs::write("/proc/self/clear_refs", "5")?;
        let (start, cpu_start) = (Instant::now(), cpu_seconds()?);
        let log = import(path, &ImportOptions::default())?;
        wall_s = start.elapsed().as_secs_f64().min(wall_s);
        cpu_s = (cpu_seconds()? - cpu_start).min(cpu_s);
        resident = peak_mb()?.max(resident);
        assert_eq!((log.format, log.requests, log.unreadable), (format.into(), lines, 0));
        (urls, other) = (log.urls.len(), log.left_out.beyond);
    }
    let mb = bytes as f64 / 1e6;
    let kind = if gzip { "gzip" } else { "plain" };
    println!(
        "{:<10}{kind:<7}{mb:>9.1}{wall_s:>9.3}{cpu_s:>9.3}{:>9.0}{resident:>13.1}\
         {urls:>9}{other:>9}",
        format.name(),
        mb / cpu_s
    );
    Ok(())
}

/// Writes a log; its size before compression.
fn write(path: &Path, format: Format, lines: u64, gzip: bool) -> Result<u64, Box<dyn Error>> {
    let file = BufWriter::new(File::create(path)?);
    let mut out: Box<dyn Write> =
        if gzip { Box::new(GzEncoder::new(file, Compression::default())) } else { Box::new(file) };
    let mut log = LogLines::new(format, 1, 50.0);
    let (mut line, mut bytes) = (String::new(), 0);
    for _ in 0..lines {
        line.clear();
        log.push(&mut line);
        bytes += line.len() as u64;
        out.write_all(line.as_bytes())?;
    }
    out.flush()?;
    Ok(bytes)
}

/// The most memory that was resident, in MB.
fn peak_mb() -> Result<f64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    let kb: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kb * 1024.0 / 1e6)
}

/// CPU time of this thread: the first figure of schedstat, in nanoseconds.
fn cpu_seconds() -> Result<f64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let ns: f64 = text.split(' ').next().ok_or("no CPU time")?.parse()?;
    Ok(ns / 1e9)
}

//! What the memory of this machine gives a replay at most: reads that depend on each other, and
//! that do not, over arrays of several sizes. Prints a table for `benches/cache/RESULTS.md`.

#![expect(clippy::print_stdout, reason = "its result goes to the terminal")]

use std::hint::black_box;
use std::time::Instant;

const READS: usize = 4_000_000;

fn main() {
    println!(
        "Nanoseconds a read of four bytes at a random place, on the core of the runs above.\n"
    );
    println!("| array | each read depends on the last | none does |");
    println!("| ---: | ---: | ---: |");
    for mib in [1usize, 4, 16, 64, 256] {
        let places = mib << 18;
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(state >> 33).unwrap_or(0) % places
        };
        let array: Vec<u32> = (0..places).map(|_| u32::try_from(next()).unwrap_or(0)).collect();
        let wanted: Vec<usize> = (0..READS).map(|_| next()).collect();
        let dependent = timed(|| {
            // The index adds to what was read, so that no short cycle is entered.
            let step = |at: usize, n: usize| (array[at] as usize + n) % places;
            black_box((0..READS).fold(0, step));
        });
        let independent = timed(|| {
            black_box(wanted.iter().map(|&at| u64::from(array[at])).sum::<u64>());
        });
        println!("| {mib} MiB | {dependent:.1} | {independent:.2} |");
    }
}

/// The least of five runs, nanoseconds a read.
#[expect(clippy::disallowed_methods, reason = "this program measures the machine")]
fn timed(mut run: impl FnMut()) -> f64 {
    let one = |_| {
        let began = Instant::now();
        run();
        began.elapsed().as_secs_f64() * 1e9 / READS as f64
    };
    (0..5).map(one).fold(f64::INFINITY, f64::min)
}

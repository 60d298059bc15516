//! Runs the seeded mutations of request streams for longer than the tests do:
//!
//! ```text
//! cargo run -p plimsoll-target --release --example mutate -- SEEDS [FIRST]
//! ```
//!
//! A seed that fails is in the panic's text; run it alone with `mutate -- 1 SEED`.

#![expect(clippy::print_stdout, reason = "a program for people")]

mod mutations;

fn main() -> Result<(), std::num::ParseIntError> {
    let mut arguments = std::env::args().skip(1);
    let seeds: u64 = arguments.next().map_or(Ok(1_000_000), |text| text.parse())?;
    let first: u64 = arguments.next().map_or(Ok(0), |text| text.parse())?;
    let (mut requests, mut refused) = (0, 0);
    for seed in first..first.saturating_add(seeds) {
        let (r, f) = mutations::run_seed(seed);
        requests += r;
        refused += f;
    }
    println!("{seeds} seeds: {requests} requests, {refused} refusals, read alike however cut");
    Ok(())
}

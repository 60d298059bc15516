//! What reading and writing a heartbeat and checking its signature cost. Run with
//! `cargo run --release -p plimsoll-shoal --example cost_of_heartbeats`.
#![expect(clippy::disallowed_methods, reason = "measuring is the purpose of this program")]
#![expect(clippy::print_stdout, reason = "its result goes to the terminal")]

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use plimsoll_shoal::auth::{Keys, LastSeen};
use plimsoll_shoal::heartbeat::{parse, python_float};

/// Short rounds, so that some of them are not interrupted.
const ROUNDS: usize = 500;
const TIMES: u32 = 1000;

/// What Shoal's current agent says.
const THEIRS: &[u8] = br#"{"uuid": "d03b93b6e4b811f19f970e468af6f828", "hostname": "host-192-0-2-10.net-192-0-2.example", "cache_port": 3128, "cache_type": "squid", "verified": false, "max_load": 1125000, "upstream": "both", "private_ip": "10.1.2.3", "external_ip": "192.0.2.10", "timestamp": 1795161784.3958414, "load": 30.087890625}"#;
/// With all that ours may say.
const OURS: &[u8] = br#"{"uuid": "d03b93b6e4b811f19f970e468af6f828", "hostname": "host-192-0-2-10.net-192-0-2.example", "cache_port": 3128, "cache_type": "squid", "verified": false, "max_load": 1125000, "upstream": "both", "private_ip": "10.1.2.3", "public_ip": "192.0.2.10", "interval": 30.0, "cloud": "cloud-a", "version": "0.1.0", "latitude": 48.4265, "longitude": -123.362, "timestamp": 1795161784.3958414, "load": 30.087890625}"#;

fn main() -> Result<(), Box<dyn Error>> {
    println!("best of {ROUNDS} rounds of {TIMES}");
    for (whose, body) in [("Shoal's", THEIRS), ("all of ours", OURS)] {
        let beat = parse(body)?;
        let ns = best_ns(|| drop(black_box(parse(black_box(body)))));
        println!("parse, {whose}, {} bytes: {ns:.0} ns", body.len());
        let ns = best_ns(|| drop(black_box(black_box(&beat).to_json())));
        println!("to_json, {whose}: {ns:.0} ns");
    }
    let nested = format!("{{\"x\": {}}}", "[".repeat(8000));
    let many: String = (0..900).map(|n| format!("\"{n}\":0,")).collect();
    let many = format!("{{{many}\"0\":1}}");
    for (what, body) in [("too deep", nested), ("900 strange names", many)] {
        let ns = best_ns(|| drop(black_box(parse(black_box(body.as_bytes())))));
        println!("refuse, {what}, {} bytes: {ns:.0} ns", body.len());
    }
    let mut out = Vec::with_capacity(64);
    let ns = best_ns(|| {
        out.clear();
        python_float(black_box(1795161784.3958414), &mut out);
    });
    println!("python_float: {ns:.0} ns");
    let keys = Keys::read("site-a 000102030405060708090a0b0c0d0e0f")?;
    let signature = keys.get("site-a").ok_or("no key")?.sign(THEIRS, 1_795_161_784_395);
    let ns = best_ns(|| drop(black_box(keys.verify(&signature, THEIRS, 1_795_161_784_400))));
    println!("verify: {ns:.0} ns");
    let (mut seen, mut ms) = (LastSeen::new(1000), 0);
    let ns = best_ns(|| {
        ms += 1;
        drop(black_box(seen.note("site-a", "d03b93b6e4b811f19f970e468af6f828", ms, ms)));
    });
    println!("LastSeen::note: {ns:.0} ns");
    Ok(())
}

fn best_ns(mut work: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..TIMES {
            work();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / f64::from(TIMES));
    }
    best
}

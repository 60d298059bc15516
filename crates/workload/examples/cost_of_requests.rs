//! What choosing a request and rendering a template cost. Run with
//! `cargo run --release -p plimsoll-workload --example cost_of_requests`.
#![expect(clippy::disallowed_methods, reason = "measuring is the purpose of this program")]
#![expect(clippy::print_stdout, reason = "its result goes to the terminal")]

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use plimsoll_workload::arrivals::Share;
use plimsoll_workload::random::Stream;
use plimsoll_workload::request::{
    Order, Picker, RenderState, Request, Requests, Template, Url, Zipf,
};

const ROUNDS: usize = 7;
const DRAWS: u32 = 2_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    for len in [10_u32, 1000, 200_000] {
        let url = Url::parse("http://localhost/")?;
        let list = vec![Request::new(url); len as usize];
        let weights = (1..=len).map(|k| 1.0 / f64::from(k)).collect();
        let orders = [
            Order::RoundRobin,
            Order::Uniform,
            Order::Weighted(weights),
            Order::Zipf(0.0),
            Order::Zipf(0.8),
            Order::Zipf(1.0),
            Order::Zipf(1.5),
        ];
        for order in orders {
            let requests = Requests { list: list.clone(), order };
            let mut picker = Picker::new(&requests, 1, Share::WHOLE)?;
            let ns = best_ns(|| {
                black_box(picker.next());
            });
            println!("{:<14} of {len:>6}: {ns:>6.1} ns a pick", requests.order.to_string());
        }
    }
    for exponent in [0.5, 1.0, 1.5] {
        let zipf = Zipf::new(1_000_000_000, exponent)?;
        let mut stream = Stream::named(1, "cost");
        let ns = best_ns(|| {
            black_box(zipf.sample(&mut stream));
        });
        println!("zipf:{exponent:<9} of a billion, without a table: {ns:>6.1} ns a rank");
    }
    for text in ["static", "{{counter}}", "{{random:1..100}}", "{{uuid}}"] {
        let template = Template::parse(text)?;
        let mut state = RenderState::new(1, Share::WHOLE);
        let mut out = Vec::new();
        let ns = best_ns(|| {
            out.clear();
            template.render(&mut state, &mut out);
            state.next_request();
            black_box(&out);
        });
        println!("{text:<24}: {ns:>6.1} ns a rendering");
    }
    Ok(())
}

fn best_ns(mut once: impl FnMut()) -> f64 {
    let round = |_| {
        let start = Instant::now();
        (0..DRAWS).for_each(|_| once());
        start.elapsed().as_nanos() as f64 / f64::from(DRAWS)
    };
    (0..ROUNDS).map(round).fold(f64::MAX, f64::min)
}

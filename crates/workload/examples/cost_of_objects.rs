//! What a request of a synthetic web workload costs, and an object. Run with
//! `cargo run --release -p plimsoll-workload --example cost_of_objects`.
#![expect(clippy::disallowed_methods, reason = "measuring is the purpose of this program")]
#![expect(clippy::print_stdout, reason = "its result goes to the terminal")]

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use plimsoll_workload::objects::{
    Catalogue, Clients, Drift, HotSet, Popularity, Population, Requests, SizeLaw, WorkingSet,
    Workload,
};

const ROUNDS: usize = 7;
const DRAWS: u32 = 2_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let closed = |objects, drift| Population::Closed { objects, drift };
    let open = |working_set| Population::Open { recurrence: 0.7, working_set };
    let zipf = Popularity { exponent: 0.8 };
    let hot = Some(HotSet { objects: 0.01, requests: 0.1 });
    let drift = Some(Drift::parse("1% every 100k")?);
    let clients = Clients { count: 1000, popularity: zipf };
    let million = closed(1_000_000, None);
    let of = |population, popularity, hot_set, clients| Workload {
        population,
        popularity,
        hot_set,
        clients,
        ..Workload::default()
    };
    for (what, workload) in [
        ("a million, zipf:0.8", of(million, zipf, None, Clients::ONE)),
        ("… of 1000 clients", of(million, zipf, None, clients)),
        ("… with a hot set", of(million, zipf, hot, Clients::ONE)),
        ("… with drift", of(closed(1_000_000, drift), zipf, None, Clients::ONE)),
        ("a million, uniform", of(million, Popularity::UNIFORM, None, Clients::ONE)),
        ("a billion, zipf:0.8", of(closed(1_000_000_000, None), zipf, None, Clients::ONE)),
        ("open, growing", of(open(WorkingSet::Growing), zipf, None, Clients::ONE)),
        ("open, drifting:100k", of(open(WorkingSet::Drifting(100_000)), zipf, None, Clients::ONE)),
    ] {
        let mut requests = Requests::new(&workload, 1)?;
        let ns = best_ns(|| {
            black_box(requests.next());
        });
        println!("{what:<24}: {ns:>6.1} ns a request, {:>5.1} million a second", 1e3 / ns);
    }
    for sizes in ["13kB", "exp:13kB", "lognormal+pareto:10KiB,1.3,7%,1.1,133kB..50MB"] {
        let mut workload = Workload::default();
        workload.classes[0].sizes = SizeLaw::parse(sizes)?;
        workload.classes[0].changes = "exp:1h".parse()?;
        let catalogue = Catalogue::new(&workload, 1)?;
        let mut number = 0;
        let ns = best_ns(|| {
            black_box(catalogue.object(number));
            number += 1;
        });
        println!("{sizes:<50}: {ns:>6.1} ns an object");
    }
    let object = Catalogue::new(&Workload::default(), 1)?.object(0);
    let mut page = vec![0; usize::try_from(object.size)?];
    let ns = best_ns(|| {
        black_box(object.fill(0, 0, &mut page));
    });
    println!("bytes: {:.1} GB/s", page.len() as f64 / ns);
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

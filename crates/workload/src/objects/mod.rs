//! Synthetic web workloads: which objects there are, and who asks for which of them.
//!
//! A [`Workload`] is a description. With a seed it gives two things that know nothing of each other
//! and yet agree:
//!
//! - [`Requests`]: which object each request asks for, and which client asks. That is the load's
//!   side. *When* requests come is [`Schedule`](crate::schedule::Schedule)'s to say.
//! - [`Catalogue`]: the class, size, age, versions and bytes of any object, from its name alone.
//!   That is the origin's side: it stores nothing.
//!
//! # Popularity
//!
//! Objects of the *working set* have ranks 1, 2, …, m. Rank k is asked for with probability
//! k^(−s) / Σ j^(−s); s = 0 is the same for all. With a *hot set* of a share f of the working set
//! that gets a share p of the requests, ranks 1 to h = max(1, round(f · m)) together get exactly p,
//! the others 1 − p, each side by the same law among its own ranks.
//!
//! # Population
//!
//! *Closed*: N objects, numbered 0 to N − 1; the working set is all of them, and object k − 1 has
//! rank k. With *drift*, each so many requests a share of the objects change their ranks: m of
//! them, at ranks (a + i · b) mod N for i from 0 to m − 1, a and b drawn and b without a common
//! factor with N, move round one place in this row. Every rank changes as often as any other.
//!
//! *Open*: with probability r, the *recurrence*, a request goes to the working set; else it asks
//! for a new object, which nobody asked for before. The n-th new object has number n − 1. The first
//! request of all is for a new one. The working set is
//!
//! - *growing*: all that came so far, the earlier the higher in rank: object k − 1 has rank k;
//! - *frozen* at W: the same until W have come, and these W for ever. What comes later is asked for
//!   once;
//! - *drifting* over W: the newest W. Object n ≥ W takes the place, and the rank, of an older one:
//!   that of rank 1 + ((n − W) · a mod W), a the whole number next to W / φ that has no common
//!   factor with W (φ is the golden ratio). So popular and unpopular ranks change hands evenly over
//!   time, and what came stays for W new objects.
//!
//! # Objects
//!
//! All of an object follows from the seed and its number: see [`Catalogue`] and [`Object`].
//!
//! # Determinism
//!
//! Equal workload and seed give equal requests and objects on every machine. Each purpose draws
//! from a stream of its own, so that other sizes, lives or clients never change which objects are
//! asked for.
//!
//! # Sources
//!
//! Recurrence, working set, hot set and life cycles are those of Web Polygraph 4.9 (Rousskov and
//! Wessels, *High-performance benchmarking with Web Polygraph*, Software: Practice and Experience
//! 34(2), 2004; its reference pages on popularity and on the object life cycle). It differs so:
//! there, a frozen working set keeps its size and goes on moving, which is *drifting* here; its hot
//! set is a stretch of neighbours at a random place that gets its share on top of what it gets
//! anyway. Zipf-like popularity of web objects with exponents below 1: Breslau, Cao, Fan, Phillips
//! and Shenker, *Web caching and Zipf-like distributions*, INFOCOM 1999. Sizes with a lognormal
//! body and a Pareto tail: Barford and Crovella, *Generating representative web workloads*,
//! SIGMETRICS 1998.

mod catalogue;
mod class;
mod clients;
mod drift;
mod error;
mod name;
mod object;
mod popularity;
mod population;
mod ranks;
mod requests;
mod size_law;
mod tailed;
mod window;
mod workload;

pub use catalogue::Catalogue;
pub use class::{Class, Fresh, MAX_LABEL_BYTES};
pub use clients::Clients;
pub use error::WorkloadError;
pub use name::{MAX_NAME_BYTES, number_of, write_name};
pub use object::Object;
pub use popularity::{HotSet, Popularity};
pub use population::{Drift, Population, WorkingSet};
pub use requests::{Request, Requests};
pub use size_law::{MAX_SIZE, SizeLaw};
pub use tailed::Tailed;
pub use workload::Workload;

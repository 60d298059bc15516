//! The plan language: types, defaults, units, validation with positions.
//!
//! A plan is TOML that a person writes. Everything the command line can say can be said in it, and
//! flags go through the same readers ([`Setting`]): a fault points at the line of the file, or at
//! the flag. What comes out is a [`Plan`] whose every value is typed and checked, so that nothing
//! needs to be parsed again; [`Plan::to_toml`] writes it complete, and reads back the same.
//!
//! Reading does no I/O: a caller gives the text, and opens the files that the plan names.
//!
//! ```
//! use plimsoll_plan::{LoadShape, Plan, Setting, Vocabulary, Written};
//! static VOCABULARY: Vocabulary = Vocabulary::EMPTY;
//! let text = "[target]\nurl = \"http://127.0.0.1:8080/\"\n[load]\nusers = 64\nfor = \"30s\"\n";
//! let flags = [Setting::new("load.users", "8", "--users")];
//! let plan = Plan::read(&Written::text(text, "plan.toml", &flags), &VOCABULARY)?;
//! assert!(matches!(plan.load.shape, LoadShape::Closed { users: 8, .. }));
//! let printed = plan.to_toml();
//! let again = Plan::read(&Written::text(&printed, "again.toml", &[]), &VOCABULARY)?;
//! assert_eq!(again, plan);
//! # Ok::<(), plimsoll_plan::PlanErrors>(())
//! ```

// Before all others, which are declared by its macros.
#[macro_use]
mod key;

mod asked;
mod balancer;
mod billing;
mod cache;
mod cache_trace;
mod caches;
mod cluster;
mod collect;
mod comparison;
mod describe;
mod elastic;
mod error;
mod experiment;
mod flag;
mod header;
mod instance;
mod kind;
mod latency;
mod load;
mod load_shape;
mod measure;
mod merged;
mod nested;
mod opened;
mod plan;
mod policies;
mod pool;
mod reading;
mod replay;
mod resolve;
mod roles;
mod schema;
mod search;
mod secret;
mod section;
mod sections;
mod setting;
mod source;
mod status;
mod store;
mod takes;
mod target;
mod testbed;
mod text;
mod top;
mod trace;
mod tree;
mod tune;
mod value;
mod vocabulary;
mod workload;
mod workload_class;
mod write;

pub use asked::{Asked, Auth, Body};
pub use balancer::Balancer;
pub use billing::Billing;
pub use cache::Cache;
pub use cache_trace::CacheTrace;
pub use caches::{CachePlan, CacheRequests, MadeRequests};
pub use cluster::{ClusterPlan, Factor};
pub use collect::Collect;
pub use comparison::CacheComparison;
pub use describe::{Describe, Meant};
pub use elastic::Elastic;
pub use error::{Excerpt, PlanError, PlanErrors, Position};
pub use experiment::{Experiment, FactorPlan, Order};
pub use flag::{Flag, Group};
pub use header::Header;
pub use instance::{Failures, Instance, Service};
pub use key::{Key, SectionKeys};
pub use kind::{PlanKind, compares_caches, kind_of};
pub use latency::{LatencyPlan, Way};
pub use load::{ConnectionLife, Connections, Load, Pacing, TlsResumption};
pub use load_shape::{LoadShape, RateSource};
pub use measure::Measure;
pub use opened::{KeyFault, KeyFaultKind, Written};
pub use plan::Plan;
pub use policies::PolicyPlan;
pub use pool::Pool;
pub use replay::Replay;
pub use resolve::Resolve;
pub use roles::{Place, Places};
pub use schema::schema;
pub use search::{Search, SearchMethod};
pub use secret::Secret;
pub use sections::{all_keys, key_at, sections};
pub use setting::Setting;
pub use status::Statuses;
pub use store::Store;
pub use target::{Http, Target};
pub use testbed::{Provider, Role, Testbed};
pub use trace::{ProfileName, ProfileSource, TraceSource};
pub use tune::{Objective, Tune, Vary};
pub use vocabulary::{Named, Parameter, Vocabulary};
pub use workload::Workload;

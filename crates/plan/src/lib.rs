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

mod caches;
mod chosen;
mod comparison;
mod describe;
mod difference;
mod each;
mod flag;
mod kind;
mod merged;
mod nested;
mod opened;
mod overlay;
mod plan;
mod reading;
mod roles;
mod scenario;
mod schema;
mod section;
mod sections;
mod setting;
mod stored;
mod takes;
mod value;
mod varied;
mod vocabulary;
mod write;

pub use caches::{CachePlan, CacheRequests, MadeRequests};
pub use comparison::CacheComparison;

pub use difference::differences;
pub use flag::{Flag, Group};
pub use key::{Key, SectionKeys};
pub use kind::{PlanKind, compares_caches, kind_of};
pub use opened::{KeyFault, KeyFaultKind, Written};
pub use plan::Plan;
pub use reading::Unfilled;
pub use reading::error::{Excerpt, PlanError, PlanErrors, Position};
pub use reading::secret::Secret;
pub use reading::standing::{Place, Places};
pub use roles::{Environment, with_variables};
pub use scenario::{WrittenScenario, read_scenario, schema as scenario_schema};
pub use schema::schema;
pub use sections::balancer::Balancer;
pub use sections::billing::Billing;
pub use sections::cache::Cache;
pub use sections::cache_trace::CacheTrace;
pub use sections::cluster::{ClusterPlan, Factor};
pub use sections::collect::Collect;
pub use sections::constraint::{Condition, Constraint};
pub use sections::elastic::Elastic;
pub use sections::experiment::{Between, Experiment, FactorPlan, Order};
pub use sections::fleet::Fleet;
pub use sections::header::Header;
pub use sections::hosts::Host;
pub use sections::instance::{Failures, Instance, InstanceType, Service};
pub use sections::latency::{LatencyPlan, Way};
pub use sections::link::Link;
pub use sections::load::{ConnectionLife, Connections, Load, Pacing, TlsResumption, WarmUp};
pub use sections::load_shape::{Length, LoadShape, RateSource};
pub use sections::measure::Measure;
pub use sections::own_factors::{NO_LEVEL, POLICY, TYPE};
pub use sections::policies::PolicyPlan;
pub use sections::pool::{Follow, Pool};
pub use sections::proxy::Proxy;
pub use sections::replay::Replay;
pub use sections::request_source::{Auth, Body, RequestSource};
pub use sections::resolve::Resolve;
pub use sections::search::{Search, SearchMethod};
pub use sections::status::Statuses;
pub use sections::store::Store;
pub use sections::target::{Addresses, Http, Target};
pub use sections::testbed::{Budget, Copied, Given, Provider, REGION, Role, Testbed};
pub use sections::trace::{ProfileName, ProfileSource, TraceSource};
pub use sections::tune::{Objective, Tune, Vary};
pub use sections::watch::Watch;
pub use sections::workload::Workload;
pub use sections::{all_keys, key_at, sections};
pub use setting::Setting;
pub use stored::{moved, speed_of, starts_at_of};
pub use varied::Varied;
pub use vocabulary::{Named, Vocabulary};

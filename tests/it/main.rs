//! The program as its users meet it: the built binary, driven against `plimsoll target` on ports of
//! its own, each test in a folder of its own.
//!
//! Tests that hold upper bounds of time stand in `tests/timed`; nothing else asserts how fast
//! anything is. Where a machine is too busy to measure on, a run ends with 5 (not valid), which is
//! right: such a run is tried again up to three times, and reported so; tests about something else
//! then go on with it, tests about a verdict report that they could not judge.
//!
//! How much of the machine a test takes is said by its [`place::Place`]; what it needs of the host
//! and does not find is reported by `plimsoll_testing`, never decided by the program under test.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::disallowed_methods, reason = "tests start processes and wait for them")]

mod addresses;
mod adopting;
mod agent;
mod answers;
mod asked;
mod bad_input;
mod baking;
mod balancers;
mod balancing;
mod baselines;
mod beginnings;
mod between;
mod bus;
mod cache;
mod campaigns;
mod capacity;
mod charts;
mod checks;
mod ci;
mod clean;
mod client_certificates;
mod cloud;
mod clusters;
mod comparing;
mod crash;
mod databases;
mod encrypted;
mod exit_codes;
mod experiments;
mod figures;
mod first_words;
mod fleet;
mod fleet_cells;
mod following;
mod for_ever;
mod forward_proxies;
mod full_disk;
mod hlog;
mod infer;
mod inputs;
mod interrupt;
mod json;
mod kept_inputs;
mod kinds;
mod kubernetes;
mod labels;
mod links;
mod local_limits;
mod logs;
mod market;
mod mediawiki;
mod names;
mod nginx;
mod otlp;
mod own_folders;
mod packages;
mod paths;
mod place;
mod plans;
mod pool_changes;
mod pool_metrics;
mod pools;
mod program;
mod prometheus;
mod published_types;
mod rabbit;
mod ranked;
mod reading;
mod reconnecting;
mod recorded_load;
mod recording;
mod redirects;
mod restarts;
mod runs_of_0_1;
mod runs_of_plans;
mod same_messages;
mod scenarios;
mod secrets;
mod series;
mod serving;
mod shoal;
mod shoal_amqp;
mod shoal_apply;
mod shoal_import;
mod shoal_proxy;
mod simulate;
mod ssh;
mod standing;
mod steering;
mod stores;
mod subjects;
mod testbed_secrets;
mod testbeds;
mod touches;
mod traces;
mod transport;
mod understood;
mod users;
mod users_http2;
mod warm_up;
mod watching;
mod web;
mod websocket_load;
mod websocket_peer;
mod websocket_servers;
mod websocket_tls;
mod wsbench;

#[path = "../timed/mod.rs"]
mod timed;

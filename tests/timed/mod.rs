//! Tests that hold upper bounds of time: something has to be sooner, shorter or faster than so
//! much, a latency or a rate lies within so much of a value, a process takes no more than a share
//! of a core, a sample is late by no more than this. Every other test is right on a machine that is
//! busy; these are not, and so they come behind all others: three at a time, and one that fails so,
//! alone.
//!
//! Generous limits of patience, and bounds from below, stand where the rest of their subject does.

mod agent;
mod baking;
mod balancers;
mod between;
mod capacity;
mod cloud;
mod infer;
mod labels;
mod links;
mod names;
mod network;
mod path_truth;
mod pools;
mod quota;
mod redirects;
mod restarts;
mod series;
mod server_limit;
mod shoal_example;
mod testbeds;
mod users;
mod valid;
mod watching;
mod web;
mod websocket;

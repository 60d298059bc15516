//! The collectors against committed fixtures (a virtual x86 host, a board that has little to tell,
//! cgroups), against this host, and against real servers.

#![cfg(test)]

mod collectors;
mod documented;
mod host;
mod loads;
mod probe;
mod sampling;
mod servers;
mod services;
mod states;

//! The collectors against committed fixtures: a virtual x86 host, and a board that has little to
//! tell.

#![cfg(test)]

mod collectors;
mod probe;

//! The live pool in time that is moved by hand, before servers and a balancer that obey the test.
//!
//! | module | what |
//! | --- | --- |
//! | `time` | time that is moved by hand, and the turns of the pool's threads |
//! | `servers` | servers whose starts and ends come to what the test says |
//! | `balancer` | a balancer with the manners of the real ones |
//! | `world` | a pool of these, and what its threads are given to do |
//! | `what_fails` | a test for each row of "What fails" in `docs/pools.md`, and for each fault found |
//! | `coming_back` | what a killed controller has left, and what a pool came to |
//! | `rules` | what holds of every pool, worked out from the manual |
//! | `seeds` | any order of ready, failed, gone and refused, in 256 seeds |
//! | `following` | the same of instances that somebody else starts and ends |

mod balancer;
mod coming_back;
mod following;
mod rules;
mod seeds;
mod servers;
mod time;
mod what_fails;
mod world;

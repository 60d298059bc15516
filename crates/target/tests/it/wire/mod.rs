//! The server over raw sockets. Nothing here sleeps or asserts a time: where one thing must come
//! after another, a refused request on a connection of its own serves as a barrier, since the
//! server answers it at once, and after everything that reached it before.

mod behaviour;
mod client;
mod counters;
mod http;
mod life;
mod sessions;

//! Who is served, in which order.

mod chance;
mod distance;
mod exact;
mod own;
mod shoal;

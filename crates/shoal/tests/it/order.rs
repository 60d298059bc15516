//! Who is served, in which order.

mod chance;
mod exact;
mod own;
mod shoal;

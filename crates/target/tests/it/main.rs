//! The target as others see it: its queue against theory and against plain recursion, its HTTP
//! through raw sockets.

#![expect(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "tests may panic")]

mod formulas;
mod queue;
mod reader;
mod wire;

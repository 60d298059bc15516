//! A fleet before workers that do not do as they should. Real ones are in the program's own tests.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod cells;
mod liars;

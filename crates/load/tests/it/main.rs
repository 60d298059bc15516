//! What the engine does on the wire.

mod http1;
mod play;

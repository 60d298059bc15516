//! What the registry must do.

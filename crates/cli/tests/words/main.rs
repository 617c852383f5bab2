//! What the binary says.

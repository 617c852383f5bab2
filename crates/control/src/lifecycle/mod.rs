//! The life of a claim: launched, registered, initialized, and in the end drained and terminated.
//!
//! [`step`] is pure: from a claim, what is seen of its machine and its node, and the time, it says what the claim's
//! status should be and the one thing to do next. The [`Shell`] around it writes the status first, does that one thing,
//! and steps again with the answer. Wherever the process is killed, the next one finds the same claim and goes on.

mod closely;
mod draft;
mod drain;
mod effects;
mod exit;
mod leaving;
mod living;
mod memory;
mod node;
mod node_effects;
mod nomination;
mod shell;
mod step;
#[cfg(test)]
mod tests;
mod together;

pub use drain::{Blocked, DrainProgress};
pub use exit::{Count, Exit};
pub use memory::{Absence, Memory, Outlook};
pub(crate) use node_effects::delete_node;
pub use nomination::{BeforeOpening, Nominations};
pub(crate) use nomination::{nominate, waits_for};
pub use shell::Shell;
pub use step::{Answer, Effect, Observation, Step, Times, step};

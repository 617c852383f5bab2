//! A controller in a few lines, once right and once with a planted bug, for each invariant.

mod budgets;
mod demand;
mod foreign;
mod limits;
mod machines;
mod objects;
mod progress;
mod replacements;
mod script;
mod storms;

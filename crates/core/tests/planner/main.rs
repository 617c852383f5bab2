//! What the planner does, seen from outside: a cluster is described, a plan is made, and what it leads to is looked at.

#[cfg(test)]
mod anything;
#[cfg(test)]
mod arriving;
#[cfg(test)]
mod budgets;
#[cfg(test)]
mod cluster;
#[cfg(test)]
mod consolidation;
#[cfg(test)]
mod driven;
#[cfg(test)]
mod empty;
#[cfg(test)]
mod existing;
#[cfg(test)]
mod explained;
#[cfg(test)]
mod future;
#[cfg(test)]
mod launching;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod minimum;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod referee;
#[cfg(test)]
mod shapes;
#[cfg(test)]
mod sick;
#[cfg(test)]
mod stores;
#[cfg(test)]
mod wild;
#[cfg(test)]
#[path = "../scheduling/workload.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod workload;

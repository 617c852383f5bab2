//! What becomes of nodes that are not needed or could be cheaper: one file for each thing that is looked at. What is
//! decided is also carried out, and must not be taken back where nothing has changed.

#[cfg(test)]
mod arriving;
#[cfg(test)]
mod asked;
#[cfg(test)]
mod budgets;
#[cfg(test)]
mod capacity_types;
#[cfg(test)]
mod carrying_out;
#[cfg(test)]
mod clearing;
#[cfg(test)]
#[path = "../planner/cluster.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod cluster;
#[cfg(test)]
mod drift;
#[cfg(test)]
mod expiration;
#[cfg(test)]
mod fixed;
#[cfg(test)]
#[path = "../planner/future.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod future;
#[cfg(test)]
mod headroom;
#[cfg(test)]
mod kept;
#[cfg(test)]
mod left_alone;
#[cfg(test)]
mod nodes;
#[cfg(test)]
mod paces;
#[cfg(test)]
mod pod_budgets;
#[cfg(test)]
mod pools;
#[cfg(test)]
mod reasons;
#[cfg(test)]
mod replacing;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod several;
#[cfg(test)]
#[path = "../planner/shapes.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod shapes;
#[cfg(test)]
#[path = "../scheduling/workload.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod workload;

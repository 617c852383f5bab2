//! What kube-scheduler looks at, and that the planner looks at it the same way: one file for each thing. Every plan that a
//! test makes is also held against what the scheduler would do with it.

#[cfg(test)]
mod affinity;
#[cfg(test)]
mod anti_affinity;
#[cfg(test)]
#[path = "../planner/cluster.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod cluster;
#[cfg(test)]
mod daemonsets;
#[cfg(test)]
mod existing_nodes;
#[cfg(test)]
#[path = "../planner/future.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod future;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod offerings;
#[cfg(test)]
mod outcome;
#[cfg(test)]
mod pools;
#[cfg(test)]
mod ports;
#[cfg(test)]
mod preferences;
#[cfg(test)]
mod priorities;
#[cfg(test)]
#[path = "../planner/referee.rs"]
mod referee;
#[cfg(test)]
mod report;
#[cfg(test)]
mod requirements;
#[cfg(test)]
mod resources;
#[cfg(test)]
#[path = "../planner/shapes.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod shapes;
#[cfg(test)]
mod spread_combined;
#[cfg(test)]
mod spread_host;
#[cfg(test)]
mod spread_zone;
#[cfg(test)]
mod taints;
#[cfg(test)]
mod volumes;
#[cfg(test)]
mod workload;

use std::fmt::Write as _;

/// What is to be done about a machine that another autoscaler has launched. Windlass takes over a machine only if it bears the
/// tags that it gives to those it launches itself, of the cluster and of the claim, so that it never ends a stranger's.
pub(crate) fn of(owner: &str, machine: Option<&str>, node: Option<&str>, pool: Option<&str>) -> String {
    let mut words = String::from("its machine");
    // Writing to a String cannot fail.
    if let Some(machine) = machine {
        let _ = write!(words, " {machine}");
    }
    if let Some(node) = node {
        let _ = write!(words, " (node {node})");
    }
    let _ = write!(words, " stays with {owner}, for Windlass manages only what it has launched itself. ");
    let pool = pool.map_or_else(|| "its pool".to_owned(), |pool| format!("pool {pool}"));
    let _ = write!(words, "Once {pool} is ready here: ");
    if let Some(node) = node {
        let _ = write!(words, "kubectl drain {node} --ignore-daemonsets --delete-emptydir-data, ");
    }
    let _ = write!(words, "and delete this object while {owner} still runs, so that it ends the machine");
    words
}

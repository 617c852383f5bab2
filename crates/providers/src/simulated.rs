//! Machines that exist only as records in the cluster.

//! Every reason for which nodes go: it is in the plan, and a line in the report says why.

use std::time::Duration;

use windlass_core::model::{DisruptionReason, Pool};

use crate::cluster::Cluster;
use crate::nodes::{half_empty, half_empty_in, large, small};
use crate::shapes::pool;

fn plain() -> Pool {
    pool("general", vec![small(), large()])
}

/// A cluster in which the node of claim `a` goes for this reason, and how the report says so.
fn going(reason: DisruptionReason) -> (Cluster, &'static str) {
    match reason {
        DisruptionReason::Empty => (Cluster::new([plain()]).small("a"), "empty for "),
        DisruptionReason::Underutilized => (half_empty("ab", 500), "1 pod of 1 node can move to others"),
        DisruptionReason::Drifted => {
            let old = half_empty_in(plain(), "a", 1500);
            (old.claim_but("a", |claim| claim.drift = Some("an old image".into())), "drifted: an old image")
        }
        DisruptionReason::Expiring => {
            let pool = Pool { expire_after: Some(Duration::from_secs(900)), ..plain() };
            (half_empty_in(pool, "a", 1500), "expiring: its time is over at ")
        }
        DisruptionReason::Surplus => {
            let pool = Pool { replicas: Some(0), ..plain() };
            (Cluster::new([pool]).small("a"), "surplus: its pool is to have 0 nodes")
        }
        DisruptionReason::Manual => {
            let asked = half_empty_in(plain(), "a", 1500).claim_but("a", |claim| claim.asked_to_go = true);
            (asked, "manual: somebody asked for another in its place")
        }
        DisruptionReason::Sick => {
            let sick = half_empty_in(plain(), "a", 1500).not_ready("a", 0);
            let sick = sick.small("b").claim_but("a", |claim| claim.disrupted = Some(DisruptionReason::Sick));
            (sick, "sick; all its pods can go to other nodes")
        }
    }
}

#[test]
fn every_reason_has_a_line_in_the_report() {
    for reason in DisruptionReason::ALL {
        let (cluster, says) = going(reason);
        let (plan, report) = cluster.plan();
        let going: Vec<_> = plan.going().map(|(claim, why, _)| (&**claim, why)).collect();
        assert_eq!(going, [("a", reason)]);
        let line = report.nodes.iter().find(|line| &*line.claim == "a").expect("a line for each claim");
        assert!(line.goes && line.why.starts_with(says), "{reason:?}: {line:?}");
    }
}

#[test]
fn every_reason_is_read_as_it_is_written() {
    for reason in DisruptionReason::ALL {
        assert_eq!(reason.as_str().parse(), Ok(reason));
    }
}

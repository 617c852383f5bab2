//! The controller is killed while it does what Cluster Autoscaler ordered.

use std::sync::{Arc, Mutex};

use serde_json::json;
use windlass_control::groups::{InstanceState, NodeGroups as _, PoolGroups};
use windlass_testkit::invariants::{Invariant, Kind, ObjectName};
use windlass_testkit::{ControlPlane, eventually};

use crate::faults::Faults;
use crate::lab::{Lab, PATIENCE};
use crate::station::fake;
use crate::steps::{calm_lab, start};
use crate::trap::{Side, Trap};

/// The groups of whichever controller is at work.
#[derive(Clone)]
struct Line(Arc<Mutex<PoolGroups>>);

impl Line {
    fn now(&self) -> PoolGroups {
        self.0.lock().unwrap().clone()
    }
}

/// Brings the group to so many nodes as Cluster Autoscaler does: it looks at the target, orders what is missing or too much,
/// and where it hears of an error looks again.
async fn reach(line: &Line, group: &str, wanted: u32) {
    eventually(&format!("a target of {wanted}"), PATIENCE, async || {
        let groups = line.now();
        let target = groups.target_size(group).map_err(|error| error.to_string())?;
        if target < wanted {
            groups.increase(group, wanted - target).await.map_err(|error| error.to_string())?;
        }
        let staying = groups.instances(group).map_err(|error| error.to_string())?;
        let staying = staying.iter().filter(|instance| instance.state != InstanceState::Deleting);
        let extra = usize::try_from(target.saturating_sub(wanted)).unwrap();
        let extra: Vec<_> = staying.take(extra).map(|instance| fake(&instance.id)).collect();
        if !extra.is_empty() {
            groups.delete_nodes(group, &extra).await.map_err(|error| error.to_string())?;
        }
        let target = groups.target_size(group).map_err(|error| error.to_string())?;
        if target == wanted { Ok(()) } else { Err(format!("{target}")) }
    })
    .await;
}

/// Two nodes come, and go again.
async fn life(lab: &Lab, line: &Line) {
    let group = format!("{}/four/zone-a/on-demand", lab.named("pool"));
    reach(line, &group, 2).await;
    lab.ready_claims(2).await;
    assert_eq!((lab.machines().await.len(), lab.nodes().await.len()), (2, 2));
    reach(line, &group, 0).await;
    lab.everything_is_gone().await;
}

/// Lives, each with a crash at its k-th effect, until one has fewer effects than that. The pool takes no more than two nodes,
/// so that what comes twice is seen at once.
async fn killed_at_each(plane: Arc<ControlPlane>, name: &str, side: Side) {
    let lab = calm_lab(plane, name).await;
    lab.plain_provider(&json!({"bootDelay": "0s"})).await;
    lab.pool("pool", &json!({"driver": "ClusterAutoscaler", "limits": {"nodes": 2}})).await;
    for object in [(Kind::NodePool, lab.named("pool")), (Kind::NodeProvider, lab.named("sim"))] {
        lab.watcher().excuse(Invariant::NoWriteStorm, ObjectName::new(object.0, object.1));
    }
    let mut at = 1;
    loop {
        let (faults, trap) = (Faults::default(), Trap::default());
        trap.set(&faults, at, side);
        let mut running = start(&lab, &faults);
        let line = Line(Arc::new(Mutex::new(running.groups.clone())));
        let crashed = {
            let mut whole_life = std::pin::pin!(life(&lab, &line));
            tokio::select! {
                () = &mut whole_life => false,
                () = trap.sprung.notified() => {
                    running.crash().await;
                    faults.heal();
                    running = start(&lab, &faults);
                    *line.0.lock().unwrap() = running.groups.clone();
                    whole_life.await;
                    true
                }
            }
        };
        running.crash().await;
        if !crashed {
            break;
        }
        at += 1;
    }
    assert!(at > 20, "two lives have more effects than {at}");
    lab.finish().await;
}

pub async fn a_controller_killed_before_any_effect_of_an_increase_and_a_deletion_leaves_the_target_as_it_is_told(
    plane: Arc<ControlPlane>,
) {
    killed_at_each(plane, "killed-before", Side::Before).await;
}

pub async fn a_controller_killed_after_any_effect_of_an_increase_and_a_deletion_leaves_the_target_as_it_is_told(
    plane: Arc<ControlPlane>,
) {
    killed_at_each(plane, "killed-after", Side::After).await;
}

//! What is left when the process dies.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use windlass_providers::Provider;
use windlass_providers::redfish::Pace;
use windlass_testkit::ControlPlane;

use crate::bmc::Bmc;
use crate::lab::{Lab, end, launch, request};

async fn lab(plane: &ControlPlane, name: &str, bmc: &Bmc) -> Lab {
    let mut lab = Lab::new(plane, name, bmc.spec()).await;
    // What may not have been asked is asked again at once.
    lab.pace = Pace { repeat: Duration::ZERO, poll: Duration::from_millis(10), ..lab.pace };
    lab
}

pub async fn a_launch_killed_after_any_effect_leaves_one_host(plane: Arc<ControlPlane>) {
    let bmc = Bmc::start(&["kl-a", "kl-b", "kl-c"]).await;
    let lab = lab(&plane, "killed-launch", &bmc).await;
    let offering = lab.offering().await;
    for number in 1.. {
        let (web, other) =
            (request(offering.clone(), &format!("web-{number}")), request(offering.clone(), "other"));
        let mortal = lab.provider_at(bmc.effects.counting(lab.client.clone()), lab.pace);
        bmc.effects.stop_after(number);
        let lived = tokio::select! {
            machine = launch(&*mortal, &web) => Some(machine),
            () = bmc.effects.reached() => None,
        };
        bmc.effects.go_on();
        drop(mortal);
        // Another claim comes first when the process is back.
        let other = launch(&*lab.provider(), &other).await;
        let machine = launch(&*lab.provider(), &web).await;
        let mut expected = [&other, &machine].map(|machine| machine.node_name.clone().unwrap().to_string());
        expected.sort();
        assert_eq!(bmc.on(), expected, "killed after effect {number}");
        for machine in [machine, other] {
            end(&*lab.provider(), &machine).await;
        }
        assert_eq!((bmc.on(), lab.ledger().await), (vec![], json!({})), "killed after effect {number}");
        if lived.is_some() {
            assert!(number > 10, "a launch has more effects than {number}");
            break;
        }
    }
    assert_eq!(bmc.state().complaints, [""; 0]);
}

pub async fn an_end_killed_after_any_effect_leaves_no_host_on(plane: Arc<ControlPlane>) {
    let bmc = Bmc::start(&["ke-a"]).await;
    let lab = lab(&plane, "killed-end", &bmc).await;
    for number in 1.. {
        let machine = launch(&*lab.provider(), &lab.request(&format!("web-{number}")).await).await;
        let mortal = lab.provider_at(bmc.effects.counting(lab.client.clone()), lab.pace);
        bmc.effects.stop_after(number);
        let lived = tokio::select! {
            () = end(&*mortal, &machine) => true,
            () = bmc.effects.reached() => false,
        };
        bmc.effects.go_on();
        drop(mortal);
        end(&*lab.provider(), &machine).await;
        assert_eq!((bmc.on(), lab.ledger().await), (vec![], json!({})), "killed after effect {number}");
        assert_eq!(lab.provider().list().await, Ok(vec![]));
        if lived {
            assert!(number > 5, "an end has more effects than {number}");
            return;
        }
    }
}

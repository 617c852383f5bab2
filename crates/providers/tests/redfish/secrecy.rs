//! Credentials are shown to nobody but the BMC.

use std::sync::Arc;
use std::time::Duration;

use windlass_providers::Provider;
use windlass_providers::redfish::Pace;
use windlass_testkit::ControlPlane;

use crate::bmc::{Bmc, Fault};
use crate::lab::{Lab, PASSWORD, end, launch};

pub async fn credentials_are_in_no_words_whatever_a_bmc_repeats(plane: Arc<ControlPlane>) {
    let bmc = Bmc::start(&["secret"]).await;
    let mut lab = Lab::new(&plane, "secret", bmc.spec()).await;
    lab.pace = Pace { wait: Duration::ZERO, ..lab.pace };
    let request = lab.request("web").await;
    let mut said = Vec::new();
    for (call, id) in [("login", ""), ("look", "secret"), ("boot", "secret"), ("reset", "secret")] {
        for status in [400, 401, 403, 404, 500] {
            let provider = lab.provider();
            bmc.fault(call, id, Fault::Answers(status));
            said.push(format!("{:?}", provider.launch(&request).await));
            said.push(format!("{:?}", provider.inventory().await));
            said.push(format!("{:?}", provider.list().await));
            said.push(format!("{provider:?}"));
            said.push(lab.ledger().await.to_string());
            bmc.heal();
            lab.later(120);
            for machine in provider.list().await.unwrap() {
                end(&*lab.provider(), &machine).await;
            }
            lab.later(120);
        }
    }
    "another".clone_into(&mut bmc.state().password);
    said.push(format!("{:?}", lab.provider().inventory().await));
    for each in &said {
        for canary in ["canary-of-a-password", "canary-of-a-token", "Y2FuYXJ5"] {
            assert!(!each.contains(canary), "{each}");
        }
    }
    assert!(said.iter().any(|each| each.contains("(hidden)")), "the BMC repeats it: {said:?}");
    PASSWORD.clone_into(&mut bmc.state().password);
    launch(&*lab.provider(), &request).await;
}

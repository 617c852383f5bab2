//! What is left when the process dies.

use std::sync::Arc;

use windlass_providers::Provider;
use windlass_testkit::ControlPlane;

use crate::lab::{Lab, end, launch, request};

pub async fn a_launch_killed_after_any_request_leaves_one_machine(plane: Arc<ControlPlane>) {
    for lab in [Lab::new(&plane, "killed-launch").await, Lab::cloning(&plane, "killed-clone").await] {
        for number in 1.. {
            let request = request(&format!("web-{number}"));
            let mortal = lab.provider();
            lab.fake.faults().stop_after(number);
            let lived = tokio::select! {
                machine = mortal.launch(&request) => Some(machine.unwrap()),
                () = lab.fake.faults().reached() => None,
            };
            lab.fake.faults().go_on();
            let machine = launch(&*lab.provider(), &request).await;
            assert_eq!(lab.ids().len(), 1, "killed after request {number}");
            assert_eq!(
                lab.provider().list().await,
                Ok(vec![machine.clone()]),
                "killed after request {number}"
            );
            end(&*lab.provider(), &machine).await;
            assert!(lab.ids().is_empty(), "killed after request {number}");
            if lived.is_some() {
                assert!(number > 8, "a launch has more requests than {number}");
                break;
            }
        }
    }
}

pub async fn an_end_killed_after_any_request_leaves_none(plane: Arc<ControlPlane>) {
    let lab = Lab::cloning(&plane, "killed-end").await;
    for number in 1.. {
        let machine = launch(&*lab.provider(), &request(&format!("web-{number}"))).await;
        let mortal = lab.provider();
        lab.fake.faults().stop_after(number);
        let lived = tokio::select! {
            () = end(&*mortal, &machine) => true,
            () = lab.fake.faults().reached() => false,
        };
        lab.fake.faults().go_on();
        end(&*lab.provider(), &machine).await;
        assert!(lab.ids().is_empty(), "killed after request {number}");
        assert_eq!(lab.provider().list().await, Ok(vec![]));
        if lived {
            assert!(number > 6, "an end has more requests than {number}");
            return;
        }
    }
}

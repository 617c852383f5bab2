//! Everything at once.

use std::sync::Arc;

use fastrand::Rng;
use futures::stream::{self, StreamExt as _};
use windlass_providers::{LaunchRequest, Provider};
use windlass_testkit::ControlPlane;

use crate::lab::{Lab, end, launch, request_on};

const CLAIMS: usize = 30;
const WORKERS: usize = 4;
const FAULTS: u32 = 20;
const CRASHES: usize = 10;

pub async fn many_claims_have_one_machine_each_whatever_goes_wrong(plane: Arc<ControlPlane>) {
    for (seed, mut lab) in
        [(1, Lab::new(&plane, "chaos").await), (2, Lab::cloning(&plane, "chaos-clone").await)]
    {
        lab.spec["cpuOvercommit"] = "4".into();
        lab.fake.world().hosts.values_mut().for_each(|host| host.memory_mib = 256 << 10);
        let requests: Vec<LaunchRequest> = (0..CLAIMS)
            .map(|number| request_on(["pve1", "pve2"][number % 2], &format!("web-{number}")))
            .collect();
        let mut rng = Rng::with_seed(seed);
        lab.fake.faults().strike(seed, FAULTS, 12);
        for _ in 0..CRASHES {
            let provider = lab.provider();
            lab.fake.faults().stop_after(rng.u32(20..150));
            let all = stream::iter(&requests).for_each_concurrent(WORKERS, async |request| {
                _ = provider.launch(request).await;
            });
            tokio::select! {
                () = all => {}
                () = lab.fake.faults().reached() => {}
            }
            lab.fake.faults().go_on();
        }
        let provider = lab.provider();
        let machines: Vec<_> = stream::iter(&requests)
            .map(async |request| launch(&*provider, request).await)
            .buffer_unordered(WORKERS)
            .collect()
            .await;
        assert_eq!((machines.len(), lab.ids().len()), (CLAIMS, CLAIMS), "seed {seed}");
        assert!(lab.fake.faults().left() < FAULTS, "seed {seed}: nothing went wrong");
        let mut listed = lab.provider().list().await.unwrap();
        listed.sort_by(|a, b| a.tag.cmp(&b.tag));
        let mut expected = machines.clone();
        expected.sort_by(|a, b| a.tag.cmp(&b.tag));
        assert_eq!(listed, expected, "seed {seed}");
        assert!(
            lab.fake
                .world()
                .vms
                .range(5000..)
                .all(|(_, vm)| vm.is_running || vm.config.contains_key("template"))
        );
        stream::iter(&machines)
            .for_each_concurrent(WORKERS, async |machine| end(&*provider, machine).await)
            .await;
        assert!(lab.ids().is_empty(), "seed {seed}");
    }
}

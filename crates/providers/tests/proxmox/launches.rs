//! Machines from launch to end.

use std::sync::Arc;

use windlass_providers::{ErrorKind, Provider, ProviderError, Termination};
use windlass_testkit::ControlPlane;

use crate::lab::{Lab, end, launch, request};

pub async fn a_launch_makes_a_machine_that_boots_from_the_network_and_its_end_deletes_it(
    plane: Arc<ControlPlane>,
) {
    let lab = Lab::new(&plane, "simple").await;
    let provider = lab.provider();
    let machine = provider.launch(&request("web-1")).await.unwrap();
    assert_eq!(machine.node_name.as_deref(), Some("web-1"));
    assert_eq!((machine.price.to_string().as_str(), &*machine.offering.zone), ("0.05", "pve1"));
    let [id] = lab.ids()[..] else { panic!("{:?}", lab.ids()) };
    {
        let world = lab.fake.world();
        let vm = &world.vms[&id];
        let config = |key: &str| vm.config[key].as_str();
        assert!(vm.is_running && vm.host == "pve1", "{vm:?}");
        assert_eq!(
            (config("name"), config("cores"), config("memory"), config("cpu")),
            ("web-1", "2", "4096", "host")
        );
        assert_eq!(
            (config("boot"), config("scsi0")),
            ("order=net0", format!("local:vm-{id}-disk-0,size=8G").as_str())
        );
        assert!(
            config("net0").starts_with("virtio=BC:24:11:")
                && config("net0").ends_with(",bridge=vmbr0,tag=12")
        );
        assert!(
            config("tags").starts_with("windlass;windlass-of-") && config("tags").ends_with(";kubernetes")
        );
        assert!(config("description").contains("uid-of-web-1"), "{}", config("description"));
    }
    assert_eq!(provider.list().await, Ok(vec![machine.clone()]));
    assert_eq!(provider.get(&machine.provider_id).await, Ok(machine.clone()));
    assert_eq!(provider.terminate(&machine.provider_id, &machine.tag).await, Ok(Termination::Gone));
    assert_eq!((lab.ids(), provider.list().await), (vec![], Ok(vec![])));
    let error = provider.terminate(&machine.provider_id, &machine.tag).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let log = lab.fake.world().requests.join("\n");
    let (stop, delete) = (log.find("status/stop").unwrap(), log.find("DELETE nodes").unwrap());
    assert!(log[stop..delete].contains("qmstop"), "the stop is awaited before the deletion: {log}");
}

pub async fn a_claim_that_asks_again_has_one_machine(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "again").await;
    let machine = lab.provider().launch(&request("web")).await.unwrap();
    let mut elsewhere = request("web");
    elsewhere.offering.zone = "pve2".into();
    assert_eq!(lab.provider().launch(&elsewhere).await, Ok(machine));
    let (one, other) = (lab.provider(), lab.provider());
    let (claim, same) = (request("api"), request("api"));
    let (first, second) = tokio::join!(launch(&*one, &claim), launch(&*other, &same));
    assert_eq!(first.provider_id, second.provider_id);
    assert_eq!(lab.ids().len(), 2);
}

pub async fn an_id_that_somebody_else_takes_is_left_to_them(plane: Arc<ControlPlane>) {
    let mut lab = Lab::new(&plane, "taken").await;
    lab.spec["vmids"] = serde_json::json!({"first": 5000, "last": 5003});
    // Their machines are not shown to the token.
    let theirs =
        windlass_testkit::proxmox::FakeVm { host: "pve2".to_owned(), is_running: true, ..Default::default() };
    for id in [5000, 5001, 5002] {
        lab.fake.world().vms.insert(id, theirs.clone());
    }
    {
        let mut world = lab.fake.world();
        let privileges = windlass_testkit::proxmox::PRIVILEGES.map(str::to_owned).to_vec();
        let unseen: Vec<String> = privileges.iter().filter(|each| *each != "VM.Audit").cloned().collect();
        world.tokens.values_mut().for_each(|token| {
            token.grants = [
                ("/vms/5003".to_owned(), privileges.clone()),
                ("/pool/nodes".to_owned(), vec!["VM.Audit".to_owned()]),
                ("/".to_owned(), unseen.clone()),
            ]
            .into();
        });
    }
    lab.spec["pool"] = "nodes".into();
    lab.provider().launch(&request("web")).await.unwrap();
    let world = lab.fake.world();
    assert_eq!(world.vms[&5003].config["name"], "web");
    assert!([5000, 5001, 5002].iter().all(|id| world.vms[id] == theirs));
}

pub async fn a_task_that_fails_is_tried_again_and_a_lock_is_waited_for(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "failing").await;
    let locked = "can't lock file '/var/lock/qemu-server/lock-5000.conf' - got timeout".to_owned();
    for kind in ["qmcreate", "qmstart", "qmstop", "qmdestroy"] {
        lab.fake
            .world()
            .failing_tasks
            .insert(kind.to_owned(), vec!["interrupted by signal".to_owned(), locked.clone()]);
    }
    let provider = lab.provider();
    let error = provider.launch(&request("web")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transient, "{error}");
    assert!(error.to_string().contains("interrupted by signal"), "{error}");
    let machine = launch(&*provider, &request("web")).await;
    assert_eq!(lab.ids().len(), 1);
    end(&*provider, &machine).await;
    assert!(lab.ids().is_empty());
    assert!(lab.fake.world().failing_tasks.values().all(Vec::is_empty));
}

pub async fn a_launch_that_takes_longer_is_under_way_and_goes_on_when_asked_again(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "slow").await;
    lab.fake.world().task_length = 30;
    let error = lab.impatient().launch(&request("web")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transient, "{error}");
    assert!(error.to_string().contains("under way"), "{error}");
    let machine = launch(&*lab.impatient(), &request("web")).await;
    assert_eq!(lab.ids().len(), 1);
    let ended = lab.impatient().terminate(&machine.provider_id, &machine.tag).await;
    assert_eq!(ended, Ok(Termination::UnderWay));
    end(&*lab.impatient(), &machine).await;
    assert!(lab.ids().is_empty());
}

pub async fn a_host_that_is_full_has_no_capacity(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "full").await;
    let provider = lab.provider();
    let large = |claim: &str| {
        let mut request = request(claim);
        request.offering.instance_type = "4cpu-8gi".into();
        request
    };
    let requests: Vec<_> = (0..6).map(|number| large(&format!("web-{number}"))).collect();
    let launched = futures::future::join_all(requests.iter().map(|request| provider.launch(request))).await;
    let (made, refused): (Vec<_>, Vec<_>) = launched.into_iter().partition(Result::is_ok);
    assert_eq!((made.len(), refused.len(), lab.ids().len()), (4, 2, 4), "16 cores: {refused:?}");
    for error in refused {
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InsufficientCapacity, "{error}");
        assert!(error.to_string().contains("pve1"), "{error}");
    }
    let mut nowhere = request("nowhere");
    nowhere.offering.zone = "pve9".into();
    let error = provider.launch(&nowhere).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InsufficientCapacity, "{error}");
}

pub async fn a_machine_that_cannot_be_started_is_removed(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "unstartable").await;
    let why = "start failed: kvm: cannot set up guest memory: Cannot allocate memory".to_owned();
    lab.fake.world().failing_tasks.insert("qmstart".to_owned(), vec![why]);
    let error = lab.provider().launch(&request("web")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InsufficientCapacity, "{error}");
    assert_eq!((lab.ids(), lab.provider().list().await), (vec![], Ok(vec![])));
}

pub async fn a_machine_is_ended_only_under_its_whole_tag(plane: Arc<ControlPlane>) {
    let lab = Lab::new(&plane, "tag").await;
    let provider = lab.provider();
    let machine = provider.launch(&request("web")).await.unwrap();
    for part in ["cluster", "uid", "name", "pool"] {
        let mut tag = machine.tag.clone();
        match part {
            "cluster" => tag.cluster_id = "other".into(),
            "uid" => tag.claim_uid = "other".into(),
            "name" => tag.claim_name = "other".into(),
            _ => tag.pool = "other".into(),
        }
        let error = provider.terminate(&machine.provider_id, &tag).await.unwrap_err();
        assert!(matches!(error, ProviderError::NotOurs { .. }), "{part}: {error}");
    }
    assert_eq!(provider.list().await, Ok(vec![machine]));
}

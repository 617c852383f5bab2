//! Machines that are clones of a template.

use std::sync::Arc;

use windlass_providers::{ErrorKind, Join, LaunchRequest, Provider};
use windlass_testkit::ControlPlane;

use crate::lab::{Lab, end, launch, request, request_on};

fn joining(claim: &str) -> LaunchRequest {
    let join = Join {
        template: "#cloud-config\n# {{windlass.nodeName}} {{windlass.providerID}} {{windlass.token}}\n"
            .into(),
        token: "abcdef.0123456789abcdef".into(),
        api_server: "https://10.0.0.1:6443".into(),
        ca_bundle: "PEM".into(),
        ca_hash: "sha256:00".into(),
    };
    LaunchRequest { join: Some(join), ..request(claim) }
}

pub async fn a_clone_is_given_its_user_data_on_a_drive_that_goes_with_it(plane: Arc<ControlPlane>) {
    let mut lab = Lab::cloning(&plane, "drive").await;
    let provider = lab.provider();
    let machine = provider.launch(&joining("web")).await.unwrap();
    let id = lab.ids()[0];
    {
        let world = lab.fake.world();
        let vm = &world.vms[&id];
        assert!(vm.is_running);
        assert_eq!((vm.config["cores"].as_str(), vm.config["memory"].as_str()), ("2", "4096"));
        let (volume, image) = world.storages["shared"].volumes.first_key_value().unwrap();
        assert_eq!(vm.config["ide2"], format!("{volume},media=cdrom"));
        let text = String::from_utf8_lossy(image);
        assert!(text.contains(&format!("# web {} abcdef.0123456789abcdef", machine.provider_id)));
    }
    assert_eq!(provider.list().await, Ok(vec![machine.clone()]));
    provider.terminate(&machine.provider_id, &machine.tag).await.unwrap();
    assert!(lab.fake.world().storages["shared"].volumes.is_empty());
    let without = launch(&*provider, &request("plain")).await;
    assert!(lab.fake.world().storages["shared"].volumes.is_empty());
    lab.spec["clone"]["template"] = "debian-13".into();
    let drift = lab.provider().list().await.unwrap()[0].drift.clone().unwrap_or_default();
    assert!(drift.contains("debian-12") && drift.contains("debian-13"), "{drift}");
    end(&*provider, &without).await;
    lab.spec["clone"] = serde_json::json!({"template": "debian-12"});
    let error = lab.provider().launch(&joining("web")).await.unwrap_err();
    assert!(error.to_string().contains("isoStorage"), "{error}");
    assert_eq!((error.kind(), lab.ids()), (ErrorKind::InvalidConfiguration, vec![]));
}

pub async fn each_host_uses_its_own_template_and_others_only_what_is_shared(plane: Arc<ControlPlane>) {
    let mut lab = Lab::cloning(&plane, "templates").await;
    lab.spec["storage"] = "local".into();
    lab.spec["clone"]["mode"] = "Full".into();
    launch(&*lab.provider(), &request_on("pve2", "shared")).await;
    assert!(lab.fake.world().requests.contains(&"POST nodes/pve1/qemu/9000/clone".to_owned()));
    lab.fake.add_template(9001, "pve2", "debian-12", "local");
    launch(&*lab.provider(), &request_on("pve2", "own")).await;
    assert!(lab.fake.world().requests.contains(&"POST nodes/pve2/qemu/9001/clone".to_owned()));
    lab.fake.world().vms.remove(&9000);
    let zones = |types: &[windlass_core::model::InstanceType]| -> Vec<String> {
        types[0].offerings.iter().map(|offering| offering.zone.to_string()).collect()
    };
    assert_eq!(zones(&lab.provider().instance_types().await.unwrap()), ["pve2"]);
    let hosts: Vec<String> = lab.fake.world().vms.range(5000..6000).map(|(_, vm)| vm.host.clone()).collect();
    assert_eq!(hosts, ["pve2", "pve2"]);
}

pub async fn a_template_that_vanished_is_named(plane: Arc<ControlPlane>) {
    let lab = Lab::cloning(&plane, "vanished").await;
    lab.fake.world().vms.clear();
    for error in [
        lab.provider().launch(&request("web")).await.unwrap_err(),
        lab.provider().instance_types().await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidConfiguration, "{error}");
        assert!(error.to_string().contains("debian-12"), "{error}");
    }
}

pub async fn a_clone_whose_host_went_away_keeps_its_id_and_says_how_to_release_it(plane: Arc<ControlPlane>) {
    let lab = Lab::cloning(&plane, "went-away").await;
    lab.fake.world().task_length = 20;
    assert!(lab.impatient().launch(&request("web")).await.is_err());
    lab.fake.world().take_offline("pve1");
    let id = lab.ids()[0];
    for error in
        [lab.provider().launch(&request("web")).await.unwrap_err(), lab.provider().list().await.unwrap_err()]
    {
        assert_eq!(error.kind(), ErrorKind::Transient, "{error}");
    }
    lab.fake.world().bring_online("pve1");
    let error = lab.impatient().launch(&request("web")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transient, "{error}");
    assert!(error.to_string().contains(&id.to_string()), "{error}");
    assert_eq!(lab.ids(), [id], "no second one is made");
    // Somebody does as the error says.
    lab.fake.world().vms.get_mut(&id).unwrap().config.remove("lock");
    let machine = launch(&*lab.provider(), &request("web")).await;
    assert_eq!(lab.ids(), [id]);
    end(&*lab.provider(), &machine).await;
    assert!(lab.ids().is_empty());
}

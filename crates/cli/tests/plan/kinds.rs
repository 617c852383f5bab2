//! Every kind that planning looks at makes a difference to a plan.

use serde_json::json;

use crate::desk::{Desk, launched, placed, planned, pod, workload};

const NODE: &str = "---\napiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {topology.kubernetes.io/zone: zone-a}}\nstatus: {capacity: {cpu: 4, memory: 16Gi}}\n";

#[test]
fn a_pod_without_a_status_is_pending_and_gets_a_machine() {
    let plan = planned(&pod("a", "1", ""));
    assert_eq!(launched(&plan), ["default/a"]);
    assert_eq!(plan["launch"][0]["instanceType"], "small");
}

#[test]
fn pods_of_workloads_are_named_after_them_and_numbered() {
    for (version, kind) in [
        ("apps/v1", "Deployment"),
        ("apps/v1", "ReplicaSet"),
        ("apps/v1", "StatefulSet"),
        ("v1", "ReplicationController"),
    ] {
        let mut text = workload(version, kind, "web", "1", "  replicas: 3\n");
        if kind == "ReplicationController" {
            text = text.replace("{matchLabels: {app: web}}", "{app: web}");
        }
        assert_eq!(launched(&planned(&text)), ["default/web-0", "default/web-1", "default/web-2"], "{kind}");
    }
    let one = workload("apps/v1", "Deployment", "web", "1", "");
    assert_eq!(launched(&planned(&one)), ["default/web-0"], "one pod unless said otherwise");
    let later = workload("apps/v1", "StatefulSet", "db", "1", "  ordinals: {start: 5}\n");
    assert_eq!(launched(&planned(&later)), ["default/db-5"]);
}

#[test]
fn a_job_has_as_many_pods_as_run_at_once() {
    let job = |more: &str| launched(&planned(&workload("batch/v1", "Job", "j", "1", more))).len();
    assert_eq!(job(""), 1);
    assert_eq!(job("  parallelism: 3\n"), 3);
    assert_eq!(job("  parallelism: 3\n  completions: 2\n"), 2);
    assert_eq!(job("  suspend: true\n"), 0);
}

#[test]
fn a_cron_job_has_the_pods_of_one_run() {
    let cron = |more: &str| {
        format!(
            "apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: c}}\nspec:\n  schedule: '* * * * *'\n{more}  jobTemplate: {{spec: {{parallelism: 2, template: {{spec: {{containers: [{{name: c}}]}}}}}}}}\n"
        )
    };
    assert_eq!(launched(&planned(&cron(""))), ["default/c-0", "default/c-1"]);
    assert_eq!(launched(&planned(&cron("  suspend: true\n"))), [""; 0]);
}

#[test]
fn pods_go_to_nodes_that_are_there_before_machines_are_launched() {
    let bound = pod("old", "3", ", nodeName: n1");
    let plan = planned(&format!("{NODE}{bound}{}{}", pod("fits", "1", ""), pod("more", "1", "")));
    assert_eq!(placed(&plan).len(), 1);
    assert_eq!((placed(&plan)[0].1.as_str(), launched(&plan).len()), ("n1", 1));
}

#[test]
fn a_daemonset_takes_room_on_nodes_that_are_there_and_on_new_ones() {
    let set = workload("apps/v1", "DaemonSet", "agent", "500m", "");
    let plan = planned(&format!("{NODE}{}{}", pod("a", "4", ""), pod("b", "2", "")));
    assert_eq!((placed(&plan).len(), plan["launch"][0]["instanceType"].as_str()), (1, Some("small")));
    let plan = planned(&format!("{NODE}{set}{}{}", pod("a", "4", ""), pod("b", "2", "")));
    assert_eq!(placed(&plan), [("default/b".to_owned(), "n1".to_owned())], "4 cores are not free any more");
    assert_eq!(plan["launch"][0]["instanceType"], "large");
}

#[test]
fn a_stateful_set_needs_its_volumes() {
    let claims = "  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]\n";
    let set = workload("apps/v1", "StatefulSet", "db", "1", claims);
    let told = Desk::new().plan(&set);
    assert_eq!(told.code, 2);
    let reason = &told.json()["unschedulable"][0]["reasons"][0];
    let message = "volume claim default/data-db-0 is not bound and no storage class makes a volume for it";
    assert_eq!(*reason, json!({"pool": null, "constraint": "volume", "message": message}));
    let class = |more: &str| {
        format!(
            "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {{name: disks, annotations: {{storageclass.kubernetes.io/is-default-class: 'true'}}}}\nprovisioner: d.example.com\n{more}"
        )
    };
    let waits = class("volumeBindingMode: WaitForFirstConsumer\n");
    assert_eq!(launched(&planned(&format!("{set}{waits}"))), ["default/db-0"]);
    assert_eq!(launched(&planned(&format!("{set}{}", class("")))), ["default/db-0"], "it is made at once");
}

#[test]
fn a_pod_goes_where_its_volume_is() {
    let volume = |zone: &str| {
        format!(
            "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: c}}\nspec: {{volumeName: v, resources: {{requests: {{storage: 1}}}}}}\n---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: v, labels: {{topology.kubernetes.io/zone: {zone}}}}}\nspec: {{capacity: {{storage: 1}}}}\n"
        )
    };
    let user = pod("a", "1", ", volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]");
    assert_eq!(launched(&planned(&format!("{user}{}", volume("zone-a")))), ["default/a"]);
    let told = Desk::new().plan(&format!("{user}{}", volume("zone-z")));
    assert_eq!(
        (told.code, told.json()["unschedulable"][0]["reasons"][0]["constraint"].clone()),
        (2, json!("label"))
    );
}

#[test]
fn an_ephemeral_volume_is_made_with_its_pod() {
    let class = "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: d}\nprovisioner: d.example.com\nvolumeBindingMode: WaitForFirstConsumer\n";
    let template =
        "{spec: {storageClassName: d, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}";
    let user =
        pod("a", "1", &format!(", volumes: [{{name: v, ephemeral: {{volumeClaimTemplate: {template}}}}}]"));
    assert_eq!(launched(&planned(&format!("{class}{user}"))), ["default/a"]);
}

#[test]
fn attach_limits_of_nodes_are_kept() {
    let class = "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: d}\nprovisioner: d.example.com\nvolumeBindingMode: WaitForFirstConsumer\n";
    let claim = "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c}\nspec: {storageClassName: d}\n";
    let user = pod("a", "1", ", volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]");
    let limits = |count: u32| {
        format!(
            "---\napiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {{name: n1}}\nspec: {{drivers: [{{name: d.example.com, nodeID: n1, allocatable: {{count: {count}}}}}]}}\n"
        )
    };
    let all = |count| planned(&format!("{NODE}{class}{claim}{user}{}", limits(count)));
    assert_eq!(placed(&all(1)).len(), 1);
    assert_eq!(launched(&all(0)), ["default/a"]);
}

#[test]
fn labels_of_namespaces_count_in_affinity() {
    let term = "{topologyKey: kubernetes.io/hostname, labelSelector: {}, namespaceSelector: {matchLabels: {team: red}}}";
    let apart = format!(
        ", affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}"
    );
    let other =
        pod("other", "1", ", nodeName: n1").replace("{name: other}", "{name: other, namespace: reds}");
    let namespace = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: reds, labels: {team: red}}\n";
    let text = format!("{NODE}{other}{}", pod("a", "1", &apart));
    assert_eq!(placed(&planned(&text)).len(), 1);
    assert_eq!(launched(&planned(&format!("{text}{namespace}"))), ["default/a"]);
}

#[test]
fn budgets_for_disruption_are_taken_without_a_word() {
    let budget = "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b}\nspec: {minAvailable: 1, selector: {matchLabels: {a: b}}}\n";
    assert_eq!(launched(&planned(&format!("{budget}{}", pod("a", "1", "")))), ["default/a"]);
}

#[test]
fn a_machine_on_its_way_keeps_room_for_its_pods_and_an_old_empty_one_is_given_back() {
    let claim = |name: &str, pods: &str, status: &str| {
        format!(
            "---\napiVersion: windlass.dev/v1alpha1\nkind: NodeClaim\nmetadata: {{name: {name}}}\nspec:\n  poolRef: {{name: general}}\n  providerRef: {{name: cloud}}\n  reason: {{purpose: PendingPods, pods: [{pods}]}}\n  offerings: [{{instanceType: small, zone: zone-a, capacityType: on-demand, price: '0.10', capacity: {{cpu: 2, memory: 8Gi, pods: 110}}, allocatable: {{cpu: 2, memory: 8Gi, pods: 110}}}}]\n{status}"
        )
    };
    let plan = planned(&format!("{}{}", claim("general-1", "default/a", ""), pod("a", "1", "")));
    assert_eq!(plan["placed"], json!([{"pod": "default/a", "claim": "general-1"}]));
    assert_eq!(launched(&plan), [""; 0]);

    let node = "---\napiVersion: v1\nkind: Node\nmetadata: {name: old, annotations: {windlass.dev/claim-uid: general-2}}\nspec: {providerID: 'sim://1'}\nstatus: {capacity: {cpu: 2, memory: 8Gi}}\n";
    let condition = |kind: &str| {
        format!(
            "{{type: {kind}, status: 'True', reason: R, message: m, lastTransitionTime: '2026-01-01T00:00:00Z'}}"
        )
    };
    let conditions = ["Launched", "Registered", "Initialized", "Ready"].map(condition).join(", ");
    let status = format!(
        "status: {{providerID: 'sim://1', nodeName: old, instanceType: small, zone: zone-a, capacityType: on-demand, price: '0.10', conditions: [{conditions}]}}\n"
    );
    let plan = planned(&format!("{}{node}", claim("general-2", "", &status)));
    let removal = &plan["remove"][0];
    assert_eq!(
        (&removal["claim"], &removal["node"], &removal["reason"]),
        (&json!("general-2"), &json!("old"), &json!("Empty"))
    );
    assert!(removal["message"].as_str().unwrap().starts_with("empty for"), "{removal}");
}

#[test]
fn pods_that_are_none_of_our_business_are_told_and_not_planned_for() {
    let text =
        [pod("gated", "1", ", schedulingGates: [{name: g}]"), pod("foreign", "1", ", schedulerName: other")]
            .join("");
    let plan = planned(&text);
    assert_eq!(launched(&plan), [""; 0]);
    let told: Vec<&str> =
        plan["notPlanned"].as_array().unwrap().iter().map(|each| each["message"].as_str().unwrap()).collect();
    assert!(told[0].contains("another scheduler") && told[1].contains("gate"), "{told:?}");
}

#[test]
fn what_the_api_server_would_set_is_set() {
    let limited = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, resources: {limits: {cpu: 5}}}]}\n";
    assert_eq!(planned(limited)["launch"][0]["instanceType"], "large", "a limit is also a request");
    let host = ", hostNetwork: true";
    let served = |name: &str| pod(name, "1", host).replace("image: i", "ports: [{containerPort: 80}]");
    assert_eq!(
        planned(&format!("{}{}", served("a"), served("b")))["launch"].as_array().unwrap().len(),
        2,
        "both take port 80"
    );
}

#[test]
fn priorities_are_those_of_their_classes() {
    let class =
        "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: spare}\nvalue: -100\n";
    let text = format!("{class}{}", pod("a", "1", ", priorityClassName: spare"));
    let told = Desk::new().plan(&text);
    assert_eq!(
        (told.code, told.json()["unschedulable"][0]["reasons"][0]["constraint"].clone()),
        (2, json!("priority"))
    );
    let arguments = ["plan", "-f", "pool.yaml", "-f", "-", "--min-priority", "-100", "-o", "json"];
    assert_eq!(Desk::new().windlass_with(&arguments, &text).code, 0);
    assert_eq!(Desk::new().plan(&text.replace(class, "")).code, 0, "a class that nobody knows counts for 0");
}

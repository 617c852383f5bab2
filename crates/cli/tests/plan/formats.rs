use serde_json::{Value, json};

use crate::desk::{Desk, pod, workload};

fn small() -> String {
    let node =
        "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {capacity: {cpu: 1, memory: 4Gi}}\n";
    let web = workload("apps/v1", "Deployment", "web", "1", "  replicas: 2\n");
    format!("{node}{web}{}", pod("huge", "64", ""))
}

fn expected() -> Value {
    json!({
        "cost": 0.1,
        "lowerBound": 0.1,
        "gapPercent": 0.0,
        "elapsedMs": 0,
        "launch": [{
            "pool": "general", "instanceType": "small", "zone": "zone-a", "capacityType": "on-demand",
            "price": 0.1, "pods": ["default/web-0"],
        }],
        "placed": [{"pod": "default/web-1", "node": "n1"}],
        "unschedulable": [{"pod": "default/huge", "reasons": [{
            "pool": "general", "constraint": "resource",
            "message": "2 of 2 types match; none has 64 of cpu free, largest 8",
        }]}],
    })
}

/// The time that it took is nobody's business.
fn without_time(mut plan: Value) -> Value {
    assert!(plan["elapsedMs"].is_u64(), "{plan}");
    plan["elapsedMs"] = json!(0);
    plan
}

#[test]
fn json_has_stable_names_and_numbers() {
    let told = Desk::new().plan(&small());
    assert_eq!(without_time(told.json()), expected());
    assert_eq!(told.code, 2);
}

#[test]
fn yaml_says_the_same_as_json() {
    let arguments = ["plan", "-f", "pool.yaml", "-f", "-", "-o", "yaml", "--steps", "200"];
    let told = Desk::new().windlass_with(&arguments, &small());
    let plan: Value = serde_saphyr::from_str(&told.out).unwrap();
    assert_eq!(without_time(plan), expected());
}

#[test]
fn the_table_groups_machines_and_says_why_pods_wait() {
    let arguments = ["plan", "-f", "pool.yaml", "-f", "-", "--steps", "200"];
    let told = Desk::new().windlass_with(&arguments, &small());
    let (table, last) = told.out.trim_end().rsplit_once('\n').unwrap();
    assert_eq!(
        table,
        "\
Nodes to launch
  POOL     TYPE   ZONE    CAPACITY   PRICE/H  NODES  PODS
  general  small  zone-a  on-demand    $0.10      1     1  default/web-0

Fits on nodes that are there
  NODE  PODS
  n1       1  default/web-1

Stays pending
  default/huge
    pool general: 2 of 2 types match; none has 64 of cpu free, largest 8
"
    );
    assert!(last.starts_with("cost $0.10/h, lower bound $0.10/h, gap 0%, planned in "), "{last}");
    let nothing = Desk::new().windlass(&["plan", "-f", "pool.yaml"]);
    assert!(nothing.out.starts_with("Nothing to launch.\n\ncost $0.00/h"), "{}", nothing.out);
}

#[test]
fn the_exit_code_says_what_came_of_it() {
    let run = |more: &[&str], text: &str| {
        let arguments = [&["plan", "-f", "pool.yaml", "-f", "-"], more].concat();
        let told = Desk::new().windlass_with(&arguments, text);
        (told.code, told.err)
    };
    let (fits, huge) = (pod("a", "1", ""), pod("huge", "64", ""));
    assert_eq!(run(&[], &fits).0, 0);
    assert_eq!(run(&["--max-cost", "0.10"], &fits).0, 0, "as much as it may cost");
    let words = "windlass: the plan costs $0.10/h, which is more than --max-cost 0.09\n";
    assert_eq!(run(&["--max-cost", "0.09"], &fits), (3, words.to_owned()));
    assert_eq!(run(&[], &huge).0, 2);
    assert_eq!(run(&["--max-cost", "0.09"], &format!("{fits}{huge}")).0, 3, "cost comes first");
    assert_eq!(run(&[], "kind: Pod").0, 1);
    assert_eq!(run(&["--max-cost", "cheap"], &fits).0, 1, "a wrong flag does not mean that pods wait");
}

#[test]
fn a_search_by_steps_gives_the_same_plan_each_time() {
    let text: String = (0..9)
        .map(|number| {
            workload(
                "apps/v1",
                "Deployment",
                &format!("w{number}"),
                &format!("{}m", 300 + 170 * number),
                "  replicas: 7\n",
            )
        })
        .collect();
    let plan = || without_time(Desk::new().plan(&text).json());
    assert_eq!(plan(), plan());
    let both = Desk::new().windlass(&["plan", "-f", "pool.yaml", "--steps", "5", "--budget", "1s"]);
    assert!(both.err.contains("cannot be used with"), "{}", both.err);
}

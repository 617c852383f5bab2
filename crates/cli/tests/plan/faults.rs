//! What is wrong with a manifest is said with file, document, object and field.

use crate::desk::{Desk, pod, workload};

/// What is said of a file `shop.yaml`.
fn fault(text: &str) -> String {
    let desk = Desk::new().file("shop.yaml", text);
    let told = desk.windlass(&["plan", "-f", "pool.yaml", "-f", "shop.yaml"]);
    assert_eq!((told.code, told.out.as_str()), (1, ""), "{}", told.err);
    told.err.strip_prefix("windlass: shop.yaml, ").unwrap_or(&told.err).trim_end().to_owned()
}

fn deployment(more: &str) -> String {
    workload("apps/v1", "Deployment", "web", "1", more)
}

fn pool(spec: &str) -> String {
    format!("apiVersion: windlass.dev/v1alpha1\nkind: NodePool\nmetadata: {{name: p}}\nspec: {spec}\n")
}

fn requirement(requirement: &str) -> String {
    pool(&format!("{{providerRef: {{name: cloud}}, template: {{spec: {{requirements: [{requirement}]}}}}}}"))
}

const NO_QUANTITY: &str =
    "\"1x\" is not a quantity: write a number with an optional unit, such as \"500m\", \"2\" or \"16Gi\"";

#[test]
fn an_amount_that_is_no_quantity() {
    let text =
        format!("{}{}{}", pod("a", "1", ""), pod("b", "1", ""), deployment("").replace("cpu: 1", "cpu: 1x"));
    let field = "spec.template.spec.containers[0].resources.requests.cpu";
    assert_eq!(fault(&text), format!("document 3 (Deployment default/web): {field}: {NO_QUANTITY}"));
    assert_eq!(
        fault(&pod("a", "-1", "")),
        "document 1 (Pod default/a): spec.containers[0].resources.requests.cpu: -1 is negative: write 0 or more"
    );
    assert_eq!(
        fault("apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {capacity: {memory: 1x}}"),
        format!("document 1 (Node n1): status.capacity.memory: {NO_QUANTITY}")
    );
}

#[test]
fn something_that_is_no_object() {
    assert_eq!(
        fault("hello"),
        "document 1: this is no Kubernetes object: write apiVersion, kind and metadata"
    );
    assert_eq!(fault("apiVersion: v1"), "document 1: kind: is missing: every object says what it is");
    assert_eq!(fault("kind: Pod"), "document 1: apiVersion: is missing: every object says what it is");
}

#[test]
fn an_object_without_a_name() {
    let nameless = pod("a", "1", "").replace("{name: a}", "{namespace: shop}");
    assert_eq!(
        fault(&nameless),
        "document 1 (Pod shop/without a name): metadata.name: is missing: give the object a name"
    );
    let number = pod("a", "1", "").replace("{name: a}", "{name: 7}");
    assert_eq!(
        fault(&number),
        "document 1 (Pod default/without a name): metadata.name: 7 is no text: write it in quotes"
    );
}

#[test]
fn a_field_with_a_slip_in_its_name() {
    assert_eq!(
        fault(&deployment("").replace("resources:", "resorces:")),
        "document 1 (Deployment default/web): spec.template.spec.containers[0].resorces: there is no such field: look for a slip in its name"
    );
    assert_eq!(
        fault(&pool("{providerRef: {name: cloud}, limit: {cpu: 1}}")),
        "document 1 (NodePool p): spec.limit: there is no such field: look for a slip in its name"
    );
}

#[test]
fn a_value_of_the_wrong_type() {
    assert_eq!(
        fault(&deployment("  replicas: three\n")),
        "document 1 (Deployment default/web): spec.replicas: invalid type: string \"three\", expected i32"
    );
    assert_eq!(
        fault(&deployment("").replace("{labels: {app: web}}", "{labels: {app: 1}}")),
        "document 1 (Deployment default/web): spec.template.metadata.labels.app: invalid type: integer `1`, expected a string"
    );
}

#[test]
fn pods_that_cannot_be() {
    assert_eq!(
        fault("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {}\n"),
        "document 1 (Pod default/a): spec.containers: is missing or empty: a pod needs at least one container"
    );
    assert_eq!(
        fault(&pod("a", "1", "").replace("name: c, ", "")),
        "document 1 (Pod default/a): spec.containers[0].name: is missing: give the container a name"
    );
    assert_eq!(
        fault(&pod("a", "2", "").replace("resources: {", "resources: {limits: {cpu: 1}, ")),
        "document 1 (Pod default/a): spec.containers[0].resources.requests.cpu: 2 is more than the limit, 1"
    );
    assert_eq!(
        fault(&pod("a", "1", "").replace("image: i", "ports: [{containerPort: 70000}]")),
        "document 1 (Pod default/a): spec.containers[0].ports[0].containerPort: 70000 is no port: write 1 to 65535"
    );
}

#[test]
fn workloads_that_cannot_be() {
    assert_eq!(
        fault(&deployment("  replicas: -1\n")),
        "document 1 (Deployment default/web): spec.replicas: -1 is negative: write 0 or more"
    );
    assert_eq!(
        fault("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {selector: {}}\n"),
        "document 1 (Deployment default/web): spec.template: is missing: the pods are made of it"
    );
}

#[test]
fn pools_that_would_be_refused() {
    assert_eq!(
        fault(&requirement("{key: a, operator: Exists}, {key: zone, operator: In}")),
        "document 1 (NodePool p): spec.template.spec.requirements[1]: operators In and NotIn need at least one value"
    );
    assert_eq!(
        fault(&pool("{providerRef: {name: cloud}, limits: {cpu: -4}}")),
        "document 1 (NodePool p): spec.limits.cpu: -4 is negative: write 0 or more"
    );
    assert_eq!(
        fault(&requirement("{key: a, operator: Near}")),
        "document 1 (NodePool p): spec.template.spec.requirements[0].operator: unknown variant `Near`, expected one of `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt`, `Lt`, `Gte`, `Lte`"
    );
    assert_eq!(
        fault(&pool("{providerRef: {name: cloud}, weight: 101}")),
        "document 1 (NodePool p): spec.weight: 101 is too large: write 100 or less"
    );
    assert_eq!(fault(&pool("{weight: 1}")), "document 1 (NodePool p): spec: missing field `providerRef`");
}

#[test]
fn providers_that_would_be_refused() {
    let provider = |spec: &str| {
        fault(&format!(
            "apiVersion: windlass.dev/v1alpha1\nkind: NodeProvider\nmetadata: {{name: s}}\nspec: {spec}\n"
        ))
    };
    assert_eq!(
        provider("{}"),
        "document 1 (NodeProvider s): spec: name exactly one source of machines: simulated, externalGrpc, proxmox or redfish"
    );
    assert_eq!(
        provider("{simulated: {catalogue: general}, externalGrpc: {endpoint: 'localhost:1'}}"),
        "document 1 (NodeProvider s): spec: name exactly one source of machines: simulated, externalGrpc, proxmox or redfish"
    );
    assert_eq!(
        provider("{externalGrpc: {endpoint: 'machines.example.com:8086'}}"),
        "document 1 (NodeProvider s): spec.externalGrpc: give tls, or a loopback address, or insecure: true"
    );
    assert_eq!(
        provider("{simulated: {}}"),
        "document 1 (NodeProvider s): spec.simulated: give either the name of a built-in catalogue or a list of instanceTypes"
    );
    assert_eq!(
        provider(
            "{simulated: {instanceTypes: [{name: t, capacity: {cpu: 1}, offerings: [{zone: z, price: '0,10'}]}]}}"
        ),
        "document 1 (NodeProvider s): spec.simulated.instanceTypes[0].offerings[0].price: \"0,10\" is not written as it must be: ^[0-9]{1,9}(\\.[0-9]{1,6})?$"
    );
}

#[test]
fn text_that_cannot_be_read() {
    let words = fault("a: 1\n---\nb: [\n");
    assert!(words.starts_with("document 2: this is not YAML in line "), "{words}");
    let words = fault("{\"a\": }");
    assert_eq!(words, "document 1: this is not JSON: expected value at line 1 column 7");
}

#[test]
fn an_item_of_a_list() {
    let item = |cpu: &str| {
        format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{containers: [{{name: c, resources: {{requests: {{cpu: {cpu}}}}}}}]}}}}"
        )
    };
    let text = format!("apiVersion: v1\nkind: List\nitems: [{}, {}]\n", item("1"), item("1x"));
    assert_eq!(
        fault(&text),
        format!(
            "document 1, item 2 (Pod default/p): spec.containers[0].resources.requests.cpu: {NO_QUANTITY}"
        )
    );
}

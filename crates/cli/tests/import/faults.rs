//! What cannot be read is named with file, document, object and field.

use crate::desk::import_text;

fn fault(text: &str) -> String {
    let told = import_text(text);
    assert_eq!((told.code, told.out.as_str()), (1, ""), "{}", told.err);
    told.err.strip_prefix("windlass: standard input, ").unwrap_or(&told.err).trim_end().to_owned()
}

/// What is said of a pool of Karpenter's with more in its specification.
fn karpenter(more: &str) -> String {
    let words = fault(&format!(
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {{name: a}}\nspec:\n  template: {{spec: {{nodeClassRef: {{name: c}}}}}}\n  {more}\n"
    ));
    words.strip_prefix("document 1 (NodePool a): spec.").unwrap_or(&words).to_owned()
}

/// What is said of a template of such a pool.
fn template(more: &str) -> String {
    let words = fault(&format!(
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {{name: a}}\nspec: {{template: {{spec: {{nodeClassRef: {{name: c}}, {more}}}}}}}\n"
    ));
    words.strip_prefix("document 1 (NodePool a): spec.template.spec.").unwrap_or(&words).to_owned()
}

/// What is said of one of KubeNodeSmith's objects.
fn smith(kind: &str, spec: &str) -> String {
    let words = fault(&format!(
        "apiVersion: kubenodesmith.parawell.cloud/v1alpha1\nkind: {kind}\nmetadata: {{name: a, namespace: lab}}\nspec: {spec}\n"
    ));
    words.strip_prefix(&format!("document 1 ({kind} lab/a): ")).unwrap_or(&words).to_owned()
}

#[test]
fn something_that_is_no_object() {
    assert_eq!(
        fault("hello"),
        "document 1: this is no Kubernetes object: write apiVersion, kind and metadata"
    );
    assert!(fault("a: [").starts_with("document 1: this is not YAML in line "));
    assert!(fault("").contains("there is nothing to import"));
    assert!(fault(&"[".repeat(100_000)).contains("recursion limit"));
}

#[test]
fn fields_that_are_missing() {
    let nameless = "apiVersion: karpenter.sh/v1\nkind: NodePool\nspec: {}\n";
    assert_eq!(fault(nameless), "document 1 (NodePool without a name): metadata.name: is missing");
    let classless = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\n";
    assert_eq!(fault(classless), "document 1 (NodePool a): spec.template.spec.nodeClassRef.name: is missing");
    assert_eq!(template("requirements: [{operator: In}]"), "requirements[0].key: is missing");
    assert_eq!(template("requirements: [{key: a}]"), "requirements[0]: operator is missing");
    assert_eq!(template("taints: [{key: a}]"), "taints[0]: effect is missing");
    assert_eq!(smith("NodeSmithPool", "{}"), "spec.providerRef: is missing");
    assert_eq!(smith("NodeSmithProvider", "{}"), "spec.type: is missing");
    let provider = |proxmox: &str| {
        smith(
            "NodeSmithProvider",
            &format!("{{type: proxmox, credentialsSecretRef: {{name: t}}, proxmox: {{{proxmox}}}}}"),
        )
    };
    assert_eq!(smith("NodeSmithProvider", "{type: proxmox}"), "spec.credentialsSecretRef.name: is missing");
    assert_eq!(provider(""), "spec.proxmox.endpoint: is missing");
    assert_eq!(provider("endpoint: e"), "spec.proxmox.vmIDRange.lower: is missing");
    assert_eq!(
        provider("endpoint: e, vmIDRange: {lower: 1, upper: 2}, networkInterfaces: [{}]"),
        "spec.proxmox.networkInterfaces[0].bridge: is missing"
    );
    assert_eq!(
        karpenter("disruption: {budgets: [{duration: 1h}]}"),
        "disruption.budgets[0]: schedule and duration go together"
    );
}

#[test]
fn values_of_the_wrong_type() {
    assert_eq!(karpenter("weight: heavy"), "weight: \"heavy\" is not a whole number of 0 or more");
    assert_eq!(karpenter("limits: [cpu]"), "limits: a list is no object with fields");
    assert_eq!(karpenter("limits: {cpu: [1]}"), "limits.cpu: a list is no quantity");
    assert_eq!(template("requirements: {key: a}"), "requirements: an object is no list");
    assert_eq!(
        template("requirements: [{key: a, operator: In, values: [1]}]"),
        "requirements[0].values[0]: 1 is no text: write it in quotes"
    );
    assert_eq!(
        karpenter("disruption: {budgets: [{nodes: 1}]}"),
        "disruption.budgets[0].nodes: 1 is no text: write it in quotes"
    );
    assert_eq!(
        smith("NodeSmithPool", "{providerRef: {name: a}}"),
        "spec.providerRef: an object is no text: write it in quotes"
    );
    assert_eq!(smith("NodeSmithControlPlane", "{pools: small}"), "spec.pools: \"small\" is no list");
    assert_eq!(smith("NodeSmithClaim", "[]"), "spec: a list is no object with fields");
}

#[test]
fn values_that_mean_nothing() {
    assert!(
        template("requirements: [{key: a, operator: Near}]")
            .starts_with("requirements[0].operator: unknown variant `Near`")
    );
    assert!(
        template("taints: [{key: a, effect: Never}]")
            .starts_with("taints[0].effect: unknown variant `Never`")
    );
    assert!(template("expireAfter: soon").starts_with("expireAfter: \"soon\" is not a duration"));
    assert!(
        template("terminationGracePeriod: Never")
            .starts_with("terminationGracePeriod: \"Never\" is not a duration")
    );
    assert!(karpenter("disruption: {consolidationPolicy: Often}").contains("\"Often\" is none of WhenEmpty"));
    assert!(
        karpenter("disruption: {budgets: [{nodes: some}]}").contains("neither a number nor a percentage")
    );
    assert!(
        karpenter("disruption: {budgets: [{reasons: [Old]}]}").contains("budgets[0].reasons[0]: is none of")
    );
}

#[test]
fn numbers_that_are_huge() {
    assert_eq!(karpenter("weight: 99999999999"), "weight: 99999999999 is too large");
    assert!(karpenter("weight: 99999999999999999999999").contains("is not a whole number"));
    assert!(template("expireAfter: 9999999999999999999h").contains("is not a duration"));
    assert!(template("expireAfter: 99999999h").contains("is too long: write at most 2562047h"));
    assert_eq!(
        smith("NodeSmithPool", "{providerRef: a, limits: {maxNodes: -1}}"),
        "spec.limits.maxNodes: -1 is not a whole number of 0 or more"
    );
}

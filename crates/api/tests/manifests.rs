//! The manifests that users read are ones that the API server takes.
#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_testkit::{ControlPlane, install_crds, plane_tests};

async fn every_manifest_in_the_docs_and_examples_is_admitted(plane: Arc<ControlPlane>) {
    install_crds(&plane.client().unwrap()).await.unwrap();
    let namespace = plane.kubectl(&["create", "namespace", "demo"]).unwrap();
    assert!(namespace.status.success());
    let folder = tempfile::tempdir().unwrap();
    let manifests = manifests();
    assert!(manifests.len() >= 5, "the docs and examples have more manifests than {}", manifests.len());
    for (number, (source, text)) in manifests.iter().enumerate() {
        let file = folder.path().join(format!("{number}.yaml"));
        fs::write(&file, text).unwrap();
        let output = plane.kubectl(&["apply", "--dry-run=server", "-f", file.to_str().unwrap()]).unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {words}\n{text}", source.display());
    }
}

/// A Proxmox VE provider with these fields, and what else it needs.
fn proxmox(fields: &str) -> String {
    let mut given = String::from(
        "{proxmox: {endpoints: [{url: 'https://pve1:8006'}], credentialsSecretRef: {name: proxmox}",
    );
    for (key, default) in [("vmids", "{first: 5000, last: 5999}"), ("shapes", "{cpus: [2], memory: [4Gi]}")] {
        if !fields.contains(&format!("{key}:")) {
            given = format!("{given}, {key}: {default}");
        }
    }
    format!("{given}, {fields}}}}}")
}

async fn a_provider_names_one_source_and_says_nothing_in_plaintext_unasked(plane: Arc<ControlPlane>) {
    install_crds(&plane.client().unwrap()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let apply = |spec: &str| {
        let file = folder.path().join("provider.yaml");
        let head = "apiVersion: windlass.dev/v1alpha1\nkind: NodeProvider\nmetadata: {name: rack}";
        fs::write(&file, format!("{head}\nspec: {spec}\n")).unwrap();
        let output = plane.kubectl(&["apply", "--dry-run=server", "-f", file.to_str().unwrap()]).unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for good in [
        "{externalGrpc: {endpoint: 'localhost:8086'}}",
        "{externalGrpc: {endpoint: '[::1]:8086'}}",
        "{externalGrpc: {endpoint: 'machines.test:8086', insecure: true, defaultPrice: '0.1'}}",
        "{externalGrpc: {endpoint: 'https://machines.test:8086', tls: {secretRef: {name: client}}}}",
        &proxmox("clone: {template: debian}"),
        &proxmox("clone: {template: debian, mode: Full}, storage: fast"),
        &proxmox("networkBoot: {interfaces: [{bridge: vmbr0}]}, storage: fast, options: {cpu: host}"),
    ] {
        let (taken, words) = apply(good);
        assert!(taken, "{good}: {words}");
    }
    for (bad, part) in [
        ("{}", "exactly one source"),
        ("{simulated: {catalogue: general}, externalGrpc: {endpoint: 'localhost:1'}}", "exactly one source"),
        ("{externalGrpc: {endpoint: 'machines.test:8086'}}", "insecure: true"),
        ("{externalGrpc: {endpoint: '127.machines.test:8086'}}", "insecure: true"),
        ("{externalGrpc: {endpoint: 'https://machines.test:8086', insecure: true}}", "needs tls"),
        ("{externalGrpc: {endpoint: 'machines.test', insecure: true}}", "spec.externalGrpc.endpoint"),
        ("{externalGrpc: {endpoint: 'localhost:1', prices: {a: cheap}}}", "spec.externalGrpc.prices"),
        (&proxmox("storage: fast"), "exactly one way"),
        (&proxmox("clone: {template: debian}, storage: fast"), "mode: Full"),
        (&proxmox("networkBoot: {interfaces: [{bridge: vmbr0}]}"), "needs storage"),
        (&proxmox("clone: {template: debian}, options: {protection: '1'}"), "options cannot set"),
        (&proxmox("clone: {template: debian}, vmids: {first: 200, last: 100}"), "beyond last"),
        (&proxmox("clone: {template: debian}, shapes: {cpus: [2]}"), "cpus and memory, or a list"),
    ] {
        let (taken, words) = apply(bad);
        assert!(!taken && words.contains(part), "{bad}: {words}");
    }
}

/// The files of the examples, and the YAML blocks of the docs that are whole objects.
fn manifests() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    for path in files(&root.join("deploy/examples")) {
        found.push((path.clone(), fs::read_to_string(path).unwrap()));
    }
    for path in files(&root.join("docs")).into_iter().chain([root.join("README.md")]) {
        let text = fs::read_to_string(&path).unwrap();
        let blocks = text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
        found.extend(
            blocks
                .filter(|block| block.starts_with("apiVersion:"))
                .map(|block| (path.clone(), block.to_owned())),
        );
    }
    found
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "md" || extension == "yaml") {
            found.push(path);
        }
    }
    found.sort();
    found
}

plane_tests![
    every_manifest_in_the_docs_and_examples_is_admitted,
    a_provider_names_one_source_and_says_nothing_in_plaintext_unasked,
];

//! A folder with files, and the binary at work in it.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A provider with two kinds of machines, and a pool of it.
pub const POOL: &str = r#"
apiVersion: windlass.dev/v1alpha1
kind: NodeProvider
metadata: {name: cloud}
spec:
  simulated:
    instanceTypes:
      - name: small
        capacity: {cpu: 2, memory: 8Gi}
        offerings: [{zone: zone-a, price: "0.10"}]
      - name: large
        capacity: {cpu: 8, memory: 32Gi}
        offerings: [{zone: zone-a, price: "0.35"}]
---
apiVersion: windlass.dev/v1alpha1
kind: NodePool
metadata: {name: general}
spec: {providerRef: {name: cloud}}
"#;

/// A folder with files.
pub struct Desk(TempDir);

/// What a command said.
pub struct Told {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Desk {
    /// A folder with `pool.yaml`.
    pub fn new() -> Self {
        let desk = Self(tempfile::tempdir().unwrap());
        desk.file("pool.yaml", POOL)
    }

    /// The same with another file.
    pub fn file(self, name: &str, text: &str) -> Self {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Runs the binary in the folder.
    pub fn windlass(&self, arguments: &[&str]) -> Told {
        windlass(self.0.path(), arguments, "")
    }

    /// Runs the binary in the folder and writes to its standard input.
    pub fn windlass_with(&self, arguments: &[&str], input: &str) -> Told {
        windlass(self.0.path(), arguments, input)
    }

    /// The plan for `pool.yaml` and a text.
    pub fn plan(&self, text: &str) -> Told {
        let arguments = ["plan", "-f", "pool.yaml", "-f", "-", "-o", "json", "--steps", "200"];
        self.windlass_with(&arguments, text)
    }
}

/// The plan for `pool.yaml` and a text, where everything has its place.
pub fn planned(text: &str) -> Value {
    let told = Desk::new().plan(text);
    assert_eq!(told.code, 0, "{}{}", told.out, told.err);
    assert_eq!(told.err, "");
    told.json()
}

pub fn windlass(folder: &Path, arguments: &[&str], input: &str) -> Told {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(arguments).env_clear().env("HOME", "/nonexistent").current_dir(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Whoever fails before reading has closed the pipe.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(!err.contains("panicked"), "{err}");
    Told { code: output.status.code().unwrap(), out, err }
}

impl Told {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}{}", self.out, self.err))
    }
}

/// The pods for which machines are launched, in order.
pub fn launched(plan: &Value) -> Vec<String> {
    let pods =
        plan["launch"].as_array().unwrap().iter().flat_map(|launch| launch["pods"].as_array().unwrap());
    let mut pods: Vec<String> = pods.map(|pod| pod.as_str().unwrap().to_owned()).collect();
    pods.sort();
    pods
}

/// The pods that have a place on nodes that are there, with the node.
pub fn placed(plan: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    plan["placed"].as_array().unwrap().iter().map(|each| (text(&each["pod"]), text(&each["node"]))).collect()
}

/// A container that asks for cores.
pub fn container(cpu: &str) -> String {
    format!("{{name: c, image: i, resources: {{requests: {{cpu: {cpu}}}}}}}")
}

/// A pod that asks for cores, with more in its specification.
pub fn pod(name: &str, cpu: &str, more: &str) -> String {
    let container = container(cpu);
    format!(
        "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{containers: [{container}]{more}}}\n"
    )
}

/// Something with a pod template that asks for cores, with more in its specification.
pub fn workload(version: &str, kind: &str, name: &str, cpu: &str, more: &str) -> String {
    let container = container(cpu);
    format!(
        "---\napiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}}}\nspec:\n  selector: {{matchLabels: {{app: {name}}}}}\n  \
         template: {{metadata: {{labels: {{app: {name}}}}}, spec: {{containers: [{container}]}}}}\n{more}"
    )
}

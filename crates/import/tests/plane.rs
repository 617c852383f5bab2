//! What is made is taken by the API server.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic fails the test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use windlass_import::{Options, import};
use windlass_manifests::{Document, Source};
use windlass_testkit::{ControlPlane, install_crds, plane_tests};

async fn what_is_made_is_taken_by_the_api_server_as_it_was_meant(plane: Arc<ControlPlane>) {
    install_crds(&plane.client().unwrap()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut count = 0;
    for path in inputs() {
        let source = Source { name: path.display().to_string(), text: fs::read_to_string(&path).unwrap() };
        let documents = Document::read([&source]).unwrap();
        let imported = import(&documents, &Options::default()).unwrap();
        let file = folder.path().join("made.yaml");
        fs::write(&file, imported.yaml().unwrap()).unwrap();
        let output = plane
            .kubectl(&["apply", "--dry-run=server", "-o", "json", "-f", file.to_str().unwrap()])
            .unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && words.is_empty(), "{}: {words}", path.display());
        let taken: Value = serde_json::from_slice(&output.stdout).unwrap();
        let taken = taken["items"].as_array().cloned().unwrap_or_else(|| vec![taken]);
        for (made, taken) in imported.objects.iter().zip(&taken) {
            assert!(holds(taken, &made["spec"], "/spec"), "{made:#}\nbecame\n{taken:#}");
        }
        assert_eq!(imported.objects.len(), taken.len());
        count += taken.len();
    }
    assert!(count >= 8, "only {count} objects were made");
}

/// Whether an object has at a path all of what is wanted there, beside what the API server has added.
fn holds(object: &Value, wanted: &Value, path: &str) -> bool {
    match wanted {
        Value::Object(fields) => fields.iter().all(|(name, wanted)| {
            holds(object, wanted, &format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")))
        }),
        Value::Array(items) => {
            let same = object.pointer(path).and_then(Value::as_array).map(Vec::len) == Some(items.len());
            same && (0..)
                .zip(items)
                .all(|(number, wanted): (usize, _)| holds(object, wanted, &format!("{path}/{number}")))
        }
        other => object.pointer(path) == Some(other),
    }
}

/// What the tests of the command read.
fn inputs() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/import");
    let folders = ["karpenter", "kubenodesmith"].map(|name| root.join(name));
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| !path.display().to_string().contains(".made."));
    found.sort();
    assert!(found.len() >= 5, "{found:?}");
    found
}

plane_tests![what_is_made_is_taken_by_the_api_server_as_it_was_meant];

//! What the docs say about the example is so.

use std::fs;
use std::path::{Path, PathBuf};

use crate::desk::{Told, windlass};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn run(command: &str) -> Told {
    let arguments: Vec<&str> = command.split_whitespace().skip(1).collect();
    windlass(&root(), &arguments, "")
}

/// Every command of the page that needs no cluster, with what the page says it prints.
fn told_in_docs() -> Vec<(String, String)> {
    let page = fs::read_to_string(root().join("docs/plan.md")).unwrap();
    let blocks = page.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut found = Vec::new();
    for block in blocks {
        for part in block.split("$ ").skip(1) {
            let (command, output) = part.split_once('\n').unwrap();
            if command.starts_with("windlass ")
                && command.contains("deploy/examples")
                && !output.trim().is_empty()
            {
                found.push((command.to_owned(), output.to_owned()));
            }
        }
    }
    found
}

#[test]
fn the_docs_show_what_the_commands_print() {
    let told = told_in_docs();
    assert!(told.len() >= 3, "{told:?}");
    for (command, shown) in told {
        let Told { out, err, .. } = run(&command);
        let without_time = |text: &str| text.split("planned in ").next().unwrap().trim().to_owned();
        assert_eq!(without_time(&format!("{out}{err}")), without_time(&shown), "{command}");
    }
}

#[test]
fn everything_in_the_example_has_a_place_until_it_is_changed() {
    let told = run("windlass plan -f deploy/examples/plan --max-cost 2");
    assert_eq!(told.code, 0, "{}{}", told.out, told.err);
    let told = run("windlass plan -f deploy/examples/plan -f deploy/examples/plan-changes");
    assert_eq!(told.code, 2, "{}{}", told.out, told.err);
}

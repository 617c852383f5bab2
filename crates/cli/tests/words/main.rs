//! What the binary says to people: its help, its custom resources, and why it does not start.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic fails the test")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::json;

/// The binary, in an environment that says nothing about clusters.
fn windlass(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(arguments).env_clear().env("HOME", "/nonexistent");
    command
}

fn printed(arguments: &[&str]) -> String {
    let output = windlass(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// What a command that fails says, which is no panic.
fn complaint(output: &Output) -> String {
    assert!(!output.status.success(), "{output:?}");
    let words = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(!words.contains("panicked"), "{words}");
    words
}

fn refused(arguments: &[&str]) -> String {
    complaint(&windlass(arguments).output().unwrap())
}

/// A kubeconfig with the context `here` for a server at which nobody listens.
fn kubeconfig(folder: &Path) -> String {
    let path = folder.join("kubeconfig");
    let content = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "here",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"token": "secret"}}],
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
    });
    fs::write(&path, content.to_string()).unwrap();
    path.display().to_string()
}

#[test]
fn the_help_names_the_commands() {
    let help = printed(&["--help"]);
    for word in ["run", "plan", "explain", "import", "crds", "--version"] {
        assert!(help.contains(word), "{word} is missing:\n{help}");
    }
}

#[test]
fn every_flag_of_run_is_in_its_help_with_its_variable() {
    let help = printed(&["run", "--help"]);
    let flags: Vec<&str> = help.lines().filter_map(|line| line.trim().strip_prefix("--")).collect();
    assert!(flags.len() > 20, "{help}");
    for flag in flags {
        let name = flag.split(' ').next().unwrap();
        let variable = match name {
            "kubeconfig" => "KUBECONFIG".to_owned(),
            _ => format!("WINDLASS_{}", name.replace('-', "_").to_uppercase()),
        };
        assert!(help.contains(&format!("[env: {variable}=")), "--{name} has no {variable}:\n{help}");
    }
    for default in [
        "[default: windlass-system]",
        "[default: 0.0.0.0:8080]",
        "[default: 15s]",
        "[default: -10]",
        "[default: respect]",
    ] {
        assert!(help.contains(default), "{default} is missing:\n{help}");
    }
}

#[test]
fn the_custom_resources_are_those_in_the_repository() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/crds");
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 3, "{files:?}");
    let output = printed(&["crds"]);
    let mut documents: Vec<&str> = output.split("---\n").skip(1).collect();
    assert_eq!(documents.len(), files.len());
    documents.sort_by_key(|document| {
        document.lines().find(|line| line.starts_with("  name: ")).map(str::to_owned)
    });
    for (document, file) in documents.iter().zip(&files) {
        assert_eq!(*document, fs::read_to_string(file).unwrap(), "{}: cargo xtask generate", file.display());
    }
}

#[test]
fn a_kubeconfig_file_that_is_missing_or_broken_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing").display().to_string();
    let words = refused(&["run", "--kubeconfig", &missing]);
    assert!(words.contains(&missing) && words.contains("No such file"), "{words}");
    assert_eq!(words.matches("No such file").count(), 1, "said twice: {words}");

    let broken = folder.path().join("broken").display().to_string();
    fs::write(&broken, "contexts: [").unwrap();
    let words = refused(&["run", "--kubeconfig", &broken]);
    assert!(words.contains(&broken), "{words}");
}

#[test]
fn a_context_that_does_not_exist_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let words = refused(&["run", "--kubeconfig", &kubeconfig(folder.path()), "--context", "elsewhere"]);
    assert!(words.contains("elsewhere"), "{words}");
}

#[test]
fn a_context_is_looked_for_also_in_the_usual_place() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".kube");
    fs::create_dir(&folder).unwrap();
    fs::rename(kubeconfig(&folder), folder.join("config")).unwrap();
    let run = |context: &str| {
        let arguments = ["run", "--listen", "127.0.0.1:0", "--context", context];
        complaint(&windlass(&arguments).env("HOME", home.path()).output().unwrap())
    };
    assert!(run("elsewhere").contains("elsewhere"), "the context was ignored");
    assert!(run("here").contains("https://127.0.0.1:1"), "the context was not found");
}

#[test]
fn the_variable_for_the_kubeconfig_file_is_read_as_kubectl_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let list = format!("/nonexistent/a:{}", kubeconfig(folder.path()));
    let run = |value: &str| complaint(&windlass(&["run"]).env("KUBECONFIG", value).output().unwrap());
    assert!(run(&list).contains("https://127.0.0.1:1"), "{}", run(&list));
    assert!(run("").contains("give --kubeconfig"), "{}", run(""));
}

#[test]
fn without_any_cluster_it_says_how_to_name_one() {
    let words = refused(&["run"]);
    assert!(words.contains("give --kubeconfig or run inside one"), "{words}");
}

#[test]
fn an_api_server_that_cannot_be_reached_is_named_with_what_to_check() {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = kubeconfig(folder.path());
    for more in [&[][..], &["--cluster-id", "here"]] {
        let arguments = [&["run", "--listen", "127.0.0.1:0", "--kubeconfig", &kubeconfig], more].concat();
        let words = refused(&arguments);
        for part in ["https://127.0.0.1:1", "cannot be reached", "check the address", "refused"] {
            assert!(words.contains(part), "{part} is missing: {words}");
        }
        assert!(!words.contains("give --cluster-id"), "this would not help: {words}");
    }
}

#[test]
fn times_that_would_let_two_replicas_write_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = kubeconfig(folder.path());
    let words = refused(&["run", "--kubeconfig", &kubeconfig, "--renew-deadline", "15s"]);
    assert!(words.contains("--renew-deadline must be shorter than --lease-duration"), "{words}");
    let words = refused(&["run", "--kubeconfig", &kubeconfig, "--lease-retry", "10s"]);
    assert!(words.contains("--lease-retry must be shorter than --renew-deadline"), "{words}");
}

#[test]
fn values_that_mean_nothing_are_refused_with_the_flags_name() {
    for (flag, value, advice) in [
        ("--batch-idle", "soon", "45s"),
        ("--sweep-interval", "0s", "zero"),
        ("--lease-retry", "0ms", "zero"),
        ("--listen", "here", "--listen"),
        ("--log-format", "xml", "json"),
        ("--identity", "", "--identity"),
        ("--namespace", "", "--namespace"),
        ("--scope", "", "--scope"),
        ("--scope", "Team A", "lower-case"),
        ("--log", "info,windlass=loud", "trace"),
        ("--log", "inof", "info"),
        ("--min-priority", "low", "--min-priority"),
        ("--preferences", "perhaps", "respect"),
    ] {
        let words = refused(&["run", flag, value]);
        assert!(words.contains(flag) && words.contains(advice), "{flag} {value:?}: {words}");
    }
}

#[test]
fn a_negative_priority_is_a_value_and_not_a_flag() {
    let words = refused(&["run", "--min-priority", "-5", "--preferences", "ignore"]);
    assert!(words.contains("give --kubeconfig or run inside one"), "{words}");
}

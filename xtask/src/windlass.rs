use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use windlass_testkit::{ControlPlane, WindlassProcess};

use crate::cargo;

/// Builds the binary `windlass` and says where it is.
pub(crate) fn build(release: bool) -> Result<PathBuf> {
    let mut command = cargo(["build", "--quiet", "--package", "windlass-cli", "--bin", "windlass"]);
    command.args(["--message-format", "json-render-diagnostics"]);
    if release {
        command.arg("--release");
    }
    let output = command.stderr(std::process::Stdio::inherit()).output().context("cannot run cargo")?;
    ensure!(output.status.success(), "windlass does not build");
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let message: serde_json::Value = serde_json::from_str(line)?;
        let is_binary = message["reason"] == "compiler-artifact" && message["target"]["name"] == "windlass";
        if let Some(path) = message["executable"].as_str().filter(|_| is_binary) {
            return Ok(path.into());
        }
    }
    bail!("cargo did not say where it put windlass");
}

/// Installs the custom resources and starts `windlass run` against a plane.
pub(crate) async fn start(
    plane: &ControlPlane,
    program: &std::path::Path,
    more: &[&str],
) -> Result<WindlassProcess> {
    windlass_testkit::install_crds(&plane.client()?)
        .await
        .context("the custom resources cannot be installed")?;
    kubectl(plane, &["create", "namespace", "windlass-system"])?;
    let kubeconfig = plane.kubeconfig_path().display().to_string();
    let mut arguments: Vec<String> =
        ["run", "--listen", "127.0.0.1:0", "--kubeconfig", &kubeconfig].map(ToOwned::to_owned).into();
    arguments.extend(more.iter().map(|argument| (*argument).to_owned()));
    let log = plane.folder().join("windlass.log");
    Ok(WindlassProcess::start(program, &arguments, &[], &log)?)
}

/// Runs kubectl, and fails with its words if it does.
pub(crate) fn kubectl(plane: &ControlPlane, arguments: &[&str]) -> Result<String> {
    let output = plane.kubectl(arguments)?;
    let words = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "kubectl {} failed: {}", arguments.join(" "), words.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

use anyhow::{Context, Result};
use windlass_testkit::ControlPlane;

/// Runs a control plane until interrupted.
pub(crate) async fn run() -> Result<()> {
    let plane = ControlPlane::start().await.context("the control plane does not start")?;
    println!("{}", plane.kubeconfig_path().display());
    let (kubectl, subcommand) = plane.kubectl_command();
    eprintln!("kubectl: {} {}", kubectl.display(), subcommand.unwrap_or_default());
    eprintln!("running until interrupted (Ctrl-C)");
    tokio::signal::ctrl_c().await?;
    Ok(())
}

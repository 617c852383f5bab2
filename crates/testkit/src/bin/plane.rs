//! Runs a control plane by hand: prints where it is and which processes it consists of, one per line, and runs until
//! standard input ends.

use std::io;

use windlass_testkit::ControlPlane;

#[expect(clippy::print_stdout, reason = "this is a command")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let plane = runtime.block_on(ControlPlane::start())?;
    println!("kubeconfig {}", plane.kubeconfig_path().display());
    for (component, pid) in plane.process_ids() {
        println!("{} {pid}", component.name());
    }
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}

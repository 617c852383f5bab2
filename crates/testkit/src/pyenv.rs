//! Virtual environments with Python packages that tests are run against, installed once per list of packages.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cache::{cache_dir, made_once};
use crate::error::PlaneUnavailable;
use crate::log::last_lines;

/// A virtual environment with these packages, installed now when it is not in the cache yet. Each requirement is an argument
/// of `pip install`, such as `sushy-tools==2.2.0`; without a version the environment would differ from machine to machine.
/// Its programs are in `bin`. This blocks the thread.
pub fn venv(requirements: &[&str]) -> Result<PathBuf, PlaneUnavailable> {
    let python = python_version()?;
    let environment = cache_dir()?.join(format!("python-{:016x}", key(requirements, &python)));
    // Its programs name the folder they are in, so it is made in place, and is complete once this file is there.
    let complete = environment.join("complete");
    made_once(
        &environment,
        || complete.exists(),
        || {
            install(&environment, requirements)?;
            fs::write(&complete, requirements.join("\n")).map_err(PlaneUnavailable::files("write", &complete))
        },
    )?;
    Ok(environment)
}

/// The file of a package in a virtual environment, wherever its Python keeps them.
pub fn package_file(environment: &Path, file: &str) -> Result<PathBuf, PlaneUnavailable> {
    let lib = environment.join("lib");
    let entries = fs::read_dir(&lib).map_err(PlaneUnavailable::files("list", &lib))?;
    let found = entries.flatten().map(|entry| entry.path().join("site-packages").join(file));
    found.into_iter().find(|path| path.exists()).ok_or_else(|| {
        let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
        PlaneUnavailable::files("find a package's file", lib.join("*/site-packages").join(file))(missing)
    })
}

fn key(requirements: &[&str], python: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (requirements, python).hash(&mut hasher);
    hasher.finish()
}

fn python_version() -> Result<String, PlaneUnavailable> {
    let output = Command::new("python3")
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(|source| PlaneUnavailable::PythonMissing { source })?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn install(environment: &Path, requirements: &[&str]) -> Result<(), PlaneUnavailable> {
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(environment), requirements)?;
    let pip = ["install", "--quiet", "--disable-pip-version-check", "--no-input"];
    run(Command::new(environment.join("bin/pip")).args(pip).args(requirements), requirements)
}

fn run(command: &mut Command, requirements: &[&str]) -> Result<(), PlaneUnavailable> {
    let unavailable =
        |output: String| PlaneUnavailable::PackagesMissing { packages: requirements.join(", "), output };
    let output = command.stdin(Stdio::null()).output().map_err(|error| unavailable(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(unavailable(last_lines(&String::from_utf8_lossy(&output.stderr), 10)))
}

#[cfg(test)]
mod tests {
    use super::key;

    #[test]
    fn other_packages_or_another_python_are_another_environment() {
        assert_eq!(key(&["a==1", "b==2"], "3.11"), key(&["a==1", "b==2"], "3.11"));
        assert_ne!(key(&["a==1", "b==2"], "3.11"), key(&["a==1b==2"], "3.11"));
        assert_ne!(key(&["a==1"], "3.11"), key(&["a==1"], "3.12"));
    }
}

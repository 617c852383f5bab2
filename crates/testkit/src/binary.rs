//! Builds `tools/controlplane`, once per version of its sources, and finds it again afterwards.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::PlaneUnavailable;
use crate::log::last_lines;

const MODULE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/controlplane");

/// The control plane's binary, built when it is not in the cache yet.
///
/// The build takes minutes and several test processes may ask at once, so one of them builds while the others wait
/// for a lock file. This blocks the thread.
pub fn controlplane_binary() -> Result<PathBuf, PlaneUnavailable> {
    let module = fs::canonicalize(MODULE)
        .map_err(PlaneUnavailable::files("find the control plane's sources in", MODULE))?;
    let sources = read_sources(&module)?;
    let go = go_version()?;
    let cache = cache_dir(|name| env::var_os(name).map(PathBuf::from))?;
    fs::create_dir_all(&cache).map_err(PlaneUnavailable::files("create", &cache))?;

    let binary = cache.join(format!("controlplane-{:016x}", key(&sources, &go)));
    if binary.exists() {
        return Ok(binary);
    }
    let lock_path = binary.with_extension("lock");
    let lock = File::create(&lock_path).map_err(PlaneUnavailable::files("create", &lock_path))?;
    lock.lock().map_err(PlaneUnavailable::files("lock", &lock_path))?;
    if !binary.exists() {
        build(&module, &kubernetes_version(&sources), &binary)?;
    }
    Ok(binary)
}

type Sources = BTreeMap<PathBuf, Vec<u8>>;

fn read_sources(module: &Path) -> Result<Sources, PlaneUnavailable> {
    let entries = fs::read_dir(module).map_err(PlaneUnavailable::files("list", module))?;
    let mut sources = Sources::new();
    for entry in entries {
        let path = entry.map_err(PlaneUnavailable::files("list", module))?.path();
        let wanted = path
            .extension()
            .is_some_and(|extension| ["go", "mod", "sum"].map(OsStr::new).contains(&extension));
        if wanted {
            let contents = fs::read(&path).map_err(PlaneUnavailable::files("read", &path))?;
            sources.insert(path, contents);
        }
    }
    Ok(sources)
}

/// Names a build by what went into it, not by where: two checkouts of the same sources share one binary.
fn key(sources: &Sources, go: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    go.hash(&mut hasher);
    for (path, contents) in sources {
        path.file_name().hash(&mut hasher);
        contents.hash(&mut hasher);
    }
    hasher.finish()
}

fn go_version() -> Result<String, PlaneUnavailable> {
    let output = Command::new("go").arg("version").stdin(Stdio::null()).output().map_err(|source| {
        PlaneUnavailable::GoMissing { missing: crate::programs::Component::names().join(", "), source }
    })?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn cache_dir(variable: impl Fn(&str) -> Option<PathBuf>) -> Result<PathBuf, PlaneUnavailable> {
    variable("WINDLASS_CACHE_DIR")
        .or_else(|| Some(variable("XDG_CACHE_HOME")?.join("windlass")))
        .or_else(|| Some(variable("HOME")?.join(".cache/windlass")))
        .ok_or(PlaneUnavailable::NoCache)
}

/// The version required in `go.mod`, so that it is written down once.
fn kubernetes_version(sources: &Sources) -> String {
    sources
        .iter()
        .filter(|(path, _)| path.ends_with("go.mod"))
        .flat_map(|(_, contents)| str::from_utf8(contents).unwrap_or_default().lines())
        .find_map(|line| line.trim().strip_prefix("k8s.io/kubernetes "))
        .unwrap_or("v0.0.0")
        .to_owned()
}

/// Kubernetes components take their version from the linker; left out, `kubectl version` fails.
fn linker_flags(version: &str) -> String {
    let mut numbers = version.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or("0"), numbers.next().unwrap_or("0"));
    let values =
        [("gitVersion", version), ("gitMajor", major), ("gitMinor", minor), ("gitTreeState", "clean")];
    let mut flags = vec!["-s -w".to_owned()];
    for package in ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"] {
        flags.extend(values.map(|(name, value)| format!("-X {package}.{name}={value}")));
    }
    flags.join(" ")
}

#[expect(clippy::print_stderr, reason = "minutes of silence look like a hang")]
fn build(module: &Path, version: &str, binary: &Path) -> Result<(), PlaneUnavailable> {
    eprintln!("building the test control plane (Kubernetes {version}); the first time this takes minutes");
    let go = |arguments: &[&str]| {
        let mut command = Command::new("go");
        command.current_dir(module).args(arguments).env("CGO_ENABLED", "0").stdin(Stdio::null());
        let output = command.output().map_err(PlaneUnavailable::files("run `go` in", module))?;
        let words = last_lines(&String::from_utf8_lossy(&output.stderr), 10);
        Ok(if output.status.success() { Ok(()) } else { Err(words) })
    };
    // Loading the packages downloads what is missing, so that what fails afterwards is not the network.
    if let Err(output) = go(&["list", "-deps", "."])? {
        return Err(PlaneUnavailable::ModulesMissing { module: module.to_owned(), output });
    }
    let unfinished = binary.with_extension("unfinished");
    let (flags, target) = (linker_flags(version), unfinished.display().to_string());
    if let Err(output) =
        go(&["build", "-trimpath", "-buildvcs=false", "-ldflags", &flags, "-o", &target, "."])?
    {
        return Err(PlaneUnavailable::BuildFailed { module: module.to_owned(), output });
    }
    fs::rename(&unfinished, binary).map_err(PlaneUnavailable::files("move into place", binary))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_where_the_first_variable_that_is_set_says() {
        let among = |set: &'static [(&str, &str)]| {
            cache_dir(move |name| {
                set.iter().find(|(key, _)| *key == name).map(|(_, value)| PathBuf::from(value))
            })
        };
        let all = among(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x"), ("WINDLASS_CACHE_DIR", "/w")]);
        assert_eq!(all.unwrap(), Path::new("/w"));
        assert_eq!(among(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")]).unwrap(), Path::new("/x/windlass"));
        assert_eq!(among(&[("HOME", "/h")]).unwrap(), Path::new("/h/.cache/windlass"));
        assert!(matches!(among(&[]), Err(PlaneUnavailable::NoCache)));
    }

    #[test]
    fn a_change_of_the_sources_or_of_go_changes_the_key() {
        let sources = |text: &str| Sources::from([(PathBuf::from("main.go"), text.as_bytes().to_vec())]);
        assert_eq!(key(&sources("a"), "go1"), key(&sources("a"), "go1"));
        assert_ne!(key(&sources("a"), "go1"), key(&sources("b"), "go1"));
        assert_ne!(key(&sources("a"), "go1"), key(&sources("a"), "go2"));
    }

    #[test]
    fn the_version_comes_from_the_module_file() {
        let sources = read_sources(Path::new(MODULE)).unwrap();
        let version = kubernetes_version(&sources);
        assert!(version.starts_with("v1."), "{version}");
        assert!(linker_flags(&version).contains(&format!("version.gitVersion={version}")));
    }
}

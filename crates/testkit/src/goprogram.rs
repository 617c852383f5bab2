//! Builds programs of Go modules, once per version of their sources, and finds them again afterwards.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cache::{cache_dir, made_once};
use crate::error::PlaneUnavailable;
use crate::log::last_lines;

/// A program that one of the modules in `tools` builds.
#[derive(Debug)]
pub(crate) struct GoProgram {
    /// What the built file's name begins with.
    pub(crate) name: &'static str,
    /// What people call it.
    pub(crate) title: &'static str,
    /// The module's folder.
    pub(crate) module: &'static str,
    /// The main package: the module's own, or one of those that it requires.
    pub(crate) package: &'static str,
    /// The build tags.
    pub(crate) tags: &'static [&'static str],
    /// The required module whose version is the program's.
    pub(crate) version_of: &'static str,
    /// What the linker is told, given that version.
    pub(crate) linker_flags: fn(&str) -> String,
    /// What to do where there is no Go to build it with.
    pub(crate) instead: fn() -> String,
}

impl GoProgram {
    /// The built program, built now when it is not in the cache yet.
    /// This blocks the thread, for minutes when there is something to build.
    pub(crate) fn binary(&self) -> Result<PathBuf, PlaneUnavailable> {
        let module = fs::canonicalize(self.module)
            .map_err(PlaneUnavailable::files("find a program's sources in", self.module))?;
        let sources = read_sources(&module)?;
        let go = self.go_version()?;
        let binary = cache_dir()?.join(format!("{}-{:016x}", self.name, self.key(&sources, &go)));
        made_once(&binary, || binary.exists(), || self.build(&module, &self.version(&sources), &binary))?;
        Ok(binary)
    }

    /// Names a build by what went into it, not by where: two checkouts of the same sources share one binary.
    fn key(&self, sources: &Sources, go: &str) -> u64 {
        let mut hasher = DefaultHasher::new();
        go.hash(&mut hasher);
        for tag in self.tags {
            tag.hash(&mut hasher);
        }
        for (path, contents) in sources {
            path.file_name().hash(&mut hasher);
            contents.hash(&mut hasher);
        }
        hasher.finish()
    }

    fn go_version(&self) -> Result<String, PlaneUnavailable> {
        let output = Command::new("go")
            .arg("version")
            .stdin(Stdio::null())
            .output()
            .map_err(|source| PlaneUnavailable::GoMissing { instead: (self.instead)(), source })?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The version required in `go.mod`, so that it is written down once.
    fn version(&self, sources: &Sources) -> String {
        sources
            .iter()
            .filter(|(path, _)| path.ends_with("go.mod"))
            .flat_map(|(_, contents)| str::from_utf8(contents).unwrap_or_default().lines())
            .find_map(|line| line.trim().strip_prefix(self.version_of)?.strip_prefix(' '))
            .unwrap_or("v0.0.0")
            .to_owned()
    }

    #[expect(clippy::print_stderr, reason = "minutes of silence look like a hang")]
    fn build(&self, module: &Path, version: &str, binary: &Path) -> Result<(), PlaneUnavailable> {
        eprintln!("building {} ({version}); the first time this takes minutes", self.title);
        let tags = format!("-tags={}", self.tags.join(","));
        let go = |arguments: &[&str]| {
            let mut command = Command::new("go");
            command.current_dir(module).args(arguments).env("CGO_ENABLED", "0").stdin(Stdio::null());
            let output = command.output().map_err(PlaneUnavailable::files("run `go` in", module))?;
            let words = last_lines(&String::from_utf8_lossy(&output.stderr), 10);
            Ok(if output.status.success() { Ok(()) } else { Err(words) })
        };
        // Loading the packages downloads what is missing, so that what fails afterwards is not the network.
        if let Err(output) = go(&["list", "-deps", &tags, self.package])? {
            return Err(PlaneUnavailable::ModulesMissing { module: module.to_owned(), output });
        }
        let unfinished = binary.with_extension("unfinished");
        let (flags, target) = ((self.linker_flags)(version), unfinished.display().to_string());
        let linked = ["-trimpath", "-buildvcs=false", "-ldflags", &flags, "-o", &target, self.package];
        if let Err(output) = go(&[&["build", &tags], &linked[..]].concat())? {
            return Err(PlaneUnavailable::BuildFailed { module: module.to_owned(), output });
        }
        fs::rename(&unfinished, binary).map_err(PlaneUnavailable::files("move into place", binary))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: GoProgram = GoProgram {
        name: "program",
        title: "a program",
        module: ".",
        package: ".",
        tags: &[],
        version_of: "example.com/thing",
        linker_flags: |_| String::new(),
        instead: String::new,
    };

    fn sources(name: &str, text: &str) -> Sources {
        Sources::from([(PathBuf::from(name), text.as_bytes().to_vec())])
    }

    #[test]
    fn a_change_of_the_sources_the_tags_or_go_changes_the_key() {
        let key = |text: &str, go: &str| PROGRAM.key(&sources("main.go", text), go);
        assert_eq!(key("a", "go1"), key("a", "go1"));
        assert_ne!(key("a", "go1"), key("b", "go1"));
        assert_ne!(key("a", "go1"), key("a", "go2"));
        let tagged = GoProgram { tags: &["some"], ..PROGRAM };
        assert_ne!(key("a", "go1"), tagged.key(&sources("main.go", "a"), "go1"));
    }

    #[test]
    fn the_version_is_that_of_the_module_it_is_named_after_and_of_no_longer_name() {
        let module = "require (\n\texample.com/thing/part v3.0.0\n\texample.com/thing v1.2.3\n)\n";
        assert_eq!(PROGRAM.version(&sources("go.mod", module)), "v1.2.3");
    }
}

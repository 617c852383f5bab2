use std::borrow::Cow;

use super::kind::{KINDS, ResourceKind};

/// What a path leads to.
#[derive(Debug, PartialEq)]
pub(super) struct Target<'a> {
    pub kind: &'static ResourceKind,
    /// Empty where the path names none.
    pub namespace: &'a str,
    /// Empty where the path is that of all objects.
    pub name: &'a str,
    /// Empty for the object itself.
    pub subresource: &'a str,
}

impl PartialEq for ResourceKind {
    fn eq(&self, other: &Self) -> bool {
        self.place == other.place
    }
}

impl<'a> Target<'a> {
    /// What a path leads to, if to anything.
    pub fn of(path: &'a str) -> Option<Self> {
        let mut steps = path.trim_matches('/').split('/');
        let (group, version) = match steps.next()? {
            "api" => ("", steps.next()?),
            "apis" => (steps.next()?, steps.next()?),
            _ => return None,
        };
        let steps: Vec<&str> = steps.collect();
        let (namespace, rest) = match steps.as_slice() {
            // A namespace's own objects, and not the namespace itself or its status.
            ["namespaces", namespace, rest @ ..] if !matches!(rest, [] | ["status" | "finalize"]) => {
                (*namespace, rest)
            }
            rest => ("", rest),
        };
        let (plural, name, subresource) = match rest {
            [plural] => (*plural, "", ""),
            [plural, name] => (*plural, *name, ""),
            [plural, name, subresource] => (*plural, *name, *subresource),
            _ => return None,
        };
        let kind = ResourceKind::served(group, version, plural)?;
        let is_object = !name.is_empty();
        let fits = if kind.namespaced { !namespace.is_empty() || !is_object } else { namespace.is_empty() };
        let has_subresource = match subresource {
            "" => true,
            "status" => kind.has_status,
            "eviction" | "binding" => kind == &KINDS[0],
            _ => false,
        };
        (fits && has_subresource).then_some(Self { kind, namespace, name, subresource })
    }
}

/// The parameters of a request.
#[derive(Debug)]
pub(super) struct Query<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Query<'a> {
    pub fn read(query: Option<&'a str>) -> Self {
        Self(form_urlencoded::parse(query.unwrap_or_default().as_bytes()).collect())
    }

    /// A parameter that is given and not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, value)| key == name && !value.is_empty()).map(|(_, value)| &**value)
    }

    pub fn is_set(&self, name: &str) -> bool {
        matches!(self.get(name), Some("true" | "1"))
    }
}

#[cfg(test)]
mod tests {
    use super::Target;

    fn target(path: &str) -> Option<(&'static str, &str, &str, &str)> {
        Target::of(path).map(|target| (target.kind.kind, target.namespace, target.name, target.subresource))
    }

    #[test]
    fn paths_lead_to_kinds_namespaces_objects_and_parts_of_them() {
        assert_eq!(target("/api/v1/pods"), Some(("Pod", "", "", "")));
        assert_eq!(target("/api/v1/namespaces/a/pods/p/eviction"), Some(("Pod", "a", "p", "eviction")));
        assert_eq!(target("/api/v1/namespaces/a"), Some(("Namespace", "", "a", "")));
        assert_eq!(target("/api/v1/namespaces/a/status"), Some(("Namespace", "", "a", "status")));
        let status = target("/apis/windlass.dev/v1alpha1/nodeclaims/c/status");
        assert_eq!(status, Some(("NodeClaim", "", "c", "status")));
        assert_eq!(target("/apis/autoscaling.x-k8s.io/v1beta1/capacitybuffers"), None);
        assert_eq!(target("/api/v1/pods/p"), None);
        assert_eq!(target("/api/v1/nodes/n/eviction"), None);
    }
}

use k8s_openapi::api::core::v1::{Container, ContainerPort, PodSpec};
use windlass_core::model::HostPort;

/// The ports that a pod takes of its node, as kube-scheduler counts them: those of the containers and of the sidecars,
/// not of what only runs before them.
pub(super) fn host_ports(spec: &PodSpec) -> Vec<HostPort> {
    let sidecar = |container: &&Container| container.restart_policy.as_deref() == Some("Always");
    let sidecars = spec.init_containers.iter().flatten().filter(sidecar);
    let ports = sidecars.chain(&spec.containers).flat_map(|container| container.ports.iter().flatten());
    let on_host = spec.host_network.unwrap_or(false);
    ports.filter_map(|port| host_port(port, on_host)).collect()
}

/// In the host's network every port is one of the host. The API server writes that into pods, not into the templates that
/// they are made from.
fn host_port(port: &ContainerPort, on_host: bool) -> Option<HostPort> {
    let said = port.host_port.filter(|number| *number != 0);
    let number = said.or(on_host.then_some(port.container_port))?;
    let or = |text: Option<&String>, default: &str| {
        text.filter(|text| !text.is_empty()).map_or(default, String::as_str).into()
    };
    Some(HostPort {
        protocol: or(port.protocol.as_ref(), "TCP"),
        address: or(port.host_ip.as_ref(), "0.0.0.0"),
        port: u16::try_from(number).ok().filter(|number| *number > 0)?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    fn ports(spec: Value) -> Vec<String> {
        let ports = super::host_ports(&serde_json::from_value(spec).unwrap());
        ports.iter().map(|port| format!("{} {}:{}", port.protocol, port.address, port.port)).collect()
    }

    #[test]
    fn a_port_of_the_host_is_taken_with_its_protocol_and_address() {
        let spec = json!({"containers": [{"name": "c", "ports": [
            {"containerPort": 80},
            {"containerPort": 80, "hostPort": 8080},
            {"containerPort": 53, "hostPort": 53, "protocol": "UDP", "hostIP": "10.0.0.1"},
            {"containerPort": 81, "hostPort": 0},
            {"containerPort": 81, "hostPort": 70000},
            {"containerPort": 81, "hostPort": -1, "protocol": "", "hostIP": ""},
        ]}]});
        assert_eq!(ports(spec), ["TCP 0.0.0.0:8080", "UDP 10.0.0.1:53"]);
    }

    #[test]
    fn sidecars_count_and_what_runs_before_does_not() {
        let container = |port: u16, policy: Option<&str>| json!({"name": "c", "restartPolicy": policy, "ports": [{"containerPort": 80, "hostPort": port}]});
        let spec = json!({
            "initContainers": [container(1, None), container(2, Some("Always"))],
            "containers": [container(3, None)],
        });
        assert_eq!(ports(spec), ["TCP 0.0.0.0:2", "TCP 0.0.0.0:3"]);
    }

    #[test]
    fn in_the_network_of_the_host_every_port_is_one_of_the_host() {
        let spec =
            json!({"hostNetwork": true, "containers": [{"name": "c", "ports": [{"containerPort": 9100}]}]});
        assert_eq!(ports(spec), ["TCP 0.0.0.0:9100"]);
    }
}

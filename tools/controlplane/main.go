// Command controlplane is a whole Kubernetes control plane in one binary: etcd, kube-apiserver,
// kube-scheduler, kube-controller-manager, kubectl and KWOK as subcommands, built from their published
// modules. It exists for Windlass's tests and demo and has no kubelet and no container runtime.
//
// The component is named by the first argument, or by the name the binary is called under, so that a link
// called kubectl to this binary is a kubectl.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

var components = map[string]func() int{
	"etcd":                    runEtcd,
	"kube-apiserver":          runAPIServer,
	"kube-scheduler":          runScheduler,
	"kube-controller-manager": runControllerManager,
	"kubectl":                 runKubectl,
	"kwok":                    runKwok,
}

func main() {
	if run, ok := components[filepath.Base(os.Args[0])]; ok {
		os.Exit(run())
	}
	if len(os.Args) > 1 {
		if run, ok := components[os.Args[1]]; ok {
			// The components parse os.Args themselves.
			os.Args = os.Args[1:]
			os.Exit(run())
		}
	}
	names := make([]string, 0, len(components))
	for name := range components {
		names = append(names, name)
	}
	sort.Strings(names)
	fmt.Fprintf(os.Stderr, "usage: controlplane COMPONENT [FLAGS]\ncomponents: %s\n", strings.Join(names, ", "))
	os.Exit(64)
}

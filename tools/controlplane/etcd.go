package main

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// runEtcd serves a single etcd member over plain HTTP, which is why it should listen on loopback only.
func runEtcd() int {
	flags := flag.NewFlagSet("etcd", flag.ExitOnError)
	dataDir := flags.String("data-dir", "", "where to keep the data")
	client := flags.String("listen-client-urls", "", "the URL to serve clients on")
	unsafeNoFsync := flags.Bool("unsafe-no-fsync", false, "trade durability over power loss for speed")
	_ = flags.Parse(os.Args[1:])

	clientURL, err := url.Parse(*client)
	if err != nil || clientURL.Host == "" || *dataDir == "" {
		fmt.Fprintln(os.Stderr, "etcd: --data-dir and --listen-client-urls are required")
		return 64
	}
	config := embed.NewConfig()
	config.Dir = *dataDir
	config.UnsafeNoFsync = *unsafeNoFsync
	config.ListenClientUrls = []url.URL{*clientURL}
	config.AdvertiseClientUrls = []url.URL{*clientURL}
	// A single member has no peers to listen for, and a fixed peer port would clash between planes.
	config.ListenPeerUrls = nil
	config.LogLevel = "error"
	// Left at zero, every request is logged as slow.
	config.WarningUnaryRequestDuration = time.Minute

	server, err := embed.StartEtcd(config)
	if err != nil {
		fmt.Fprintf(os.Stderr, "etcd: %v\n", err)
		return 1
	}
	defer server.Close()
	err = <-server.Err()
	fmt.Fprintf(os.Stderr, "etcd: %v\n", err)
	return 1
}

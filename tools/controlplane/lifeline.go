package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
)

// lifelineVariable asks a component to end when its standard input does. Whoever starts the component holds
// the other end of that pipe, so however that process ends, SIGKILL included, nothing is left behind.
const lifelineVariable = "CONTROLPLANE_LIFELINE"

func dieWithParent() {
	if os.Getenv(lifelineVariable) != "stdin" {
		return
	}
	go func() {
		waitForParentsEnd()
		os.Exit(0)
	}()
}

func waitForParentsEnd() {
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// runBabysit gives a lifeline to a program that has none: `babysit PROGRAM [ARGS]` starts the program, prints
// its process id on the first line of standard error, and kills it when standard input ends.
func runBabysit() int {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: controlplane babysit PROGRAM [ARGS]")
		return 64
	}
	child := exec.Command(os.Args[1], os.Args[2:]...)
	child.Stdout = os.Stdout
	child.Stderr = os.Stderr
	if err := child.Start(); err != nil {
		fmt.Fprintf(os.Stderr, "babysit: cannot start %s: %v\n", os.Args[1], err)
		return 127
	}
	fmt.Fprintf(os.Stderr, "%d\n", child.Process.Pid)
	go func() {
		waitForParentsEnd()
		_ = child.Process.Kill()
	}()
	if err := child.Wait(); err != nil {
		if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() >= 0 {
			return exit.ExitCode()
		}
		return 1
	}
	return 0
}

// grpcfixtures encodes messages of Cluster Autoscaler's protocol with Google's implementation of protobuf, and Nodes and Pods
// with that of Kubernetes, for tests of ours; and it reads with theirs what ours has encoded.
//
//	go run . write FOLDER    writes FOLDER/*.hex from cases.json and from FOLDER/node.json and FOLDER/pod.json
//	go run . check FOLDER    reads FOLDER/node-by-windlass.hex and compares it with FOLDER/node.json
package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

const contract = "contract.proto"

// A message to write. An object of Kubernetes, if one is named, becomes the value of the field `into`.
type fixture struct {
	File    string
	Message string
	Value   json.RawMessage
	Object  string
	Into    string
}

func main() {
	if len(os.Args) != 3 || (os.Args[1] != "write" && os.Args[1] != "check") {
		log.Fatal("usage: grpcfixtures write|check FOLDER")
	}
	act := write
	if os.Args[1] == "check" {
		act = check
	}
	if err := act(os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func write(folder string) error {
	messages, err := compile()
	if err != nil {
		return err
	}
	var node corev1.Node
	var pod corev1.Pod
	objects := map[string][]byte{}
	for name, object := range map[string]interface{ Marshal() ([]byte, error) }{"node": &node, "pod": &pod} {
		if err := read(filepath.Join(folder, name+".json"), object); err != nil {
			return err
		}
		encoded, err := object.Marshal()
		if err != nil {
			return err
		}
		objects[name] = encoded
		if err := save(folder, name, encoded); err != nil {
			return err
		}
	}
	var fixtures []fixture
	if err := read("cases.json", &fixtures); err != nil {
		return err
	}
	for _, fixture := range fixtures {
		encoded, err := fixture.encode(messages, objects)
		if err != nil {
			return fmt.Errorf("%s: %w", fixture.File, err)
		}
		if err := save(folder, fixture.File, encoded); err != nil {
			return err
		}
	}
	return nil
}

func (f fixture) encode(messages protoreflect.MessageDescriptors, objects map[string][]byte) ([]byte, error) {
	descriptor := messages.ByName(protoreflect.Name(f.Message))
	if descriptor == nil {
		return nil, fmt.Errorf("the contract has no message %s", f.Message)
	}
	message := dynamicpb.NewMessage(descriptor)
	if err := protojson.Unmarshal(f.Value, message); err != nil {
		return nil, err
	}
	if f.Object != "" {
		field := descriptor.Fields().ByName(protoreflect.Name(f.Into))
		if field.Kind() == protoreflect.BytesKind {
			message.Set(field, protoreflect.ValueOfBytes(objects[f.Object]))
		} else if err := proto.Unmarshal(objects[f.Object], message.Mutable(field).Message().Interface()); err != nil {
			return nil, err
		}
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(message)
}

// check decodes as Cluster Autoscaler does it.
func check(folder string) error {
	text, err := os.ReadFile(filepath.Join(folder, "node-by-windlass.hex"))
	if err != nil {
		return err
	}
	encoded, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	if err != nil {
		return err
	}
	var ours, theirs corev1.Node
	if err := ours.Unmarshal(encoded); err != nil {
		return err
	}
	if err := read(filepath.Join(folder, "node.json"), &theirs); err != nil {
		return err
	}
	theirs = carried(theirs)
	if !equality.Semantic.DeepEqual(ours, theirs) {
		return fmt.Errorf("decoded:\n%+v\nexpected:\n%+v", ours, theirs)
	}
	fmt.Println("the Node that Windlass encoded is the Node of node.json")
	return nil
}

// carried leaves out what Windlass does not encode.
func carried(node corev1.Node) corev1.Node {
	node.ManagedFields, node.OwnerReferences, node.Finalizers, node.Generation = nil, nil, nil, 0
	node.Status.Images, node.Status.VolumesInUse, node.Status.NodeInfo.Swap = nil, nil, nil
	node.Status.DaemonEndpoints = corev1.NodeDaemonEndpoints{}
	return node
}

func compile() (protoreflect.MessageDescriptors, error) {
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{Accessor: open})}
	files, err := compiler.Compile(context.Background(), contract)
	if err != nil {
		return nil, err
	}
	return files.FindFileByPath(contract).Messages(), nil
}

// open finds the protocols of Kubernetes in the modules that publish them.
func open(path string) (io.ReadCloser, error) {
	for _, module := range []string{"k8s.io/api", "k8s.io/apimachinery"} {
		if rest, is := strings.CutPrefix(path, module+"/"); is {
			folder, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
			if err != nil {
				return nil, err
			}
			return os.Open(filepath.Join(strings.TrimSpace(string(folder)), rest))
		}
	}
	return os.Open(path)
}

func read(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// save writes bytes as lines of hexadecimal digits.
func save(folder, name string, encoded []byte) error {
	const width = 100
	digits := hex.EncodeToString(encoded)
	var lines strings.Builder
	for len(digits) > width {
		lines.WriteString(digits[:width] + "\n")
		digits = digits[width:]
	}
	lines.WriteString(digits + "\n")
	return os.WriteFile(filepath.Join(folder, name+".hex"), []byte(lines.String()), 0o644)
}

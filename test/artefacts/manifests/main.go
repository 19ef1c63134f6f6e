// Decodes manifests of Kubernetes as its API server does, strictly: a field that the API doesn't
// have, that is written twice or has another type is an error.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"
)

func main() {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{apps.AddToScheme, core.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	options := json.SerializerOptions{Yaml: true, Strict: true}
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, options)
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	failed := false
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if _, kind, err := decoder.Decode(document, nil, nil); err != nil {
			failed = true
			fmt.Printf("%v: %v\n", kind, err)
		} else {
			fmt.Printf("%v: ok\n", kind)
		}
	}
	if failed {
		os.Exit(1)
	}
}

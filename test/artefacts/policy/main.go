// Applies a MutatingAdmissionPolicy to a pod as Kubernetes' API server does, with its own code, and
// prints the pod. The first document on standard input is the policy, the second the pod.
package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	streaming "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"
)

func main() {
	text, err := io.ReadAll(os.Stdin)
	check(err)
	documents := streaming.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	var policy admissionregistration.MutatingAdmissionPolicy
	var pod core.Pod
	for _, into := range []any{&policy, &pod} {
		document, err := documents.Read()
		check(err)
		check(yaml.UnmarshalStrict(document, into))
	}
	scheme := runtime.NewScheme()
	check(core.AddToScheme(scheme))
	kind := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	resource := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	interfaces := admission.NewObjectInterfacesFromScheme(scheme)
	options := cel.OptionalVariableDeclarations{HasAuthorizer: true}
	compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	check(err)
	options.HasPatchTypes = true
	var object runtime.Object = &pod
	for _, mutation := range policy.Spec.Mutations {
		var patcher patch.Patcher
		if mutation.JSONPatch != nil {
			condition := &patch.JSONPatchCondition{Expression: mutation.JSONPatch.Expression}
			patcher = patch.NewJSONPatcher(compiler.CompileMutatingEvaluator(condition, options, environment.StoredExpressions))
		} else {
			condition := &patch.ApplyConfigurationCondition{Expression: mutation.ApplyConfiguration.Expression}
			patcher = patch.NewApplyConfigurationPatcher(compiler.CompileMutatingEvaluator(condition, options, environment.StoredExpressions))
		}
		attributes := admission.NewAttributesRecord(object, nil, kind, "default", pod.Name, resource, "", admission.Create, &meta.CreateOptions{}, false, nil)
		versioned, err := admission.NewVersionedAttributes(attributes, kind, interfaces)
		check(err)
		object, err = patcher.Patch(context.Background(), patch.Request{
			MatchedResource:     resource,
			VersionedAttributes: versioned,
			ObjectInterfaces:    interfaces,
			OptionalVariables:   cel.OptionalVariableBindings{},
			TypeConverter:       managedfields.NewDeducedTypeConverter(),
		}, celconfig.RuntimeCELCostBudget)
		check(err)
	}
	out, err := yaml.Marshal(object)
	check(err)
	fmt.Print(string(out))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

/**
 * The Helm chart: checked by helm, rendered in each mode, and held to Kubernetes' schemas and to
 * the manifests in docs/examples/kubernetes.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { parse, parseAllDocuments } from "yaml";
import { kubernetesVersions, noSchemas, schemaProblems } from "../kubernetes-schemas.js";
import { repository, run } from "../run.js";

const chart = join(repository, "deploy/helm/sluice");
const folder = mkdtempSync(join(tmpdir(), "sluice-chart-"));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));

const helmVersion = "v3.22.0";

/** A helm that is installed, or one that Go builds from its module; null without either. */
function findHelm(): string | null {
  if (spawnSync("helm", ["version"]).status === 0) return "helm";
  if (spawnSync("go", ["version"]).status !== 0) return null;
  run("go", ["install", `helm.sh/helm/v3/cmd/helm@${helmVersion}`], {
    env: { ...process.env, GOBIN: folder, GOFLAGS: "-buildvcs=false" },
  });
  return join(folder, "helm");
}

const helm = findHelm();
const skip = helm === null ? "neither helm nor Go is installed" : false;

/** Values of each mode, with every option that adds a manifest. */
const cases = {
  "central with one pod": {},
  "central with replicas": {
    central: { replicas: 3 },
    config: { cluster: { url: "valkeys://engine:6379" } },
    networkPolicy: { enabled: true },
    metrics: { podMonitor: { enabled: true } },
    priorityClassName: "high",
    tolerations: [{ key: "gpu", operator: "Exists" }],
    secret: { files: ["engine-password"] },
  },
  "central, scaled by load, without volumes": {
    central: { kind: "Deployment", autoscaling: { enabled: true, targetInFlight: 200 } },
    config: { cluster: { url: "valkeys://engine:6379" } },
  },
  node: { mode: "node", secret: { files: ["engine-password"] } },
  "central with TLS": {
    config: {
      server: {
        tls: { cert_file: "/etc/sluice/secrets/tls.crt", key_file: "/etc/sluice/secrets/tls.key" },
      },
      metrics: { host: "0.0.0.0", port: 9464 },
    },
    secret: { files: ["tls.crt", "tls.key"] },
    metrics: { podMonitor: { enabled: true } },
  },
  sidecar: {
    mode: "sidecar",
    sidecar: { namespaces: ["apps"] },
    metrics: { podMonitor: { enabled: true } },
  },
} as const;

function helmWith(command: readonly string[], values: object): ReturnType<typeof spawnSync> {
  const file = join(folder, "values.json");
  writeFileSync(file, JSON.stringify(values));
  return spawnSync(helm!, [...command, "-f", file], { encoding: "utf8" });
}

function rendered(
  values: object,
  version = "1.37",
): { readonly text: string; readonly said: string } {
  const { stdout, stderr } = helmWith(
    [
      ...["template", "gateway", chart, "--kube-version", version],
      ...["--api-versions", "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"],
    ],
    values,
  );
  return { text: String(stdout), said: String(stderr) };
}

t.test("helm finds nothing to say of the chart", { skip }, (t) => {
  for (const [name, values] of Object.entries(cases)) {
    if (name === "sidecar") continue;
    const { status, stdout, stderr } = helmWith(["lint", "--strict", chart], values);
    t.equal(status, 0, `${name}: ${String(stdout)}${String(stderr)}`);
  }
  t.end();
});

t.test("each mode is what Kubernetes accepts", { skip: skip || noSchemas }, (t) => {
  for (const [name, values] of Object.entries(cases))
    for (const version of kubernetesVersions) {
      // Older ones have no policies that change a pod.
      if (name === "sidecar" && version !== "1.37") continue;
      const { text, said } = rendered(values, version);
      t.not(text, "", `${name}: ${said}`);
      t.same(schemaProblems(text, version), [], `${name}, ${version}`);
    }
  t.end();
});

t.test("values that contradict each other are refused with the reason", { skip }, (t) => {
  const table: readonly (readonly [values: object, said: RegExp])[] = [
    [{ central: { replicas: 3 } }, /central\.replicas is 3, but config\.cluster\.url isn't set/],
    [{ central: { autoscaling: { enabled: true } } }, /autoscaling\.enabled is true, but config/],
    [{ config: { server: { drain_seconds: 60 } } }, /terminationGracePeriodSeconds is 45, but/],
    [{ config: { server: { tls: { cert_file: "/a" } } } }, /config\.metrics\.port isn't/],
    [
      { mode: "sidecar", config: { rate_limits: {} } },
      /config\.rate_limits is set, but mode sidecar/,
    ],
    [{ mode: "sidecar", secret: { files: ["a"] } }, /mode sidecar mounts no files/],
    [{ mode: "sidekick" }, /mode.*must be one of/],
    [{ replicas: 3 }, /replicas.*not allowed/],
    [{ central: { replicas: "3" } }, /got string, want integer/],
  ];
  for (const [values, said] of table) t.match(rendered(values).said, said);
  t.end();
});

const noGo = spawnSync("go", ["version"]).status === 0 ? false : "Go isn't installed";

t.test("Kubernetes' own code adds the sidecar to a pod", { skip: skip || noGo }, (t) => {
  const program = join(folder, "policy");
  // With the versions and hashes of go.mod and go.sum.
  run("go", ["build", "-mod=readonly", "-buildvcs=false", "-o", program, "."], {
    cwd: join(repository, "test/artefacts/policy"),
  });
  const policy = rendered(cases.sidecar)
    .text.split(/^---$/m)
    .find((document) => /^kind: MutatingAdmissionPolicy$/m.test(document))!;
  for (const [before, own] of [
    [[], []],
    [[{ name: "migrate", image: "app" }], [{ name: "own", emptyDir: {} }]],
  ] as const) {
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "app", namespace: "apps", labels: { "sluice.dev/inject": "true" } },
      spec: {
        ...(before.length === 0 ? {} : { initContainers: before }),
        containers: [{ name: "app", image: "app" }],
        ...(own.length === 0 ? {} : { volumes: own }),
      },
    };
    const input = `${policy}\n---\n${JSON.stringify(pod)}\n`;
    const { stdout, stderr } = spawnSync(program, { input, encoding: "utf8" });
    t.equal(stderr, "");
    const { spec } = parse(stdout) as { readonly spec: Pod };
    const [sluice, ...others] = spec.initContainers as readonly Readonly<Record<string, unknown>>[];
    t.match(sluice, { name: "sluice", restartPolicy: "Always", image: /^sluice:/ });
    t.same(
      others.map(({ name }) => name),
      before.map(({ name }) => name),
      "before the pod's own",
    );
    const mounted = (sluice!["volumeMounts"] as readonly { readonly name: string }[]).map(
      ({ name }) => name,
    );
    const volumes = (spec.volumes as readonly { readonly name: string }[]).map(({ name }) => name);
    t.same([...own.map(({ name }) => name), ...mounted].sort(), [...volumes].sort());
    t.same(
      spec.containers.map(({ name }) => name),
      ["app"],
    );
  }
  t.end();
});

interface Pod {
  readonly containers: readonly Readonly<Record<string, unknown>>[];
  readonly volumes: readonly unknown[];
  readonly initContainers?: unknown;
  readonly terminationGracePeriodSeconds: number;
}
interface Workload {
  readonly kind: string;
  readonly spec: { readonly template: { readonly spec: Pod } };
}

t.test("a gateway's pod is the one of the kustomize examples", { skip }, (t) => {
  for (const [values, file] of [
    [{}, "central/statefulset.yaml"],
    [
      {
        mode: "node",
        resources: { requests: { cpu: "200m", memory: "384Mi" }, limits: { memory: "1Gi" } },
      },
      "node/daemonset.yaml",
    ],
  ] as const) {
    const example = parse(
      readFileSync(join(repository, "docs/examples/kubernetes", file), "utf8"),
    ) as Workload;
    const made = parseAllDocuments(rendered(values).text)
      .map((document) => document.toJS() as Workload | null)
      .find((workload) => workload?.kind === example.kind);
    const { spec } = made!.spec.template;
    const same = (pod: Pod): unknown => ({
      containers: pod.containers.map(({ imagePullPolicy: _, env, ...rest }) => ({
        ...rest,
        ...(env === undefined ? {} : { env: sorted(env as readonly { readonly name: string }[]) }),
      })),
      initContainers: pod.initContainers,
      volumes: pod.volumes
        .map((volume) => JSON.stringify(volume).replace('"gateway-sluice"', '"sluice"'))
        .sort(),
      terminationGracePeriodSeconds: pod.terminationGracePeriodSeconds,
    });
    t.same(same(spec), same(example.spec.template.spec), file);
  }
  t.end();
});

function sorted(env: readonly { readonly name: string }[]): readonly unknown[] {
  return [...env].sort((a, b) => (a.name < b.name ? -1 : 1));
}

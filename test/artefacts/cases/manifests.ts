/**
 * The manifests by Kubernetes' schemas, also what kustomize makes of them where kubectl is
 * installed; and the compose file by the schema of its specification, and by docker where that is
 * installed. CI gets the schemas from PyPI.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv } from "ajv";
import t from "tap";
import { parseYaml } from "../../../shared/config/file/parse-yaml.js";
import { kubernetesVersions, noSchemas, schemaProblems } from "../kubernetes-schemas.js";
import { repository, run } from "../run.js";

const examples = join(repository, "docs/examples");
const installed = (program: string, ...args: readonly string[]): boolean =>
  spawnSync(program, args).status === 0;
const noKustomize = installed("kubectl", "version", "--client")
  ? noSchemas
  : noSchemas || "kubectl isn't installed";

const folder = mkdtempSync(join(tmpdir(), "sluice-manifests-"));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));

t.test("the manifests are what Kubernetes accepts, field by field", { skip: noSchemas }, (t) => {
  const manifests = ["central", "node", "sidecar"]
    .flatMap((name) => {
      const at = join(examples, "kubernetes", name);
      return readdirSync(at).map((file) => join(at, file));
    })
    // What kubectl reads, and Sluice's own configuration.
    .filter((file) => !/\/(?:kustomization|sluice)\.yaml$/.test(file));
  t.ok(manifests.length >= 4);
  for (const version of kubernetesVersions)
    for (const file of manifests) {
      // A patch leaves out what the patched workload has.
      const isPatch = file.includes("/sidecar/");
      const problems = schemaProblems(readFileSync(file, "utf8"), version);
      t.same(
        isPatch ? problems.filter((text) => !/required property/.test(text)) : problems,
        [],
        `${version} ${file}`,
      );
    }
  const sidecar = readFileSync(join(examples, "kubernetes/sidecar/sidecar.yaml"), "utf8");
  for (const [right, wrong, said] of [
    ["restartPolicy:", "restartPolcy:", /initContainers\/0 .*restartPolcy/],
    ["runAsNonRoot: true", "runAsNonRoot: yes please", /runAsNonRoot must be boolean/],
    ["kind: Deployment", "kind: Deploymnt", /has no apps\/v1 Deploymnt/],
  ] as const) {
    t.ok(sidecar.includes(right), right);
    t.match(schemaProblems(sidecar.replace(right, wrong), "1.37").join("\n"), said);
  }
  t.end();
});

const pod = `metadata: { labels: { app: app } }
spec: { restartPolicy: RESTART, containers: [{ name: app, image: app }] }`;
const selected = "selector: { matchLabels: { app: app } }";
/** Each kind of workload with the label that asks for a sidecar. */
const workloads = [
  ["apps/v1", "Deployment", `{ ${selected}, template: POD }`],
  ["apps/v1", "StatefulSet", `{ serviceName: app, ${selected}, template: POD }`],
  ["apps/v1", "DaemonSet", `{ ${selected}, template: POD }`],
  ["batch/v1", "Job", "{ template: POD }"],
  ["batch/v1", "CronJob", '{ schedule: "0 0 * * *", jobTemplate: { spec: { template: POD } } }'],
] as const;

/** A workload of an app, and the component that adds Sluice to it. */
function withSidecar(apiVersion: string, kind: string, spec: string): string {
  const at = join(folder, kind);
  mkdirSync(at);
  const restart = apiVersion === "batch/v1" ? "Never" : "Always";
  const template = `{ ${pod.replace("RESTART", restart).replace("\n", ", ")} }`;
  writeFileSync(
    join(at, "app.yaml"),
    `apiVersion: ${apiVersion}
kind: ${kind}
metadata: { name: app, labels: { sluice: sidecar } }
spec: ${spec.replace("POD", template)}
`,
  );
  run("cp", ["-r", join(examples, "kubernetes/sidecar"), join(at, "sidecar")]);
  writeFileSync(join(at, "kustomization.yaml"), "resources: [app.yaml]\ncomponents: [sidecar]\n");
  return at;
}

t.test("what kustomize makes of them is, too", { skip: noKustomize }, (t) => {
  for (const [place, kind] of [
    ["central", "StatefulSet"],
    ["node", "DaemonSet"],
  ] as const) {
    const made = run("kubectl", ["kustomize", join(examples, "kubernetes", place)]);
    t.match(made, new RegExp(`kind: ${kind}`));
    for (const version of kubernetesVersions) t.same(schemaProblems(made, version), [], version);
  }
  for (const [apiVersion, kind, spec] of workloads) {
    const app = run("kubectl", ["kustomize", withSidecar(apiVersion, kind, spec)]);
    t.match(app, new RegExp(`kind: ${kind}\\n[^]*initContainers:[^]*name: sluice\\b`), kind);
    for (const version of kubernetesVersions) t.same(schemaProblems(app, version), [], version);
  }
  t.end();
});

const composeFile = join(examples, "container/compose.yaml");
const composeSchema = process.env["SLUICE_COMPOSE_SCHEMA"] ?? "";

t.test(
  "the compose file is what the Compose specification allows",
  { skip: composeSchema === "" ? "SLUICE_COMPOSE_SCHEMA names no schema of it" : false },
  (t) => {
    // Older drafts have `id` for what is `$id` now; nothing refers to one.
    const { $schema: _, ...schema } = JSON.parse(
      readFileSync(composeSchema, "utf8"),
      (key, value: unknown) => (key === "id" && typeof value === "string" ? undefined : value),
    ) as { readonly $schema: string };
    const isRight = new Ajv({ strict: false, validateFormats: false }).compile(schema);
    const text = readFileSync(composeFile, "utf8");
    const judged = (yaml: string): boolean => isRight(parsed(yaml));
    t.ok(judged(text), JSON.stringify(isRight.errors));
    t.ok(judged(readFileSync(join(repository, "deploy/compose/compose.yaml"), "utf8")));
    for (const [right, wrong] of [
      ["stop_grace_period: 40s", "stop_grace_time: 40s"],
      ["read_only: true", "read_only: often"],
      ["condition: service_healthy", "condition: well"],
      ["tmpfs:\n", "tmpfs: { at: /tmp }\n    x-was:\n"],
      ["restart: unless-stopped", "restart: [always]"],
    ] as const) {
      t.ok(text.includes(right), right);
      t.notOk(judged(text.replace(right, wrong)), wrong);
    }
    t.end();
  },
);

function parsed(yaml: string): unknown {
  const { document, problems } = parseYaml(yaml);
  t.same(problems, []);
  return document;
}

t.test(
  "the compose file is what docker takes",
  { skip: installed("docker", "compose", "version") ? false : "docker compose isn't installed" },
  (t) => {
    const env = { ...process.env, SLUICE_MASTER_KEY: "k", OPENAI_API_KEY: "k" };
    t.match(run("docker", ["compose", "-f", composeFile, "config"], { env }), /sluice/);
    t.end();
  },
);

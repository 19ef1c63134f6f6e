/**
 * The manifests of Kubernetes, decoded as its API server does, strictly, by its own types in Go;
 * what kustomize makes of them, where kubectl is installed. And the compose file, by the schema of
 * its specification, which CI gets from PyPI, and by docker, where that is.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv } from "ajv";
import t from "tap";
import { parseYaml } from "../../../shared/config/file/parse-yaml.js";
import { repository, run } from "../run.js";

const examples = join(repository, "docs/examples");
const installed = (program: string, ...args: readonly string[]): boolean =>
  spawnSync(program, args).status === 0;
const noGo = installed("go", "version") ? false : "Go isn't installed";
const noKustomize = installed("kubectl", "version", "--client")
  ? noGo
  : noGo || "kubectl isn't installed";

const folder = mkdtempSync(join(tmpdir(), "sluice-manifests-"));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));
const program = join(folder, "manifests");

/** What the program says of each document, and whether all of them are right. */
function decoded(text: string): { readonly said: string; readonly ok: boolean } {
  const { status, stdout, stderr } = spawnSync(program, { input: text, encoding: "utf8" });
  return { said: stdout + stderr, ok: status === 0 };
}

t.test("the manifests are what the API takes, field by field", { skip: noGo }, (t) => {
  // With the versions and hashes of go.mod and go.sum.
  run("go", ["build", "-mod=readonly", "-o", program, "."], {
    cwd: join(repository, "test/artefacts/manifests"),
  });
  const manifests = ["central", "node", "sidecar"]
    .flatMap((name) => {
      const at = join(examples, "kubernetes", name);
      return readdirSync(at).map((file) => join(at, file));
    })
    // What kubectl reads, and Sluice's own configuration.
    .filter((file) => !/\/(?:kustomization|sluice)\.yaml$/.test(file));
  t.ok(manifests.length >= 4);
  for (const file of manifests) {
    const { said, ok } = decoded(readFileSync(file, "utf8"));
    t.ok(ok, `${file}: ${said}`);
  }
  const sidecar = readFileSync(join(examples, "kubernetes/sidecar/sidecar.yaml"), "utf8");
  for (const [right, wrong, said] of [
    ["restartPolicy:", "restartPolcy:", /unknown field "spec.template.spec.initContainers\[0\]/],
    ["runAsNonRoot: true", "runAsNonRoot: yes please", /runAsNonRoot/],
    ["kind: Deployment", "kind: Deploymnt", /no kind/],
  ] as const) {
    t.ok(sidecar.includes(right), right);
    const found = decoded(sidecar.replace(right, wrong));
    t.notOk(found.ok, wrong);
    t.match(found.said, said);
  }
  t.end();
});

/** A Deployment of an app, and the component that adds Sluice to it. */
function withSidecar(): string {
  const at = join(folder, "overlay");
  mkdirSync(at);
  writeFileSync(
    join(at, "app.yaml"),
    `apiVersion: apps/v1
kind: Deployment
metadata: { name: app, labels: { sluice: sidecar } }
spec:
  selector: { matchLabels: { app: app } }
  template:
    metadata: { labels: { app: app } }
    spec: { containers: [{ name: app, image: app }] }
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
    t.match(decoded(made), { ok: true }, decoded(made).said);
  }
  const app = run("kubectl", ["kustomize", withSidecar()]);
  t.match(app, /initContainers:[^]*name: sluice\b/);
  t.match(decoded(app), { ok: true }, decoded(app).said);
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

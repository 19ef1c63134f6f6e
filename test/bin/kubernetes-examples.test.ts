/**
 * Holds the examples for Kubernetes, Compose and ECS to the product: its port, its probes, the
 * image's volumes and user, the time of a drain, names of variables and keys of the Secret. That
 * Kubernetes takes the manifests is in `test/artefacts/cases/manifests.ts`.
 */
import { readdirSync, readFileSync } from "node:fs";
import t from "tap";
import { parseAllDocuments, stringify } from "yaml";
import { stopGraceMs } from "../../bin/supervisor/stop-deadlines.js";
import { settings } from "../../shared/config/settings/settings.js";
import { version } from "../../shared/version.js";
import { accepted } from "../shared/config/resolve-sample.js";

// The compiled test is three directories below the repository.
const root = new URL("../../../", import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), "utf8");
const kubernetes = "docs/examples/kubernetes";
const dockerfile = read("docs/examples/container/Dockerfile");
const [, listed = "[]"] = /^VOLUME (.+)$/m.exec(dockerfile) ?? [];
const volumes = JSON.parse(listed) as readonly string[];
const user = Number(/^USER (\d+)/m.exec(dockerfile)?.[1]);
const port = settings.port.defaultValue;

interface Probe {
  readonly httpGet?: { readonly path: string; readonly port: string };
}

interface Container {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly env?: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
  }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly securityContext: { readonly runAsUser: number };
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

interface Workload {
  readonly kind: string;
  readonly spec: {
    readonly selector?: { readonly matchLabels: object };
    readonly serviceName?: string;
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
    readonly template: {
      readonly metadata?: { readonly labels: object };
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly initContainers?: readonly Container[];
        readonly containers?: readonly Container[];
        readonly volumes: readonly { readonly name: string }[];
      };
    };
  };
}

interface Service {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly selector: object;
    readonly ports: readonly { readonly port: number; readonly targetPort: string }[];
  };
}

function documents<Kind>(path: string): readonly Kind[] {
  return parseAllDocuments(read(path)).map((document) => {
    t.same(document.errors, [], path);
    return document.toJS() as Kind;
  });
}

/** The port and path that a probe asks. */
function probed(probe: Probe | undefined): string | undefined {
  return probe?.httpGet && `${probe.httpGet.port}${probe.httpGet.path}`;
}

/** What a drain takes at most, in seconds. */
function drainSeconds(
  configuration: string | null,
  env: Readonly<Record<string, string>> = { OPENAI_API_KEY: "k" },
): number {
  const { server } = accepted(configuration, { env }).config;
  return (server.drainGraceMs + server.drainMs + stopGraceMs) / 1000;
}

const variables = Object.values(settings).flatMap((setting) =>
  "env" in setting && typeof setting.env === "string" ? [setting.env] : [],
);
const isVariable = (name: string): boolean => variables.includes(name) || name === "OPENAI_API_KEY";

const secretKeys = [...read("docs/kubernetes.md").matchAll(/--from-literal=([\w-]+)=/g)].map(
  ([, key]) => key,
);

for (const [folder, file] of [
  ["central", "statefulset.yaml"],
  ["node", "daemonset.yaml"],
  ["sidecar", "sidecar.yaml"],
] as const)
  t.test(`the manifests of ${folder} are those of the product`, async (t) => {
    const at = `${kubernetes}/${folder}`;
    const [workload] = documents<Workload>(`${at}/${file}`);
    const { spec } = workload!;
    const pod = spec.template.spec;
    const all = [...(pod.initContainers ?? []), ...(pod.containers ?? [])];
    const sluice = all.find(({ name }) => name === "sluice")!;

    t.equal(sluice.image, `sluice:${version}`);
    const probedPort = folder === "sidecar" ? "sluice-metrics" : "http";
    t.equal(probed(sluice.livenessProbe), `${probedPort}/health`);
    t.equal(probed(sluice.startupProbe), `${probedPort}/ready`);
    if (folder !== "sidecar") t.equal(probed(sluice.readinessProbe), "http/ready");
    if (folder !== "sidecar")
      for (const { name, containerPort } of sluice.ports ?? [])
        t.same([name, containerPort], ["http", port]);

    const claims = (spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata.name);
    const volumesOfPod = [...pod.volumes.map(({ name }) => name), ...claims];
    for (const { name, image, volumeMounts, securityContext } of all) {
      for (const mount of volumeMounts)
        t.ok(volumesOfPod.includes(mount.name), `${name}: ${mount.name}`);
      if (image.startsWith("sluice:")) t.equal(securityContext.runAsUser, user, name);
    }
    const mounted = sluice.volumeMounts.map(({ mountPath }) => mountPath);
    t.same(
      volumes.filter((volume) => !mounted.includes(volume)),
      [],
    );

    for (const { name, valueFrom } of sluice.env ?? []) {
      t.ok(isVariable(name), name);
      if (valueFrom !== undefined) t.ok(secretKeys.includes(valueFrom.secretKeyRef.key), name);
    }
    const files = readdirSync(new URL(at, root));
    const configuration = files.includes("sluice.yaml") ? read(`${at}/sluice.yaml`) : null;
    if (configuration !== null) t.same(sluice.args, ["--config", "/etc/sluice/sluice.yaml", "up"]);
    t.ok(pod.terminationGracePeriodSeconds > drainSeconds(configuration));

    if (files.includes("service.yaml")) {
      const [service] = documents<Service>(`${at}/service.yaml`);
      t.same(service!.spec.ports, [{ name: "http", port, targetPort: "http" }]);
      t.same(service!.spec.selector, spec.selector!.matchLabels);
      t.same(spec.template.metadata!.labels, spec.selector!.matchLabels);
      if (workload!.kind === "StatefulSet") t.equal(spec.serviceName, service!.metadata.name);
    }
    // Each file is part of the kustomization, or the configuration that it makes a map of.
    const kustomization = read(`${at}/kustomization.yaml`);
    for (const each of files)
      if (each !== "kustomization.yaml") t.ok(kustomization.includes(each), each);
  });

t.test("the sidecar of a CronJob is that of every other workload", async (t) => {
  const [deployment] = documents<Workload>(`${kubernetes}/sidecar/sidecar.yaml`);
  const [cronJob] = documents<{ readonly spec: { readonly jobTemplate: Workload } }>(
    `${kubernetes}/sidecar/cronjob.yaml`,
  );
  t.same(cronJob!.spec.jobTemplate.spec.template, deployment!.spec.template);
});

t.test(
  "the team's compose file and the chart have configurations that Sluice accepts",
  async (t) => {
    const env = { OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "k" };
    accepted(read("deploy/compose/config/sluice.yaml"), { env });
    const [values] = documents<{ readonly config: object }>("deploy/helm/sluice/values.yaml");
    accepted(stringify(values!.config), { env });
    const compose = read("deploy/compose/compose.yaml");
    const seconds = Number(/stop_grace_period: (\d+)s/.exec(compose)?.[1]);
    t.ok(seconds > drainSeconds(read("deploy/compose/config/sluice.yaml"), env));
    t.ok(compose.includes(`sluice:${version}`));
    const [chart] = documents<{ readonly version: string; readonly appVersion: string }>(
      "deploy/helm/sluice/Chart.yaml",
    );
    t.match(chart, { version, appVersion: version });
  },
);

t.test("the ECS task is that of the product", async (t) => {
  interface Task {
    readonly name: string;
    readonly environment: readonly { readonly name: string; readonly value: string }[];
    readonly secrets: readonly { readonly name: string }[];
    readonly healthCheck: { readonly command: readonly string[] };
    readonly mountPoints: readonly {
      readonly sourceVolume: string;
      readonly containerPath: string;
    }[];
    readonly stopTimeout: number;
  }
  const task = JSON.parse(read("docs/examples/container/ecs-task-definition.json")) as {
    readonly containerDefinitions: readonly [Task, Task];
    readonly volumes: readonly { readonly name: string }[];
  };
  const [sluice, app] = task.containerDefinitions;
  const [, check = ""] = /^HEALTHCHECK [^\n]*\n {2}CMD (.+)$/m.exec(dockerfile) ?? [];
  t.same(sluice.healthCheck.command, ["CMD", ...(JSON.parse(check) as string[])]);
  t.same(sluice.mountPoints.map(({ containerPath }) => containerPath).sort(), [...volumes].sort());
  t.same(
    sluice.mountPoints.map(({ sourceVolume }) => sourceVolume),
    task.volumes.map(({ name }) => name),
  );
  t.ok(sluice.stopTimeout > drainSeconds(null));
  for (const { name } of [...sluice.environment, ...sluice.secrets]) t.ok(isVariable(name), name);
  t.equal(app.environment[0]?.value, `http://127.0.0.1:${port}/v1`);
});

t.test("the compose file gives Sluice time to drain", async (t) => {
  const compose = read("docs/examples/container/compose.yaml");
  const seconds = Number(/stop_grace_period: (\d+)s/.exec(compose)?.[1]);
  t.ok(seconds > drainSeconds(null));
});

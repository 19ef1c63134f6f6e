import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { parseAllDocuments } from "yaml";
import { exactly } from "../../support/patterns/exactly.js";
import { freePort } from "../../support/processes/free-port.js";
import {
  buildImage,
  type Container,
  runContainer,
  user,
  volumes,
  whyNotHere,
} from "../container-image.js";
import { repository, run } from "../run.js";
import { packageJson } from "../stage-tree.js";
import { packTarball } from "../tarball.js";

const examples = join(repository, "docs/examples");
const reason = whyNotHere();

interface Mounts {
  readonly volumeMounts: readonly { readonly mountPath: string }[];
}

interface Contained extends Mounts {
  readonly name: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly image: string;
  readonly securityContext: Readonly<Record<string, unknown>>;
}

interface Pod {
  readonly terminationGracePeriodSeconds: number;
  readonly initContainers?: readonly Contained[];
  readonly containers?: readonly Contained[];
}

/** The pods of a manifest. */
function podsOf(file: string): readonly Pod[] {
  return parseAllDocuments(readFileSync(join(examples, file), "utf8")).map(
    (document) => (document.toJS() as { spec: { template: { spec: Pod } } }).spec.template.spec,
  );
}

t.test("each example runs the image closed, with its volumes, and gives it time to drain", (t) => {
  for (const file of [
    "kubernetes/central/statefulset.yaml",
    "kubernetes/node/daemonset.yaml",
    "kubernetes/sidecar/sidecar.yaml",
  ])
    for (const pod of podsOf(file)) {
      const all = [...(pod.initContainers ?? []), ...(pod.containers ?? [])];
      const ours = all.filter(({ image }) => image.startsWith("sluice:"));
      const hasBackup = !file.includes("/sidecar/");
      t.equal(ours.length, hasBackup ? 2 : 1, file);
      for (const { name, image, securityContext, volumeMounts } of ours) {
        t.equal(image, `sluice:${packageJson.version}`);
        t.match(
          securityContext,
          exactly({
            runAsUser: user,
            runAsNonRoot: true,
            readOnlyRootFilesystem: true,
            allowPrivilegeEscalation: false,
            capabilities: { drop: ["ALL"] },
          }),
        );
        const mounted = volumeMounts.map(({ mountPath }) => mountPath);
        t.same(
          volumes.filter((volume) => !mounted.includes(volume)),
          // The store is the daemon's alone.
          name === "backup" ? ["/var/lib/sluice"] : [],
        );
      }
      // drain_grace_seconds (2), drain_seconds (25) and five seconds of grace.
      t.ok(pod.terminationGracePeriodSeconds >= 40);
    }
  t.end();
});

t.test("the image", { skip: reason ?? false }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-container-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const image = buildImage(await packTarball(folder), folder);

  t.test("says who runs it, where it writes, and how its health is asked", async (t) => {
    t.equal(image.config.User, `${user}:${user}`);
    t.same(Object.keys(image.config.Volumes).sort(), [...volumes].sort());
    t.equal(image.config.Healthcheck.Test[0], "CMD");
  });

  t.test("it is small to download", async (t) => {
    const [megabytes, unpacked] = [
      image.compressedBytes / 1e6,
      Number(run("du", ["-sb", image.root]).split("\t")[0]) / 1e6,
    ];
    t.comment(`${megabytes.toFixed(1)} MB compressed, ${unpacked.toFixed(1)} MB unpacked`);
    t.ok(megabytes > 20 && megabytes <= 120, `${megabytes} MB`);
  });

  t.test("an open gateway doesn't listen on every address", async (t) => {
    const container = runContainer(image, folder, {
      env: [`PORT=${await freePort()}`],
      emptyDirs: false,
    });
    const [code] = await new Promise<[number | null]>((resolve) =>
      container.process.once("close", (...end: [number | null]) => resolve(end)),
    );
    t.equal(code, 78);
    t.match(container.said(), /no master key is set/);
  });

  for (const [emptyDirs, uid] of [
    [false, user],
    [true, user],
    [true, 1_000_680_000],
  ] as const)
    t.test(
      `it serves user ${uid} with ${emptyDirs ? "folders that are open to all" : "folders of its own"}`,
      async (t) => {
        const port = await freePort();
        const key = "a-master-key-of-this-test-alone";
        const container = runContainer(image, folder, {
          env: [`PORT=${port}`, `SLUICE_MASTER_KEY=${key}`],
          emptyDirs,
          ...(uid === user ? {} : { uid }),
        });
        t.teardown(() => container.kill());
        await readyAt(port, container);
        // On a slow machine the daemon may take longer than the two seconds that requests wait.
        let status = 503;
        while (status === 503) {
          const answer = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
            method: "POST",
            headers: { authorization: `Bearer ${key}` },
            body: JSON.stringify({
              model: "sim-fast",
              messages: [{ role: "user", content: "Hello!" }],
            }),
          });
          await answer.arrayBuffer();
          ({ status } = answer);
        }
        t.equal(status, 200);
        const [, ...health] = image.config.Healthcheck.Test;
        t.equal(container.exec(...health), "", "healthy");
        t.match(
          container.exec("node", "/opt/sluice/dist/programs/sluice.js", "status"),
          /connected/,
        );
        // As the container beside it does each day, on the socket that they share.
        const { command, args } = podsOf("kubernetes/node/daemonset.yaml")
          .flatMap(({ containers = [] }) => containers)
          .find(({ name }) => name === "backup")!;
        const [node, flag, , ...rest] = [...command!, "", ...args!].filter((each) => each !== "");
        t.same([node, flag], ["/opt/sluice/node/bin/node", "-e"]);
        const atOnce = command![2]!.replaceAll("3600 * 1000", "1").replace("setInterval", "void");
        const backup = rest
          .filter((each) => each !== "--config" && each !== "/etc/sluice/sluice.yaml")
          .map((each) => each.replace("/var/backups/sluice", "/tmp"));
        t.match(container.exec(node!, flag!, atOnce, ...backup), /verified/);
        // Whatever dies is started again and reaped: process 1 is `up`.
        const script = `
        const { readdirSync, readFileSync, writeFileSync } = require("node:fs");
        const stat = (pid) => readFileSync("/proc/" + pid + "/stat", "utf8").split(" ");
        const pids = readdirSync("/proc").filter((name) => /^\\d+$/.test(name) && name !== String(process.pid));
        if (process.argv[1] === "kill") process.kill(Number(pids.find((pid) => stat(pid)[3] === "1")), "SIGKILL");
        const status = readFileSync("/proc/1/status", "utf8");
        let readOnly = "";
        try { writeFileSync("/opt/x", "") } catch (error) { readOnly = error.code }
        console.log(JSON.stringify({
          zombies: pids.filter((pid) => stat(pid)[2] === "Z").length,
          capabilities: /CapEff:\\s+(\\S+)/.exec(status)[1], uid: /Uid:\\s+(\\d+)/.exec(status)[1], readOnly }))`;
        t.match(JSON.parse(container.exec("node", "-e", script)), {
          zombies: 0,
          capabilities: "0000000000000000",
          uid: String(uid),
          readOnly: "EROFS",
        });
        container.exec("node", "-e", script, "kill");
        await readyAt(port, container);
        t.match(JSON.parse(container.exec("node", "-e", script)), { zombies: 0 });
        t.equal(await container.stop(), 0, "SIGTERM drains and ends it");
      },
    );
});

/** However long it takes, as long as the container runs. */
async function readyAt(port: number, container: Container): Promise<void> {
  while (container.process.exitCode === null) {
    const answer = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => null);
    await answer?.arrayBuffer();
    if (answer?.status === 200) return;
    await delay(100);
  }
  throw new Error(`it ended before it was ready: ${container.said()}`);
}

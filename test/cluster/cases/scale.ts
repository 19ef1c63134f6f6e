/**
 * A central gateway that is scaled from one pod to three and back to one, on a real engine and
 * under streams: nothing is refused, cut or lost, and the pods have one limit.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import t, { type Test } from "tap";
import { type Program, startProgram, temporaryDirectory } from "../../bin/program-run.js";
import { agesSeconds } from "../../support/ages.js";
import { freePort } from "../../support/processes/free-port.js";
import { programPath } from "../../support/processes/program-path.js";
import { engineProgram, noEngine, startEngine } from "../../support/processes/start-engine.js";
import { untilSo } from "../cluster-host.js";

const skip = engineProgram === null && noEngine;
const key = "test-master-key-of-three-pods";
const tightCap = 200;

function configuration(url: string, port: number): string {
  return `server: { port: ${port}, master_key: ${key} }
cluster: { url: "${url}" }
providers: { simulator: { type: simulator } }
prices: { simulator/sim-fast: { input: 0, output: 1000 } }
budgets: { user_paths: [{ path: /app, limits: [{ period_seconds: ${agesSeconds}, amount: 1000000 }] }] }
rate_limits:
  user_paths:
    - path: /app
      limits:
        - { period_seconds: ${agesSeconds}, max_requests: 1000000 }
        - { period_seconds: 0, max_requests: 64 }
    - { path: /tight, limits: [{ period_seconds: ${agesSeconds}, max_requests: ${tightCap} }] }
`;
}

interface Pod {
  readonly url: string;
  readonly program: Program;
}

/** A pod's one container: `sluice up`; resolves when it is ready. */
async function startPod(t: Test, engineUrl: string): Promise<Pod> {
  const directory = temporaryDirectory(t);
  const port = await freePort();
  mkdirSync(join(directory, "run"));
  writeFileSync(join(directory, "sluice.yaml"), configuration(engineUrl, port));
  const sockets = ["--socket", join(directory, "run/limiterd.sock")];
  const argv = ["up", ...sockets, "--data-dir", join(directory, "data")];
  const program = startProgram(t, programPath("sluice"), argv, {
    cwd: directory,
    env: { SLUICE_DRAIN_GRACE_SECONDS: "1" },
  });
  await program.line(/^ready: /);
  const url = `http://127.0.0.1:${port}`;
  await untilSo(async () => (await fetch(`${url}/ready`)).ok, "the pod is ready");
  return { url, program };
}

/** What a service does: each request goes to the next of its endpoints. */
class Service {
  endpoints: readonly string[] = [];
  #next = 0;

  get url(): string {
    return this.endpoints[this.#next++ % this.endpoints.length]!;
  }
}

interface Sums {
  answered: number;
  outputTokens: number;
  readonly failures: string[];
}

async function stream(service: Service, sums: Sums): Promise<void> {
  const { url } = service;
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "x-sluice-user-path": "/app" },
      body: JSON.stringify({
        model: "sim-fast",
        stream: true,
        stream_options: { include_usage: true },
        messages: [{ role: "user", content: "Hello!" }],
      }),
    });
    const text = await response.text();
    const tokens = /"completion_tokens":(\d+)/.exec(text)?.[1];
    if (response.status !== 200 || !text.trimEnd().endsWith("[DONE]") || tokens === undefined)
      throw new Error(`${response.status} ${text.slice(-300)}`);
    sums.answered++;
    sums.outputTokens += Number(tokens);
  } catch (error) {
    sums.failures.push(`${url}: ${String(error)} ${String((error as Error).cause ?? "")}`);
  }
}

async function askTight(service: Service): Promise<number> {
  const response = await fetch(`${service.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "x-sluice-user-path": "/tight" },
    body: JSON.stringify({ model: "sim-fast", messages: [{ role: "user", content: "Hello!" }] }),
  });
  await response.text();
  return response.status;
}

/** As Kubernetes does: SIGTERM, while the endpoint still gets requests for a moment. */
async function removePod(t: Test, service: Service, { url, program }: Pod): Promise<void> {
  program.child.kill("SIGTERM");
  await delay(400);
  service.endpoints = service.endpoints.filter((each) => each !== url);
  const { code } = await program.ended;
  t.equal(code, 0, program.err.slice(-20).join("\n"));
}

t.test("three pods, one after the other, and back to one", { skip }, async (t) => {
  const engine = await startEngine(t);
  const service = new Service();
  const sums: Sums = { answered: 0, outputTokens: 0, failures: [] };
  let isOver = false;
  const loop = async (step: () => Promise<void>): Promise<void> => {
    while (!isOver) await step();
  };
  const first = await startPod(t, engine.url);
  service.endpoints = [first.url];
  let tight = 0;
  const workers = [
    ...Array.from({ length: 12 }, () => loop(() => stream(service, sums))),
    loop(async () => {
      if ((await askTight(service)) === 200) tight++;
      await delay(20);
    }),
  ];
  const pods = [first];
  for (let i = 0; i < 2; i++) {
    await delay(1500);
    const pod = await startPod(t, engine.url);
    pods.push(pod);
    service.endpoints = [...service.endpoints, pod.url];
  }
  const [, second, third] = pods as [Pod, Pod, Pod];
  await delay(2000);
  await removePod(t, service, first);
  await delay(1500);
  await removePod(t, service, second);
  await untilSo(
    async () => {
      const status = await askTight(service);
      if (status === 200) tight++;
      return status === 429;
    },
    "the cap is used up",
    60_000,
  );
  isOver = true;
  await Promise.all(workers);

  t.same(sums.failures, [], "nothing is refused or cut");
  t.equal(tight, tightCap, "three pods and their changes admit what one would");
  const get = async (path: string): Promise<unknown> =>
    (
      await fetch(`${third.url}/admin/${path}`, { headers: { authorization: `Bearer ${key}` } })
    ).json();
  await untilSo(async () => {
    const { rate_limits: rules } = (await get("rate-limits")) as {
      readonly rate_limits: readonly {
        readonly subject: string;
        readonly requests_used?: number;
      }[];
    };
    return rules.some(
      ({ subject, requests_used: used }) => subject === "/app" && used === sums.answered,
    );
  }, `the rule counts ${sums.answered} requests`);
  // A dollar for each 1,000 tokens.
  await untilSo(
    async () => {
      const { budgets } = (await get("budgets")) as {
        readonly budgets: readonly { readonly spent: number }[];
      };
      return Math.abs(budgets[0]!.spent - sums.outputTokens / 1000) < 1e-6;
    },
    `the budget has spent $${sums.outputTokens / 1000}`,
  );
  t.comment(`${sums.answered} streams of ${sums.outputTokens} tokens`);
});

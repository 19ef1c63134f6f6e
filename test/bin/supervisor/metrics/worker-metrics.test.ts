import {
  existsSync,
  linkSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { workerMetrics } from "../../../../bin/supervisor/metrics/worker-metrics.js";
import type { ProxyGroup } from "../../../../proxy/metrics/metrics.js";
import type { ReportedSeries } from "../../../../shared/metrics/metrics-answer.js";
import { familiesOfAll } from "../../../../shared/metrics/reported-metrics.js";

const noon = Date.parse("2026-11-23T12:00:00Z");
let nowMs = noon;

const odd = (): void => {};

const noReload = (): void => {};

interface Worker {
  readonly group: ProxyGroup;
  requests: number;
}

/** A directory of the test's own: those of a folder run side by side. */
function directoryOf(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), "sluice-w-"));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return join(directory, "metrics");
}

interface Counted {
  readonly pid: number;
  readonly requests: number;
  readonly answerMs?: number;
}

function worker(t: Test, place: string, { pid, requests, answerMs = 20_000 }: Counted): Worker {
  const env = { SLUICE_WORKER_METRICS: place };
  const made = {
    group: workerMetrics({ env, pid, nowMs: () => nowMs, answerMs })!,
    requests,
  };
  made.group.answerWith(
    async () => ({
      counted: [["sluice_requests_total", ["openai"], [made.requests]]],
      read: [["sluice_connections", [], [pid]]],
    }),
    noReload,
  );
  t.teardown(() => made.group.leave());
  return made;
}

/** The count of each by its label, as a scrape of one has it. */
async function scrape({ group }: Worker): Promise<Readonly<Record<string, number>>> {
  const gathered = await group.gather();
  const byLabel = (series: readonly ReportedSeries[]): [string, number][] =>
    series.map(([, labels, values]) => [labels.at(-1)!, values[0]!]);
  t.same(
    byLabel(gathered!.read).map(([label]) => label),
    byLabel(gathered!.counted).map(([label]) => label),
  );
  return Object.fromEntries(byLabel(gathered!.counted));
}

t.test("whichever proxy of a port is scraped tells of all, each by its name", async (t) => {
  const metrics = directoryOf(t);
  const first = worker(t, join(metrics, "proxy"), { pid: 1, requests: 10 });
  const second = worker(t, join(metrics, "worker-2"), { pid: 2, requests: 200 });
  await first.group.serves(odd);
  t.same(await scrape(first), { "": 10 }, "alone, as a proxy without workers");
  await second.group.serves(odd);
  t.same(await scrape(first), { "": 10, "worker-2": 200 });
  second.requests++;
  t.same(await scrape(second), { "": 10, "worker-2": 201 }, "no sum depends on who is met");

  // A reload: the successor serves, and the one before finishes.
  nowMs += 60_000;
  const successor = worker(t, join(metrics, "worker-2"), { pid: 3, requests: 5 });
  t.same(await scrape(first), { "": 10, "worker-2": 201 }, "it doesn't serve yet");
  await successor.group.serves(odd);
  const all = { "": 10, "worker-2": 5, "worker-2-finishing-2": 201 };
  t.same(await scrape(first), all);
  t.same(await scrape(successor), all);
  await second.group.leave();
  t.same(await scrape(first), { "": 10, "worker-2": 5 });
  t.equal(readdirSync(metrics).length, 2);
});

t.test(
  "a killed or stuck proxy, or another program, has no series, and delays no other",
  async (t) => {
    const metrics = directoryOf(t);
    const first = worker(t, join(metrics, "proxy"), { pid: 7, requests: 10, answerMs: 500 });
    await first.group.serves(odd);
    const left = createServer();
    await new Promise<void>((resolve) => left.listen(join(metrics, "other"), resolve));
    // A process that is killed leaves its file, on which nobody listens.
    const killed = join(metrics, `worker-8.${nowMs - 60_000}.80.sock`);
    linkSync(join(metrics, "other"), killed);
    await new Promise((resolve) => left.close(resolve));
    const answers = [
      JSON.stringify({ metrics: "reported", id: 0, counted: 7, read: [[1]] }),
      "not JSON",
      JSON.stringify({ metrics: "ask", id: 0 }),
      null,
    ];
    for (const [i, answer] of answers.entries()) {
      const server = createServer((socket) => {
        socket.on("error", () => {});
        if (answer !== null) socket.end(answer);
      });
      server.listen(join(metrics, `worker-${i}0.${nowMs}.${100 + i}.sock`));
      t.teardown(() => server.close());
    }
    writeFileSync(join(metrics, `worker-9.${nowMs}.90.sock`), "no socket");
    const gathered = await scrape(first);
    t.equal(gathered[""], 10);
    t.notOk(
      Object.keys(gathered).some((label) => /^worker-\d0|^worker-[89]/.test(label)),
      Object.keys(gathered).join(),
    );
    t.notOk(existsSync(killed), "what is left of a killed process is removed");
  },
);

t.test("an answer that makes no sense breaks no scrape, and is reported once", async (t) => {
  const metrics = directoryOf(t);
  const first = worker(t, join(metrics, "proxy"), { pid: 7, requests: 10, answerMs: 10_000 });
  /** By the name before the times of their sockets. */
  const reported: string[] = [];
  await first.group.serves(
    (socket, reason) => void reported.push(`${socket.replace(/\..*/, "")}: ${reason}`),
  );
  const one = (labels: unknown, values: unknown): unknown => [
    "sluice_requests_total",
    labels,
    values,
  ];
  const answers: Readonly<Record<string, string>> = {
    half: JSON.stringify({ metrics: "reported", id: 0, counted: [], read: [] }).slice(0, -3),
    html: "<html>",
    lists: JSON.stringify({ metrics: "reported", id: 0, counted: {}, read: null }),
    series: JSON.stringify({
      ...{ metrics: "reported", id: 0, read: [["sluice_connections", [], [4]]] },
      counted: [
        one(["good"], [5]),
        one(["good"], [6]),
        one(["below"], [-1]),
        one(["text"], ["1"]),
        one(["none"], [null]),
        one([7], [1]),
        one("labels", [1]),
        one(["x".repeat(5_000)], [1]),
        ["sluice_connections", [], [1]],
        null,
      ],
    }),
    infinite: `{"metrics":"reported","id":0,"counted":[],"read":[["sluice_connections",[],[1e999]]]}`,
    large: "x".repeat(33 * 1024 * 1024),
  };
  for (const [name, answer] of Object.entries(answers)) {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.end(answer);
    });
    server.listen(join(metrics, `${name}.${nowMs}.1.sock`));
    t.teardown(() => server.close());
  }
  const loop = join(metrics, `loop.${nowMs}.1.sock`);
  symlinkSync(loop, loop);
  const [gathered, again] = await Promise.all([first.group.gather(), first.group.gather()]);
  t.equal(gathered, again, "scrapes at once ask the others once");
  t.same(gathered, {
    counted: [
      ["sluice_requests_total", ["openai", ""], [10]],
      ["sluice_requests_total", ["good", "series"], [5]],
    ],
    read: [
      ["sluice_connections", [""], [7]],
      ["sluice_connections", ["series"], [4]],
    ],
  });
  await first.group.gather();
  t.same(reported.sort(), [
    "half: what it answers are no metrics",
    "html: what it answers are no metrics",
    "infinite: 1 of its series are odd",
    "large: its answer is too large",
    "lists: 2 of its series are odd",
    "loop: it can't be asked: ELOOP",
    "series: 9 of its series are odd",
  ]);
  rmSync(loop);
  await first.group.gather();
  symlinkSync(loop, loop);
  await first.group.gather();
  t.equal(reported.at(-1), "loop: it can't be asked: ELOOP", "one that had left is another");
});

t.test("without its variable, or a directory, a proxy tells of itself alone", async (t) => {
  for (const env of [{}, { SLUICE_WORKER_METRICS: "" }])
    t.equal(workerMetrics({ env, pid: 1, nowMs: () => nowMs }), null);
  const env = { SLUICE_WORKER_METRICS: join(directoryOf(t), "x".repeat(120), "proxy") };
  const group = workerMetrics({ env, pid: 1, nowMs: () => nowMs })!;
  group.answerWith(
    async () => ({ counted: [], read: [["sluice_connections", [], [3]]] }),
    noReload,
  );
  await t.rejects(group.serves(odd), "the path is too long for a socket");
  const families = familiesOfAll((await group.gather())!, group.sums);
  const connections = families.find(({ metric }) => metric.name === "sluice_connections");
  t.same(
    connections?.series.map(({ values }) => [...values]),
    [[3]],
    "a scrape shows them",
  );
  await group.leave();
});

import t from "tap";
import { listQueues } from "../../../limiterd/lists/list-queues.js";
import { ask, askFor, pathRule, startDaemon, target } from "../in-memory-daemon.js";

t.test("the queues are listed, the longest first, with their classes", async (t) => {
  const daemon = startDaemon(
    [pathRule("/few", 0, { requests: 1 }), pathRule("/many", 3600, { requests: 1 })],
    { waiting: { maxMs: 7_200_000, defaultMs: 7_200_000, paths: [] } },
  );
  t.match(await ask(daemon, "queues.list", null), { waiting: 0 });
  const peer = daemon.proxy("p1");
  const wait = { askedMs: null, timeoutMs: null, waitedMs: 0 };
  const asked = { credential: "authenticated", targets: [target], submission: false } as const;
  askFor(peer, 2, "/few");
  askFor(peer, 3, "/many");
  for (const [at, userPath] of ["/few", "/many/a", "/many", "/many/a/b"].entries())
    peer.send({ kind: "admit", id: 10 + at, userPath, ...asked, read: 0, wait });
  daemon.nowMs += 3000;
  const list = (await ask(daemon, "queues.list", null)) as {
    readonly queues: readonly Readonly<Record<string, unknown>>[];
  };
  t.match(list, { waiting: 4 });
  t.match(list.queues[0], {
    limit: "the hour request limit of /many",
    scope: "user_path",
    subject: "/many",
    period_seconds: 3600,
    dimension: "requests",
    waiting: 3,
    oldest_seconds: 3,
  });
  t.same(list.queues[0]?.["classes"], [
    { user_path: "/many/a", waiting: 2 },
    { user_path: "/many", waiting: 1 },
  ]);
  t.match(list.queues[1], { limit: "the concurrency limit of /few", waiting: 1 });
  const explained = await ask(daemon, "explain", { user_path: "/few", targets: [target] });
  t.match(explained, { verdict: { admitted: false, queue: { position: 2 } } });
});

const view = (scope: string, subject: string, size: number) => ({
  size,
  expectedMs: 1000,
  classes: [{ name: "app", waiting: size }],
  oldest: {
    arrivedMs: 0,
    breach: { scope, subject, periodSeconds: 60, dimension: "requests", cap: 9, waitSeconds: 1 },
  },
});
const views = [
  view("user_path", "/", 17),
  view("user_path", "/team", 2),
  view("user_path", "/team/a", 3),
  view("user_path", "/team2", 40),
  view("model", "openai/gpt-4o", 50),
];
const state = {
  waiters: { monoMs: 5000, size: 112, queues: { views: () => views } },
  settings: { rateLimitsEnabled: false },
} as unknown as Parameters<typeof listQueues>[0];

t.test("a role for a subtree sees the queues in it, and no count of others", (t) => {
  const { queues, waiting } = listQueues(state, "/team", 5000);
  t.strictSame(
    queues.map(({ subject, waiting }) => [subject, waiting]),
    [
      ["/team/a", 3],
      ["/team", 2],
    ],
  );
  t.equal(waiting, 5);
  const all = listQueues(state, "/", 5000);
  t.equal(all.waiting, 112);
  t.equal(all.queues.length, 5);
  t.end();
});

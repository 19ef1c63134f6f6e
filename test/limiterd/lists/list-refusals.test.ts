import t from "tap";
import { itemsExaminedMax } from "../../../limiterd/lists/list-query.js";
import { listRefusals } from "../../../limiterd/lists/list-refusals.js";
import type { RecentRefusal } from "../../../limiterd/rules/recent-refusals.js";
import { exactly } from "../../support/patterns/exactly.js";
import { ask, askFor, pathRule, startDaemon } from "../in-memory-daemon.js";
import { wholeList } from "./whole-list.js";

t.test(
  "refusals are listed newest first, with the rule, the request and when it passes",
  async (t) => {
    const daemon = startDaemon([
      pathRule("/team", 60, { requests: 1 }),
      pathRule("/b", 0, { requests: 1 }),
    ]);
    const peer = daemon.proxy("p1");
    for (const [id, path] of [
      [2, "/team"],
      [3, "/b"],
      [4, "/team/app"],
      [5, "/b"],
      [6, "/team/lab"],
    ] as const)
      askFor(peer, id, path);
    peer.send({ kind: "refusal", id: 4, requestId: "req_4", model: "fast" });
    const all = await ask(daemon, "refusals.list", null);
    t.match(
      all,
      exactly({
        refusals: [
          { user_path: "/team/lab", request_id: null, model: null, dimension: "requests" },
          { user_path: "/b", dimension: "concurrent", retry_after: 1 },
          {
            user_path: "/team/app",
            request_id: "req_4",
            model: "fast",
            refused_at: "2026-01-01T00:00:00.000Z",
            targets: ["openai/gpt-4o"],
            rule: { scope: "user_path", subject: "/team", period_label: "minute" },
            cap: 1,
            retry_after: 61,
            admitted_at: "2026-01-01T00:01:01.000Z",
          },
        ],
        next: null,
      }),
    );
    const paths = async (body: object): Promise<unknown> => {
      const { refusals, next } = await ask(daemon, "refusals.list", body);
      return [(refusals as { user_path: string }[]).map(({ user_path: path }) => path), next];
    };
    t.same(await paths({ dimension: "concurrent" }), [["/b"], null]);
    t.same(await paths({ search: "REQ_4" }), [["/team/app"], null]);
    t.same(await paths({ search: "team" }), [["/team/lab", "/team/app"], null]);
    t.same(await paths({ limit: 2 }), [["/team/lab", "/b"], "2"]);
    t.same(await paths({ limit: 2, after: "2" }), [["/team/app"], null]);
    t.same(await paths({ after: "nothing" }), await paths({}));
    await t.rejects(paths({ dimension: "mood" }), /dimension must be one of requests, tokens/);
  },
);

t.test("a refusal is shown with what is known of it, of a rule or of a budget", async (t) => {
  const limit = { scope: "user_path", subject: "/team", periodSeconds: 60 } as const;
  const ofRule = { ...limit, dimension: "tokens", cap: 7, waitSeconds: 3 } as const;
  const ofBudget = {
    ...limit,
    ...{ periodSeconds: 86_400, spentUsd: 1.5, amountUsd: 1, waitSeconds: 9 },
    dimension: "budget",
  } as const;
  const refusal: RecentRefusal = {
    ...{ atMs: 5000, proxyId: "p", admitId: 1, userPath: "/team/a", keyId: "", submission: false },
    ...{ targets: [{ provider: "a", model: "b" }], targetsLeftOut: 0, breach: ofRule },
    ...{ requestId: null, model: null },
  };
  const shown = (changes: Partial<RecentRefusal>): unknown =>
    listRefusals(
      { newestFirst: () => [[1, { ...refusal, ...changes }] as const].values() },
      wholeList,
      6000,
      null,
    ).refusals[0];
  const period = { period_label: "minute", period_seconds: 60 };
  const item = {
    request_id: null,
    refused_at: "1970-01-01T00:00:05.000Z",
    user_path: "/team/a",
    model: null,
    targets: ["a/b"],
    message: "rate limit exceeded for user_path /team (minute limit): tokens",
    rule: { scope: "user_path", subject: "/team", ...period },
    dimension: "tokens",
    cap: 7,
    retry_after: 3,
    admitted_at: "1970-01-01T00:00:08.000Z",
  };
  const { message: _, ...rest } = shown({}) as typeof item;
  const { message: __, ...expected } = item;
  t.strictSame(rest, expected);
  const { cap: ___, rule: ____, ...both } = expected;
  for (const [changes, differing] of [
    [{ keyId: "key_7" }, { key: "key_7" }],
    [{ submission: true }, { submission: true }],
    [{ targetsLeftOut: 1 }, { targets_left_out: 1 }],
    [
      { model: "m", requestId: "r" },
      { model: "m", request_id: "r" },
    ],
    [{ model: "" }, { model: null }],
  ] as const) {
    const { message, ...now } = shown(changes) as typeof item;
    t.strictSame(now, { ...expected, ...differing });
  }
  const { message, ...budgeted } = shown({ breach: ofBudget }) as typeof item;
  t.match(message, /^budget exceeded for \/team daily limit: spent 1.5 of 1/);
  t.strictSame(budgeted, {
    ...both,
    budget: {
      scope: "user_path",
      subject: "/team",
      period_label: "daily",
      period_seconds: 86_400,
    },
    dimension: "budget",
    spent: 1.5,
    amount: 1,
    retry_after: 9,
    admitted_at: "1970-01-01T00:00:14.000Z",
  });
  let looked = 0;
  function* many(): Generator<readonly [number, RecentRefusal]> {
    for (let number = 2 * itemsExaminedMax; number > 0; number--) {
      looked++;
      yield [number, refusal];
    }
  }
  const page = listRefusals({ newestFirst: many }, { ...wholeList, search: "none" }, 0, null);
  t.match(page, { refusals: { length: 0 }, next: String(itemsExaminedMax + 1) });
  t.equal(looked, itemsExaminedMax + 1, "a bounded number is looked at");
});

import t from "tap";
import { ask, askFor, pathRule, startDaemon } from "../in-memory-daemon.js";

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
    t.match(all, {
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
    });
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

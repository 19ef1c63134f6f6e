import fc from "fast-check";
import t from "tap";
import { listLeases } from "../../../limiterd/lists/list-leases.js";
import type { HeldLease, PeerState } from "../../../limiterd/peer.js";
import { exactly } from "../../support/patterns/exactly.js";
import { ask, askFor, pathRule, settleOf, startDaemon, submit } from "../in-memory-daemon.js";
import { wholeList } from "./whole-list.js";

t.test(
  "requests in flight are listed with who holds them, the longest running first",
  async (t) => {
    const daemon = startDaemon([pathRule("/team", 60, { requests: 100 })]);
    const [one, two] = [daemon.proxy("p1"), daemon.proxy("p2")];
    const first = askFor(one, 2, "/team/a")!;
    submit(one, 3, "/team/a");
    daemon.nowMs += 1500;
    for (const [peer, path] of [
      [two, "/team/b"],
      [one, "/other"],
    ] as const)
      askFor(peer, 4, path);
    daemon.nowMs += 500;
    const list = async (body: object | null): Promise<Record<string, unknown>> =>
      ask(daemon, "leases.list", body);
    const paths = async (body: object): Promise<unknown> =>
      ((await list(body))["in_flight"] as { user_path: string }[]).map(
        ({ user_path: path }) => path,
      );
    t.same(await list(null), {
      in_flight: [
        {
          proxy: "p1",
          lease: 2,
          user_path: "/team/a",
          target: "openai/gpt-4o",
          admitted_at: "2026-01-01T00:00:00.000Z",
          seconds: 2,
        },
        {
          proxy: "p1",
          lease: 4,
          user_path: "/other",
          target: "openai/gpt-4o",
          admitted_at: "2026-01-01T00:00:01.500Z",
          seconds: 0,
        },
        {
          proxy: "p2",
          lease: 4,
          user_path: "/team/b",
          target: "openai/gpt-4o",
          admitted_at: "2026-01-01T00:00:01.500Z",
          seconds: 0,
        },
      ],
      server_time: "2026-01-01T00:00:02.000Z",
      next: null,
    });
    t.same(await paths({ search: "TEAM" }), ["/team/a", "/team/b"]);
    t.same(await paths({ search: "gpt-4o" }), ["/team/a", "/other", "/team/b"]);
    const seen: unknown[] = [];
    for (let after: unknown = null; ; ) {
      const { in_flight: page, next } = await list({ limit: 1, after });
      seen.push(...(page as { user_path: string }[]).map(({ user_path: path }) => path));
      if (next === null) break;
      after = next;
    }
    t.same(seen, ["/team/a", "/other", "/team/b"], "pages of one");
    one.send(settleOf(first, 1, 0));
    t.same(await paths({}), ["/other", "/team/b"], "one that has ended is gone");
    t.same(await paths({ after: "x" }), ["/other", "/team/b"]);
  },
);

t.test("a page holds the oldest of many, whatever their order", async (t) => {
  const daemon = startDaemon([pathRule("/", 60, { requests: 10_000 })]);
  const peer = daemon.proxy("p1");
  for (let id = 2; id < 52; id++) {
    daemon.nowMs += id % 2 === 0 ? 7 : -5;
    askFor(peer, id, `/n${id}`);
  }
  const page = await ask(daemon, "leases.list", { limit: 10 });
  const all = (await ask(daemon, "leases.list", {}))["in_flight"] as readonly object[];
  t.equal(all.length, 50);
  t.same(page["in_flight"], all.slice(0, 10));
  const rest = await ask(daemon, "leases.list", { limit: 200, after: page["next"] });
  t.same([rest["in_flight"], rest["next"]], [all.slice(10), null]);
});

/** Peers with one lease each, of which a list reads no more. */
function holding(
  leases: readonly (Partial<HeldLease> & { readonly proxyId?: string })[],
): PeerState[] {
  return leases.map(({ proxyId = "p1", ...changes }, i) => {
    const held = { userPath: "/", target: null, admittedAtMs: 5000, submission: false, ...changes };
    return { proxy: { id: proxyId }, leases: new Map([[i + 1, held]]) } as unknown as PeerState;
  });
}

t.test("pages of any size show each request once, in the order of their admission", async (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ admittedAtMs: fc.nat(6), proxyId: fc.constantFrom("a", "b", "c") }), {
        maxLength: 40,
      }),
      fc.integer({ min: 1, max: 4 }),
      (all, limit) => {
        const peers = holding(all);
        const listed: string[] = [];
        let after: string | null = null;
        do {
          const page = listLeases(peers, { ...wholeList, limit, after }, 0);
          if (page.in_flight.length > limit) throw new Error("a page of more than was asked for");
          listed.push(...page.in_flight.map(({ proxy, lease }) => `${proxy} ${lease}`));
          after = page.next;
        } while (after !== null);
        const expected = all
          .map((each, i) => ({ ...each, lease: i + 1 }))
          .sort(
            (a, b) =>
              a.admittedAtMs - b.admittedAtMs ||
              a.proxyId.localeCompare(b.proxyId) ||
              a.lease - b.lease,
          )
          .map(({ proxyId, lease }) => `${proxyId} ${lease}`);
        t.same(listed, expected);
      },
    ),
  );
});

t.test(
  "what isn't known of a request is null, and one of the future has run for no time",
  async (t) => {
    const shown = (lease: Partial<HeldLease>, nowMs = 9999): unknown =>
      listLeases(holding([lease]), wholeList, nowMs).in_flight;
    const item = { proxy: "p1", lease: 1, user_path: "/", target: null };
    const since = { admitted_at: "1970-01-01T00:00:05.000Z", seconds: 4 };
    t.strictSame(shown({}), [{ ...item, ...since }]);
    t.strictSame(shown({ target: { provider: "a", model: "b" } }), [
      { ...item, target: "a/b", ...since },
    ]);
    t.strictSame(shown({ admittedAtMs: 0 }), [{ ...item, admitted_at: null, seconds: null }]);
    t.match(
      shown({ admittedAtMs: 1 }),
      exactly([{ admitted_at: "1970-01-01T00:00:00.001Z", seconds: 9 }]),
    );
    t.match(shown({}, 4000), exactly([{ seconds: 0 }]));
    t.same(shown({ submission: true }), []);
    t.same(listLeases([{ proxy: null } as PeerState], wholeList, 0).in_flight, []);
  },
);

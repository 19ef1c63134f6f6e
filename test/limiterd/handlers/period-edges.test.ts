/**
 * Tokens at the edges of periods: of rules and of the children of templates, settled at once or
 * late, over crashes, against a list of charges that is summed anew.
 */
import fc from "fast-check";
import t from "tap";
import { sweepChildren } from "../../../limiterd/lifecycle/sweep.js";
import type { Lease } from "../../../shared/wire/message-to-daemon.js";
import {
  askFor,
  pathRule,
  settleOf,
  startDaemon,
  type TestDaemon,
  type TestPeer,
} from "../in-memory-daemon.js";

const minuteMs = 60_000;
const beginMs = 1_767_225_600_000;
const rule = pathRule("/", 60, { requests: 1e6, tokens: 1e9 });
const template = { ...pathRule("/team", 60, { requests: 1e6, tokens: 1e9 }), perChild: true };
const paths = ["/team/a", "/team/a/deep", "/team/b", "/other"] as const;

type Step =
  | { readonly kind: "ask"; readonly path: (typeof paths)[number] }
  | {
      readonly kind: "settle";
      readonly which: number;
      readonly tokens: number;
      readonly agoMs: number;
    }
  | { readonly kind: "clock"; readonly byMs: number }
  | { readonly kind: "sweep" | "snapshot" | "commit" | "crash" };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant("ask" as const), path: fc.constantFrom(...paths) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("settle" as const),
      which: fc.nat(50),
      tokens: fc.integer({ min: 0, max: 1000 }),
      agoMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3 * minuteMs })),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("clock" as const),
      byMs: fc.oneof(
        fc.constantFrom(1, minuteMs - 1, minuteMs, minuteMs + 1, 2 * minuteMs),
        fc.integer({ min: 1, max: 50_000 }),
      ),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        "sweep" as const,
        "snapshot" as const,
        "commit" as const,
        "crash" as const,
      ),
    }),
  },
);

interface Charged {
  readonly path: string;
  readonly atMs: number;
  readonly requests: number;
  readonly tokens: number;
  /** When the daemon learned of it. */
  readonly knownMs: number;
}

/** [previous requests, current requests, previous tokens, current tokens] of who pays. */
function owed(
  charged: readonly Charged[],
  nowMs: number,
  isPayer: (path: string) => boolean,
): number[] {
  const startMs = nowMs - (nowMs % minuteMs);
  const sums = [0, 0, 0, 0];
  for (const { path, atMs, requests, tokens } of charged) {
    if (!isPayer(path)) continue;
    const half = atMs >= startMs ? 1 : atMs >= startMs - minuteMs ? 0 : null;
    if (half === null) continue;
    sums[half]! += requests;
    sums[half + 2]! += tokens;
  }
  return sums;
}

/** What a window says at this moment. */
function counted(daemon: TestDaemon, path: string, isTemplate: boolean): number[] {
  const counter = daemon.state.book
    .matchPath(path, daemon.nowMs)
    .find(({ rule }) => rule.definition.perChild === isTemplate)!;
  const { startMs, previousRequests, currentRequests, previousTokens, currentTokens } =
    counter.window;
  daemon.state.book.reclaim();
  const halves = [previousRequests, currentRequests, previousTokens, currentTokens];
  const periods = Math.floor(daemon.nowMs / minuteMs) - Math.floor(startMs / minuteMs);
  if (periods === 0) return halves;
  return periods === 1 ? [currentRequests, 0, currentTokens, 0] : [0, 0, 0, 0];
}

t.test(
  "requests and tokens lie in the half in which they were made and ended, whenever they are settled",
  async (t) => {
    let late = 0;
    let crashes = 0;
    let checks = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 20, maxLength: 80, size: "max" }),
        async (steps) => {
          let daemon = startDaemon([rule, template], { nowMs: beginMs });
          let peer: TestPeer = daemon.proxy("p");
          let id = 1;
          let seq = 0;
          const charged: Charged[] = [];
          const leases: Lease[] = [];
          for (const [index, one] of steps.entries()) {
            switch (one.kind) {
              case "ask": {
                const lease = askFor(peer, ++id, one.path);
                if (lease === null) throw new Error("refused");
                leases.push(lease);
                charged.push({
                  path: one.path,
                  atMs: daemon.nowMs,
                  requests: 1,
                  tokens: 0,
                  knownMs: daemon.nowMs,
                });
                break;
              }
              case "settle": {
                if (leases.length === 0) break;
                const [lease] = leases.splice(one.which % leases.length, 1) as [Lease];
                const atMs = Math.max(lease.admittedAtMs, daemon.nowMs - one.agoMs);
                if (Math.floor(atMs / minuteMs) < Math.floor(daemon.nowMs / minuteMs)) late++;
                peer.send(settleOf(lease, ++seq, one.tokens, { ended: daemon.nowMs - atMs }));
                charged.push({
                  path: lease.userPath,
                  atMs,
                  requests: 0,
                  tokens: one.tokens,
                  knownMs: daemon.nowMs,
                });
                break;
              }
              case "clock":
                daemon.nowMs += one.byMs;
                break;
              case "sweep":
                await sweepChildren(
                  daemon.state,
                  () => daemon.nowMs,
                  () => Promise.resolve(),
                );
                break;
              case "snapshot":
                await daemon.snapshot();
                break;
              case "commit":
                await daemon.commit();
                break;
              case "crash": {
                crashes++;
                // All settles are acknowledged; the leases are named again.
                await daemon.commit();
                daemon = startDaemon([rule, template], {
                  store: daemon.store.crash(),
                  nowMs: daemon.nowMs,
                });
                peer = daemon.proxy("p", leases);
                await daemon.commit();
                break;
              }
            }
            for (const [path, isTemplate, isPayer] of [
              ["/other", false, () => true],
              ["/team/a", true, (other: string) => /^\/team\/a(\/|$)/.test(other)],
              ["/team/b", true, (other: string) => other === "/team/b"],
            ] as const) {
              checks++;
              const found = counted(daemon, path, isTemplate);
              const expected = owed(charged, daemon.nowMs, isPayer);
              if (String(found) !== String(expected))
                throw new Error(
                  `step ${index}, ${one.kind}: ${path} counts ${found}, not ${expected}`,
                );
            }
          }
        },
      ),
      { numRuns: 150, seed: 7 },
    );
    t.ok(late > 100 && crashes > 100 && checks > 10_000, `${late} late, ${crashes} crashes`);
  },
);

t.test("a child's tokens of the last period still weigh in the next, and refuse", async (t) => {
  const capped = { ...template, maxTokens: 100 };
  for (const crash of [false, true]) {
    let daemon = startDaemon([capped], { nowMs: beginMs + minuteMs / 2 });
    let peer = daemon.proxy("p");
    const lease = askFor(peer, 2, "/team/a")!;
    daemon.nowMs = beginMs + minuteMs - 1;
    peer.send(settleOf(lease, 1, 200));
    t.equal(askFor(peer, 3, "/team/a"), null);
    t.not(askFor(peer, 4, "/team/b"), null, "another child isn't affected");
    daemon.nowMs = beginMs + minuteMs;
    if (crash) {
      await daemon.commit();
      daemon = startDaemon([capped], { store: daemon.store.crash(), nowMs: daemon.nowMs });
      peer = daemon.proxy("p");
    }
    for (const [atMs, admitted] of [
      [0, false],
      [minuteMs / 2, false],
      [minuteMs / 2 + 1, true],
    ] as const) {
      daemon.nowMs = beginMs + minuteMs + atMs;
      t.equal(askFor(peer, 10 + atMs, "/team/a") !== null, admitted, `${atMs} ms, crash: ${crash}`);
    }
  }
});

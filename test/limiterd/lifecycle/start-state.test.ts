import t from "tap";
import { startState } from "../../../limiterd/lifecycle/start-state.js";
import { budget } from "../budgets/budget-fixture.js";
import { ask, startDaemon } from "../daemon.js";

t.test(
  "templates in the store without the entitlement are named at each start, and continue to count per child",
  async (t) => {
    const first = startDaemon([], { budgets: [budget("/team", 86_400, 1, { perChild: true })] });
    for (const [subject, perChild] of [
      ["/users", true],
      ["/plain", false],
    ] as const)
      await ask(first, "rate-limits.put", {
        subject,
        per_child: perChild,
        limit_key: { period: "minute" },
        max_requests: 5,
      });
    const start = async (entitled: boolean): Promise<readonly string[]> => {
      const named: string[] = [];
      const { state } = await startState(
        {
          store: first.store.crash(),
          schedule: () => {},
          onStoreState: () => {},
          onInert: () => {},
          onUnentitled: (templates) => void named.push(...templates),
          onUnreadable: () => {},
          onDroppedRecord: () => {},
          yieldToEventLoop: () => Promise.resolve(),
        },
        {
          settings: { ...first.state.settings, quotaTemplatesEntitled: entitled },
          rules: [],
          budgets: [budget("/team", 86_400, 1, { perChild: entitled })],
          providers: new Set(),
          hashKey: [1, 2],
          nowMs: first.nowMs,
        },
      );
      t.same(
        state.book.matchPath("/users/a/b", first.nowMs).map(({ subject }) => subject),
        ["/users/a"],
        "never a shared counter",
      );
      return named;
    };
    t.same(await start(false), ["/users minute"], "the configuration's budget isn't one any more");
    t.same(await start(false), ["/users minute"], "at the next start too");
    t.same(await start(true), []);
  },
);

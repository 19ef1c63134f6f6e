/** A provider's row: what all proxies had from its targets, and their open circuits. */
import t from "tap";
import { providerTraffic } from "../../../proxy/dashboard/web/logic/provider-traffic.js";
import type { TargetTrafficItem } from "../../../shared/api/request-item.js";

const target = (
  name: string,
  attempts: number,
  error_rate: number | null,
  at: string | null,
): TargetTrafficItem =>
  ({
    target: name,
    attempts,
    error_rate,
    failing: at === null ? null : { from: at, until: null },
    last_error: at === null ? null : { at, message: `of ${name}` },
  }) as TargetTrafficItem;

t.test("targets of a provider are summed, and its latest error is shown", async (t) => {
  const targets = [
    target("openai/a", 90, 0.1, "2026-11-29T10:00:00.000Z"),
    target("openai/b", 10, 0.2, "2026-11-29T11:00:00.000Z"),
    target("openai-eu/a", 50, 1, "2026-11-29T12:00:00.000Z"),
    target("openai/c", 0, null, null),
  ];
  t.same(providerTraffic("openai", targets, ["openai/b: 503 (5 failures)", "openai-eu/a: x"]), {
    attempts: 100,
    errorRate: 0.11,
    failing: { from: "2026-11-29T11:00:00.000Z", until: null },
    lastError: { at: "2026-11-29T11:00:00.000Z", message: "of openai/b" },
    open: ["openai/b: 503 (5 failures)"],
  });
  t.same(providerTraffic("groq", targets, []), {
    attempts: 0,
    errorRate: null,
    failing: null,
    lastError: null,
    open: [],
  });
});

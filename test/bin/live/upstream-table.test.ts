import t from "tap";
import { renderUpstream } from "../../../bin/live/upstream-table.js";
import type { UpstreamTargetItem } from "../../../shared/api/upstream-item.js";

const item: UpstreamTargetItem = {
  provider: "openai",
  model: "gpt-4o",
  mode: "avoid",
  limits: [
    {
      name: "requests",
      limit: 500,
      remaining: 0,
      resets_in_seconds: 42,
      reported_at: "2026-01-01T00:00:00.000Z",
    },
    {
      name: "tokens",
      limit: null,
      remaining: 9000,
      resets_in_seconds: null,
      reported_at: "2026-01-01T00:00:00.000Z",
    },
  ],
  reported_at: "2026-01-01T00:00:00.000Z",
  refusals: 3,
  saturated: true,
  saturated_by: "requests",
  retry_after: 42,
  in_flight: 2,
  adaptive: null,
};

t.test("a line for each limit, the model once", async (t) => {
  const lines = renderUpstream([
    item,
    {
      ...item,
      provider: "local",
      model: "llama",
      mode: "off",
      limits: [],
      refusals: 0,
      saturated: false,
      retry_after: 0,
      adaptive: { min: 2, max: 64, cap: 12, slowdown: 1.1 },
    },
  ]).split("\n");
  t.match(lines[1], /^openai\/gpt-4o +avoid +requests +0\/500 +42s +3 +no requests for 42s/);
  t.match(lines[2], /^ +tokens +9000\/\? +-/);
  t.match(lines[3], /^local\/llama +off +- +- +- +0 +2 of 12 at once/);
  t.equal(lines.length, 4);
  t.match(renderUpstream([]), /^no provider has reported/);
});

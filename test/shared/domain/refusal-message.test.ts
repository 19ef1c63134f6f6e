import t from "tap";
import { limitInWords, refusalMessage } from "../../../shared/domain/refusal-message.js";
import type { Breach, BudgetBreach } from "../../../shared/domain/verdict.js";

t.test("a refusal says which limit was reached, whose it is and how much it allows", async (t) => {
  const ofRule = (changes: Partial<Breach>): Breach => ({
    scope: "user_path",
    subject: "/team",
    periodSeconds: 60,
    dimension: "requests",
    cap: 5,
    waitSeconds: 1,
    ...changes,
  });
  const ofBudget = (changes: Partial<BudgetBreach>): BudgetBreach => ({
    dimension: "budget",
    scope: "user_path",
    subject: "/team",
    periodSeconds: 86_400,
    spentUsd: 8.5,
    amountUsd: 8,
    waitSeconds: 1,
    ...changes,
  });
  const table: readonly (readonly [Breach | BudgetBreach, string, string])[] = [
    [
      ofRule({}),
      "rate limit exceeded for /team: minute request limit of 5 reached",
      "the minute request limit of /team",
    ],
    [
      ofRule({ models: "claude-opus-* openai/*" }),
      "rate limit exceeded for /team on claude-opus-*, openai/*: minute request limit of 5 reached",
      "the minute request limit of /team on claude-opus-*, openai/*",
    ],
    [
      ofRule({ dimension: "tokens", periodSeconds: 300, scope: "model", subject: "m" }),
      "rate limit exceeded for model m: 300s token limit of 5 reached",
      "the 300s token limit of model m",
    ],
    [
      ofRule({ dimension: "concurrent", periodSeconds: 0, scope: "provider", subject: "p" }),
      "rate limit exceeded for provider p: concurrent request limit of 5 reached",
      "the concurrency limit of provider p",
    ],
    [
      ofRule({ dimension: "children", periodSeconds: 3600 }),
      "rate limit exceeded for /team: the hour template has 5 children already",
      "the hour template limit of /team",
    ],
    [
      ofRule({ dimension: "banned", cap: 0, models: "o3 !o3-pro" }),
      "model not allowed for /team on o3, !o3-pro: minute rule with max_requests 0",
      "the minute request limit of /team on o3, !o3-pro",
    ],
    [
      ofRule({ dimension: "banned", cap: 0, models: "mcp:github/delete_*" }),
      "tool not allowed for /team on mcp:github/delete_*: minute rule with max_requests 0",
      "the minute request limit of /team on mcp:github/delete_*",
    ],
    [
      ofBudget({}),
      "budget exceeded for /team daily limit: spent 8.5 of 8",
      "the daily budget of /team",
    ],
    [
      ofBudget({ models: "o3 !o3-pro" }),
      "budget exceeded for /team on o3, !o3-pro daily limit: spent 8.5 of 8",
      "the daily budget of /team on o3, !o3-pro",
    ],
    [
      ofBudget({ scope: "label", subject: "research", periodSeconds: 7200 }),
      "budget exceeded for research 7200s limit: spent 8.5 of 8",
      "the 7200s budget of research",
    ],
  ];
  for (const [breach, message, words] of table) {
    t.equal(refusalMessage(breach), message);
    t.equal(limitInWords(breach), words);
  }
});

import t from "tap";
import {
  limitInWords,
  recordedMessageShownTo,
  refusalMessage,
} from "../../../shared/domain/refusal-message.js";
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

t.test("a recorded refusal names to others only limits on their path and below it", async (t) => {
  const above = "rate limit exceeded: a limit above /t/a is reached";
  for (const [text, shown] of [
    ["rate limit exceeded for /t: day request limit of 5017 reached", above],
    ["rate limit exceeded for /t/ab: day request limit of 5017 reached", above],
    ["rate limit exceeded for provider openai: day token limit of 5017 reached", above],
    ["rate limit exceeded for model m: day token limit of 5017 reached; spare served it", above],
    ["model m is at its adaptive concurrency of 5017: more requests would only…", above],
    [
      "budget exceeded for /t daily limit: spent 5017 of 5000",
      "budget exceeded: a budget above /t/a is used up",
    ],
    [
      "budget exceeded for green daily limit: spent 5017 of 5000",
      "budget exceeded: a budget above /t/a is used up",
    ],
    [
      "tried: model not allowed for /: day rule with max_requests 0",
      "tried: model not allowed: by a rule above /t/a",
    ],
    [
      "provider openai: its own limit of 5017 requests for gpt-4o is reached",
      "provider openai: its own limit of requests for gpt-4o is reached",
    ],
  ] as const)
    t.equal(recordedMessageShownTo("/t/a", text), shown, text);
  for (const text of [
    "rate limit exceeded for /t/a: day request limit of 5 reached",
    "rate limit exceeded for /t/a on gpt-4o: day request limit of 5 reached",
    "rate limit exceeded for /t/a/b: day request limit of 5 reached",
    "budget exceeded for /t/a daily limit: spent 5 of 4",
    "rate limit exceeded: a limit above /t/a/b is reached",
    "rate limit exceeded: 429 from the provider",
    "the provider answered 500",
  ])
    t.equal(recordedMessageShownTo("/t/a", text), text, text);
});

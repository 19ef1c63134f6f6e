import t from "tap";
import { commandsOf } from "../../../bin/import/import-commands.js";
import { readOneApiKeys } from "../../../bin/import/one-api-keys.js";
import { hashKey } from "../../../shared/domain/make-managed-key.js";
import { exactly } from "../../support/patterns/exactly.js";
import { newApiTables, oneApiTables } from "./one-api-exports.js";

const nowMs = Date.parse("2026-01-01T00:00:00Z");
const forever = ["--period-seconds", "3153600000"];

t.test("tokens and quotas of one-api become keys and budgets", async (t) => {
  const { keys, notes } = readOneApiKeys(oneApiTables(), nowMs);
  const key = (text: string, ...more: string[]): string[] => [
    ...["keys", "issue", "--hash", hashKey(`sk-${text}`), "--path", ...more],
  ];
  const ofVip = ["gpt-4o", "gpt-4o-mini", "claude-sonnet-4-5", "claude-latest"];
  // $5 and $1 at 80% of the price buy what $6.25 and $1.25 buy.
  t.same(keys.flatMap(commandsOf), [
    ["budgets", "set", "/vip/ann", ...forever, "--amount", "6.25"],
    ["budgets", "set", "/vip/ann/laptop", ...forever, "--amount", "1.25"],
    key(
      "anns0000111122223333444455556666777788889999aaaa",
      ...["/vip/ann/laptop", "--name", "laptop", "--model", "gpt-4o"],
    ),
    key(
      "token2".padEnd(48, "0"),
      ...["/vip/ann/ci", "--name", "ci", "--model", ...ofVip],
      ...["--expires", "2100-01-01T00:00:00.000Z"],
    ),
    ["budgets", "set", "/vip/ann/spent", ...forever, "--amount", "0.000001"],
    key("token5".padEnd(48, "0"), "/vip/ann/spent", "--name", "spent", "--model", ...ofVip),
  ]);
  t.equal(keys[0]!.redacted, "sk-ann…");
  t.match(
    notes,
    exactly([
      /^token 1 \(laptop\): its addresses/,
      /^token 3 \(off\): it is off: left out$/,
      /^token 4 \(old\): it has expired: left out$/,
      /^\/vip\/ann\/spent: no quota is left/,
      /^token 6 \(bob\): its user is off: left out$/,
      /^quotas: a budget is what was left/,
    ]),
  );
});

t.test("new-api's tokens have groups, limits of models and deletions of their own", async (t) => {
  const { keys, notes } = readOneApiKeys(newApiTables(), nowMs);
  const ofVip = ["gpt-4o", "gpt-4o-mini", "deepseek-chat", "r1"];
  t.same(
    keys.map(({ hash, key, budgets }) => [
      hash,
      key.user_path,
      key["models"],
      budgets.map(({ subject, amount }) => `${String(subject)} ${String(amount)}`),
    ]),
    [
      // r1 is on a channel of vip alone.
      [
        "a",
        "/default/ann/app-one--1",
        ["gpt-4o"],
        ["/default/ann 10", "/default/ann/app-one--1 1"],
      ],
      ["b", "/default/ann/app", ofVip, []],
      ["c", "/default/ann/app-3", ["gpt-4o", "gpt-4o-mini", "house", "suno", "llama3.2"], []],
      ["d", "/vip/2/4", ofVip, ["/vip/2 0.000001"]],
    ].map(([letter, ...rest]) => [hashKey(`sk-${String(letter).repeat(48)}`), ...rest]),
  );
  t.match(
    notes,
    exactly([/^token 1 /, /^\/vip\/2: no quota/, /^token 5 \(x\): its user isn't in/, /quotas/]),
  );
});

t.test("a masked key isn't imported", async (t) => {
  const tables = oneApiTables();
  const [token] = tables.tokens;
  const read = readOneApiKeys(
    { ...tables, tokens: [{ ...token, key: "anns**********aaaa" }] },
    nowMs,
  );
  t.same(read, {
    keys: [],
    notes: ["token 1 (laptop): its key isn't whole in the export: left out"],
  });
});

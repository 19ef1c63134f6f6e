import t from "tap";
import { commandsOf } from "../../../bin/import/import-commands.js";
import { readLitellmKeys } from "../../../bin/import/litellm-keys.js";
import { exactly } from "../../support/patterns/exactly.js";

const nowMs = Date.parse("2026-01-01T00:00:00Z");
const hex = (digit: string): string => digit.repeat(64);

t.test(
  "keys of an export in JSON or CSV become keys, rules and budgets on their paths",
  async (t) => {
    const json = JSON.stringify([
      {
        token: hex("a"),
        key_alias: "ann's key",
        models: ["gpt-4o", "all-team-models"],
        max_budget: 10,
        budget_duration: "30d",
        rpm_limit: 5,
        tpm_limit: 1000,
        max_parallel_requests: 2,
        team_id: "red",
        user_id: "ann@example.com",
        expires: "2030-01-31T12:00:00+00:00",
        blocked: null,
        spend: 1.5,
      },
      { token: hex("b"), key_alias: null, team_id: "blue", user_id: null, models: [] },
    ]);
    const csv =
      "token,key_alias,models,max_budget,budget_duration,rpm_limit,tpm_limit," +
      "max_parallel_requests,team_id,user_id,expires,blocked,spend\n" +
      `${hex("a")},ann's key,"{gpt-4o,all-team-models}",10,30d,5,1000,2,red,ann@example.com,` +
      "2030-01-31 12:00:00,f,1.5\r\n" +
      `${hex("b")},,{},,,,,,blue,,,,0\n`;
    for (const text of [json, csv, JSON.stringify({ keys: JSON.parse(json) })]) {
      const read = readLitellmKeys(text, nowMs)!;
      t.same(read.keys.flatMap(commandsOf), [
        [
          "limits",
          "set",
          "/red/ann@example.com",
          "--rpm",
          "5",
          "--tpm",
          "1000",
          "--concurrent",
          "2",
        ],
        ["budgets", "set", "/red/ann@example.com", "--period", "monthly", "--amount", "10"],
        [
          ...["keys", "issue", "--hash", Buffer.from(hex("a"), "hex").toString("base64url")],
          ...["--path", "/red/ann@example.com", "--name", "ann's key", "--model", "gpt-4o"],
          ...["--expires", "2030-01-31T12:00:00.000Z"],
        ],
        [
          ...["keys", "issue", "--hash", Buffer.from(hex("b"), "hex").toString("base64url")],
          ...["--path", "/blue"],
        ],
      ]);
      t.match(read.notes, exactly([/30 days/, /spend/]));
    }
  },
);

t.test("keys that share a path have paths of their own below it", async (t) => {
  const row = (digit: string, more: object): object => ({ token: hex(digit), ...more });
  const read = readLitellmKeys(
    JSON.stringify([
      row("a", { team_id: "red", user_id: "ann", key_alias: "one" }),
      row("b", { team_id: "red", user_id: "ann", key_alias: "two / 2" }),
      row("c", { team_id: "red", key_alias: "of the team" }),
      row("d", { user_id: "bob" }),
      row("e", {}),
    ]),
    nowMs,
  )!;
  t.same(
    read.keys.map(({ key }) => key.user_path),
    ["/red/ann/one", "/red/ann/two-2", "/red/of-the-team", "/bob", "/key-7u7u7u7u"],
  );
});

t.test("keys that don't work are left out with a note, and other texts are refused", async (t) => {
  const read = readLitellmKeys(
    JSON.stringify([
      { token: hex("a"), key_alias: "blocked", blocked: true },
      { token: hex("b"), key_alias: "expired", expires: "2025-01-01T00:00:00Z" },
      { token: "sk-1234", key_alias: "whole" },
    ]),
    nowMs,
  )!;
  t.same(read.keys, []);
  t.match(read.notes, exactly([/^blocked: /, /^expired: /, /^whole: /]));
  t.notOk(read.notes.join().includes("sk-1234"));
  for (const text of ["", "{", "[", "7", "a,b\n1,2\n", '{"keys":7}'])
    t.equal(readLitellmKeys(text, nowMs), null, text);
});

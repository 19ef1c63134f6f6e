/** Keys that another gateway issued, through real processes. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { hashKey } from "../../../shared/domain/make-managed-key.js";
import { admin } from "../../support/client.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite } from "../../support/processes/processes.js";
import { chat, cli, closed, hexOf, masterKey } from "./key-site.js";

const byMaster = { authorization: `Bearer ${masterKey}` };

t.test(
  "an imported key works in every proxy until it is deleted, also after restarts",
  async (t) => {
    const site = makeSite(t, closed);
    const daemon = await site.startDaemon();
    const [first, second] = await Promise.all([site.startProxy(), site.startProxy()]);
    const known = "sk-1234567890abcdefghijkl";
    const bearer = { authorization: `Bearer ${known}` };
    for (const { ready } of [first, second]) t.same(await chat(ready, bearer), [401, null]);

    writeFileSync(join(site.directory, "old.key"), `${known}\n`);
    t.match(await cli(site, "keys", "issue", "--value-file", "old.key", "--path", "/team"), {
      stdout: "key_1\n",
      stderr: /^imported key_1, for \/team, without expiry$/m,
    });
    for (const { ready } of [first, second])
      for (const headers of [bearer, { "x-api-key": known }, { "api-key": known }])
        t.same(await chat(ready, headers), [200, "100"]);
    const gemini = await fetch(`${first.ready}/v1beta/models?key=${known}`);
    t.equal(gemini.status, 200);

    const hidden = "another-gateway's.key/of+any=form";
    const issued = await admin(
      first.ready,
      "POST /auth-keys",
      { hash: hexOf(hidden), user_path: "/team" },
      byMaster,
    );
    t.match(issued, { status: 201, body: { id: "key_2", redacted_value: "…" } });
    t.notOk("value" in issued.body);
    t.same(await chat(second.ready, { "x-api-key": hidden }), [200, "100"]);
    t.match(
      (await admin(first.ready, "GET /auth-keys", undefined, byMaster)).body,
      exactly([{ redacted_value: "…" }, { redacted_value: "sk-123…" }]),
    );
    for (const [body, message] of [
      [{ hash: hashKey(known) }, "this key exists already, as key_1"],
      [{ hash: hexOf(masterKey) }, "hash must not be that of the master key"],
      [{ hash: known }, /^hash must be the SHA-256 of a key/],
    ] as const)
      t.match(await admin(first.ready, "POST /auth-keys", body, byMaster), {
        status: 400,
        body: { message, param: "hash" },
      });

    // Other tokens are refused as before, and the master key stays what it is.
    for (const token of ["sk-1234567890abcdefghijkm", "x".repeat(513), "a.b.c", hashKey(known)])
      t.same(await chat(first.ready, { "x-api-key": token }), [401, null], token.slice(0, 30));
    t.same(await chat(first.ready, byMaster), [200, null]);
    for (const [token, status] of [
      [known, 401],
      [masterKey, 200],
    ] as const)
      t.match(
        await admin(first.ready, "GET /auth-keys", undefined, { authorization: `Bearer ${token}` }),
        { status },
      );

    await daemon.kill("SIGTERM");
    t.same(await chat(first.ready, bearer), [503, null], "no proxy can check it");
    const again = await site.startDaemon();
    const { ready: third } = await site.startProxy();
    t.same(await chat(third, bearer), [200, "100"]);

    const { stdout: rotated } = await cli(site, "keys", "rotate", "key_1", "--overlap", "1h");
    t.match(rotated, /^sk-sluice-/);
    for (const token of [known, rotated.trim()])
      t.same(await chat(third, { "x-api-key": token }), [200, "100"]);
    await cli(site, "keys", "delete", "key_2");
    t.same(await chat(third, { "x-api-key": hidden }), [401, null]);
    await cli(site, "keys", "rotate", "key_1", "--overlap", "0");
    t.same(await chat(third, bearer), [401, null]);
    await cli(site, "keys", "issue", "--hash", hashKey(hidden), "--path", "/team");
    t.same(await chat(third, { "x-api-key": hidden }), [200, "100"], "imported again");
    for (const secret of [known, hidden])
      for (const { output } of [daemon, again, first, second])
        t.notOk(output().includes(secret), "a key is in no log line");
  },
);

t.test("the first imported key closes an open gateway", async (t) => {
  const site = makeSite(t, "{}");
  await site.startDaemon();
  const { ready } = await site.startProxy();
  const old = "sk-1234567890abcdefghijkl";
  t.same(await chat(ready, { "x-api-key": old }), [200, null]);
  await cli(site, "keys", "issue", "--hash", hexOf(old));
  t.same(await chat(ready, { "x-api-key": old }), [200, null]);
  t.same(await chat(ready, { "x-api-key": "anything" }), [401, null]);
  t.same(await chat(ready, {}), [401, null]);
});

t.test(
  "LiteLLM's keys work unchanged after an import, with their limits and budgets",
  async (t) => {
    const site = makeSite(t, `server: { master_key: ${masterKey} }`);
    await site.startDaemon();
    const { ready } = await site.startProxy();
    const [ann, bob] = ["sk-1234567890abcdefghijkl", "sk-abcdefghijkl1234567890"];
    const head = "token,key_alias,models,max_budget,budget_duration,rpm_limit,team_id,user_id";
    writeFileSync(
      join(site.directory, "keys.csv"),
      `${head}\n${hexOf(ann)},ann,{sim-fast},5,7d,2,red,ann\n${hexOf(bob)},bob,{gpt-4o},,,,red,bob\n`,
    );
    const { stdout: commands } = await cli(site, "import", "litellm", "--keys", "keys.csv");
    t.match(commands, /^sluice limits set \/red\/ann --rpm 2\nsluice budgets set \/red\/ann /);
    t.same(await chat(ready, { "x-api-key": ann }), [401, null], "the commands are only printed");
    const apply = ["import", "litellm", "--keys", "keys.csv", "--apply"];
    t.match(await cli(site, ...apply), {
      stdout: "imported: key_1, for /red/ann\nimported: key_2, for /red/bob\n",
    });
    t.match(await cli(site, ...apply), {
      stdout: /^\/red\/ann: this key exists already, as key_1$/m,
    });
    for (const status of [200, 200, 429])
      t.same(await chat(ready, { authorization: `Bearer ${ann}` }), [status, "2"]);
    t.same(await chat(ready, { authorization: `Bearer ${bob}` }), [403, null], "another model");
    t.match((await admin(ready, "GET /budgets", undefined, byMaster)).body, {
      budgets: exactly([{ subject: "/red/ann", amount: 5 }]),
    });
  },
);

t.test("one-api's keys work unchanged after an import, with the quotas of users", async (t) => {
  const site = makeSite(
    t,
    `server: { master_key: ${masterKey} }\nprices: { simulator/sim-fast: { input: 0, output: 1 } }\n`,
  );
  await site.startDaemon();
  const { ready } = await site.startProxy();
  const key = "anns0000111122223333444455556666777788889999aaaa";
  const row = (fields: object): string => JSON.stringify([{ status: 1, id: 1, ...fields }]);
  for (const [table, text] of Object.entries({
    channels: "",
    options: "",
    users: row({ username: "ann", quota: 500_000, group: "default" }),
    tokens: row({
      key,
      user_id: 1,
      name: "laptop",
      expired_time: -1,
      unlimited_quota: 0,
      remain_quota: 5,
    }),
  }))
    writeFileSync(join(site.directory, `${table}.json`), text);
  t.match(await cli(site, "import", "one-api", ".", "--keys", "--apply"), {
    stdout: "imported: key_1, for /default/ann/laptop\n",
  });
  const bearer = { authorization: `Bearer sk-${key}` };
  t.same(await chat(ready, bearer), [200, null]);
  t.same(await chat(ready, bearer), [429, null], "five units are spent");
  t.match(
    (await admin(ready, "GET /auth-keys", undefined, byMaster)).body,
    exactly([{ redacted_value: "sk-ann…", name: "laptop" }]),
  );
  t.match((await admin(ready, "GET /budgets", undefined, byMaster)).body, {
    budgets: exactly([{ subject: "/default/ann", amount: 1 }, { amount: 0.00001 }]),
  });
});

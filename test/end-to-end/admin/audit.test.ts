/**
 * The audit log through real processes: who changed what, by each way into the gateway, in lists,
 * files and the command line, and after kill -9.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import t from "tap";
import type { AuditEntry, AuditPage } from "../../../shared/api/audit-entry.js";
import { run } from "../../bin/command-session.js";
import { until } from "../../support/client.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite } from "../../support/processes/processes.js";

const masterKey = "master-key-of-the-test";
const site = makeSite(
  t,
  `
server: { master_key: "\${MASTER}" }
limiter: { deadline_ms: 30000 }
providers: { sim: { type: simulator } }
rate_limits: { user_paths: [{ path: /, limits: [{ period: day, max_requests: 100000 }] }] }
`,
  { MASTER: masterKey },
);
const daemon = await site.startDaemon();
const { ready: url } = await site.startProxy();
const here = ["--config", site.configFile, "--socket", site.socket];
const byMaster = { authorization: `Bearer ${masterKey}` };

const send = (
  method: string,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = byMaster,
): Promise<Response> =>
  fetch(`${url}${path}`, {
    method,
    headers: { "content-type": "application/json", "x-request-id": "req_of_test", ...headers },
    ...(body === null ? {} : { body: JSON.stringify(body) }),
  });

async function entries(query = ""): Promise<readonly AuditEntry[]> {
  const answer = await send("GET", `/admin/audit${query}`, null);
  return ((await answer.json()) as AuditPage).entries;
}

const rule = { scope: "user_path", subject: "/team", limit_key: { period: "day" } };

t.test("a change by each way says who made it, and from where", async (t) => {
  await send("PUT", "/admin/rate-limits", { ...rule, max_requests: 5 });
  const issued = await send("POST", "/admin/auth-keys", { name: "CI", user_path: "/team" });
  const { value: key } = (await issued.json()) as { value: string };
  const page = { origin: url, "sec-fetch-site": "same-origin" };
  const wrong = await send("POST", "/dashboard/session", { key: "sk-slc-wrong" }, page);
  t.equal(wrong.status, 401);
  await send("POST", "/dashboard/session", { key }, page);
  const signedIn = await send("POST", "/dashboard/session", { key: masterKey }, page);
  const cookie = signedIn.headers.get("set-cookie")!.split(";")[0]!;
  await send("DELETE", "/admin/rate-limits", rule, { ...page, cookie });
  await send("DELETE", "/dashboard/session", null, { ...page, cookie });
  const set = await run(["limits", "set", "/other", "--period", "day", "--requests", "9", ...here]);
  t.equal(set.exitCode, 0, set.err);

  const from = "127.0.0.1";
  const expected: readonly Partial<AuditEntry>[] = [
    { who: `os user ${userInfo().username}`, from: "socket", operation: "rate-limits.put" },
    { who: "master key", from, operation: "sessions.close" },
    {
      ...{ who: "dashboard session", from, operation: "rate-limits.delete", after: null },
      ...{ before: { max_requests: 5 }, subject: "day rule on user_path /team" },
    },
    { who: "master key", from, operation: "sessions.open-admin" },
    { who: "key key_1", from, operation: "sessions.open" },
    { who: "unknown", from, operation: "sessions.failed" },
    { who: "master key", from, operation: "keys.issue", after: { user_path: "/team" } },
    { who: "master key", from, operation: "rate-limits.put", request_id: "req_of_test" },
  ];
  const found = await entries();
  t.match(found.slice(0, expected.length), expected);
  const configured = { who: "configuration", from: site.configFile };
  t.match(
    await entries("?operation=configuration"),
    exactly([
      { ...configured, subject: "day rule on user_path /" },
      { ...configured, subject: "daemon" },
    ]),
  );
  const text = JSON.stringify(found);
  for (const secret of [key, masterKey, cookie.split("=")[1]!]) t.notOk(text.includes(secret));

  const file = await send("GET", "/admin/audit?format=ndjson&who=dashboard", null);
  t.match(file.headers.get("content-disposition"), /filename="sluice-audit-.*\.ndjson"/);
  t.match(JSON.parse(await file.text()), { operation: "rate-limits.delete" });
  t.match(await run(["audit", "--subject", "/team", ...here]), {
    exitCode: 0,
    out: /dashboard session .* rate-limits\.delete .*"max_requests":5/,
  });
  const json = await run(["audit", "--who", "os user", "--limit", "1", "--json", ...here]);
  t.match(JSON.parse(json.out), exactly({ entries: [{ operation: "rate-limits.put" }] }));
  t.match(await run(["audit", "--last", "x", "--limit", "0", ...here]), {
    err: /--last must be a length of time .*\n.*--limit must be a number from 1/,
  });
  await daemon.printed(/audit: rate-limits\.delete/);
});

t.test("a daemon that is killed right after its answer has the entry", async (t) => {
  const answer = await send("PUT", "/admin/rate-limits", { ...rule, max_requests: 7 });
  t.equal(answer.status, 200);
  await daemon.kill("SIGKILL");
  const text = readFileSync(site.configFile, "utf8");
  writeFileSync(
    site.configFile,
    `${text}usage: { retention_days: 30 }\naliases: { fast: sim/m }\n`,
  );
  await site.startDaemon();
  await until(
    () => send("GET", "/admin/status", null),
    ({ ok }) => ok,
  );
  t.match(
    await entries("?subject=/team&operation=put"),
    exactly([{ after: { max_requests: 7 } }, { after: { max_requests: 5 } }]),
  );
  // The proxies' own settings come with the next proxy.
  await site.startProxy();
  const changed = await until(
    async () =>
      (await entries("?operation=configuration")).filter(
        ({ subject }) => subject !== "daemon" && !subject.endsWith(" rule on user_path /"),
      ),
    (found) => found.some(({ subject }) => subject === "alias fast"),
  );
  const configured = { who: "configuration", from: site.configFile };
  t.match(
    changed,
    exactly([
      {
        ...{ ...configured, subject: "alias fast", before: null },
        after: { provider: "sim", model: "m" },
      },
      {
        ...{ ...configured, subject: "setting usage.retention_days" },
        ...{ before: "400 days", after: "30 days" },
      },
    ]),
  );
});

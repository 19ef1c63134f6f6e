/** `sluice alerts test` and `sluice budgets forecast --check`. */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t from "tap";
import { run } from "../command-session.js";
import { startFakeDaemon } from "../fake-daemon.js";

t.test("a test goes to each destination, and a failure is the exit code", async (t) => {
  let status = 200;
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => response.writeHead(status).end());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const config = join(t.testdir(), "sluice.yaml");
  const test = (...flags: string[]) => run(["alerts", "test", "--config", config, ...flags]);
  writeFileSync(config, "");
  t.match(await test(), { exitCode: 0, out: "no alerts are configured" });
  writeFileSync(config, `alerts: [{ url: "http://127.0.0.1:${port}/x", format: slack }]\n`);
  t.match(await test(), { exitCode: 0, out: /127\.0\.0\.1:\d+ +slack +delivered/ });
  status = 500;
  const failed = await test("--json");
  t.equal(failed.exitCode, 1);
  t.match(JSON.parse(failed.out.split("\n")[0]!), {
    results: { length: 1, 0: { delivered: false, reason: /answered 500$/ } },
  });
});

t.test("forecasts are checked against records, and only if that is asked for", async (t) => {
  const item = (subject: string, rest: object = {}): object => ({
    scope: "user_path",
    subject,
    per_child: false,
    amount: 10,
    period_label: "daily",
    period_seconds: 86_400,
    period_end: "2026-01-02T00:00:00Z",
    ...rest,
  });
  const { socket } = await startFakeDaemon(t, {
    budgets: [item("/team"), item("/team", { models: ["a"] }), item("/r", { rolling: true })],
    answers: {
      "usage.export": () => ({ records: [], next: null, progress: 1 }),
    },
  });
  const check = (...flags: string[]) => run(["budgets", "forecast", "--socket", socket, ...flags]);
  t.match(await check(), { exitCode: 2, err: /--check is required/ });
  const { out } = await check("--check");
  t.equal(out.split("\n").length, 2, out);
  t.match(out, /user_path +\/team +daily +0 +0 +- +- +- +-/);
  t.match(JSON.parse((await check("--check", "--json")).out), {
    budgets: { length: 1, 0: { subject: "/team", periods: 0, error_median: null } },
  });
});

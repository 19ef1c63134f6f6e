/**
 * `sluice usage` and its export against a real daemon: what settles reported is what comes out, and
 * many records pass through little memory.
 */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { recordFields } from "../../../shared/export/exported-record.js";
import { run } from "../../bin/command-session.js";
import { runProgram } from "../../bin/program-run.js";
import { type ExecutedRequest, settleMany } from "../../support/crash/settle-load.js";
import { makeSite } from "../../support/processes/processes.js";
import { programPath } from "../../support/processes/program-path.js";

const records = 100_000;
const nowMs = Date.parse("2026-03-01T12:00:00Z");
/**
 * Every third is unpriced; costs differ, so that a record that is lost or comes twice is seen in
 * the sum.
 */
const executed = (index: number): ExecutedRequest => ({
  userPath: index % 2 === 0 ? "/team/app" : "/other",
  record: {
    requestId: `req_${index}`,
    endpoint: "/v1/chat/completions",
    provider: "test",
    providerType: "openai",
    model: index % 10 === 0 ? "@cf/llama" : "gpt-4o",
    status: 200,
    inputTokens: 10,
    outputTokens: index % 7,
    cachedInputTokens: 4,
    cacheWriteInputTokens: 0,
    ...(index % 3 === 0
      ? { inputCost: null, outputCost: null, totalCost: null }
      : { inputCost: index, outputCost: 1, totalCost: index + 1 }),
    cacheHit: false,
    rewriteTokensSaved: 0,
    rewriteCostSaved: null,
    latencyMs: 12,
    firstByteMs: index % 5 === 0 ? null : 7,
    requestedModel: "",
    session: "",
    details: null,
    atMost: null,
    responseId: "",
    keyId: "",
  },
});
const site = makeSite(
  t,
  'providers: { test: { type: openai, api_key: none, base_url: "http://127.0.0.1:9/v1", models: ["*"] } }\n',
);
await site.startClockedDaemon(nowMs);
await settleMany(site.socket, records, executed);
const sluice = (...argv: string[]): ReturnType<typeof run> =>
  run([...argv, "--socket", site.socket], { nowMs });
const indices = Array.from({ length: records }, (_, index) => index);

t.test("the summary and its groups are the sums of what was reported", async (t) => {
  const { usage, groups } = JSON.parse((await sluice("usage", "--json", "--by", "model")).out) as {
    usage: Record<string, number>;
    groups: { key: string; requests: number; unpriced_requests: number }[];
  };
  const pico = indices
    .filter((index) => index % 3 !== 0)
    .reduce((sum, index) => sum + index + 1, 0);
  t.match(usage, {
    total_requests: records,
    total_input_tokens: records * 10,
    total_output_tokens: indices.reduce((sum, index) => sum + (index % 7), 0),
    cached_input_tokens: records * 4,
    unpriced_requests: indices.filter((index) => index % 3 === 0).length,
    total_cost: Math.round(pico / 1e6) / 1e6,
  });
  t.same(
    groups.map(({ key, requests }) => [key, requests]),
    [
      ["test/gpt-4o", records * 0.9],
      ["test/@cf/llama", records * 0.1],
    ],
  );
  const { out, exitCode } = await sluice("usage", "--by", "path", "--path", "/");
  t.equal(exitCode, 0);
  t.match(out, /^\/team +50,000 /m);
  t.match(out, /^\/other +50,000 /m);
  t.match((await sluice("usage", "--by", "provider", "--days", "1")).out, /^test +100,000 /m);
  t.match(
    (await sluice("usage", "--by", "day", "--from", "2026-02-28")).out,
    /^2026-02-28 +0 .*\n2026-03-01 +100,000 /m,
  );
});

t.test(
  "an export of 100,000 records has each of them once, in order, and fits into little memory",
  { timeout: 180_000 },
  async (t) => {
    const file = join(site.directory, "usage.ndjson");
    const report = `data:text/javascript,process.on("exit",()=>process.stderr.write("peak "+process.resourceUsage().maxRSS+"\\n"))`;
    const argv = [
      "usage",
      "export",
      "--format",
      "ndjson",
      "--output",
      file,
      "--socket",
      site.socket,
    ];
    // The heap can't hold the records, 45 MB as text. Its young part is bounded, too, since that
    // grows differently from one release of Node to another.
    const { exitCode, err } = await runProgram(t, programPath("sluice"), argv, {
      env: {
        NODE_OPTIONS: `--max-old-space-size=48 --max-semi-space-size=16 --import=${encodeURI(report)}`,
      },
    });
    t.equal(exitCode, 0, err);
    const lines = readFileSync(file, "utf8").trimEnd().split("\n");
    t.equal(lines.length, records);
    t.equal(
      lines.findIndex((line, index) => !line.includes(`"request_id":"req_${index}"`)),
      -1,
    );
    const first = JSON.parse(lines[0]!) as Record<string, unknown>;
    t.same(
      Object.keys(first),
      recordFields.map(([name]) => name),
      "the daemon's fields are those of CSV, in its order",
    );
    t.match(JSON.parse(lines[7]!), {
      user_path: "/other",
      time: "2026-03-01T12:00:00.000Z",
      provider: "test",
      model: "gpt-4o",
      key_id: null,
      total_tokens: 10,
      input_cost: 7e-12,
      total_cost: 8e-12,
      first_byte_ms: 7,
      estimated: false,
    });
    t.match(JSON.parse(lines[0]!), { total_cost: null, model: "@cf/llama", first_byte_ms: null });
    const peakMiB = Number(/peak (\d+)/.exec(err)![1]) / 1024;
    t.comment(`${peakMiB.toFixed(0)} MiB at the peak`);
    t.ok(peakMiB < 200, `${peakMiB} MiB`);
  },
);

t.test("path and days narrow an export, and CSV defuses what a caller named", async (t) => {
  const { out } = await sluice(
    "usage",
    "export",
    "--format",
    "csv",
    "--path",
    "/team",
    "--from",
    "2026-03-01",
    "--to",
    "2026-03-01",
  );
  const [header, first, ...rest] = out
    .replaceAll("\r", "")
    .split("\n")
    .filter((line) => line !== "");
  t.equal(header, recordFields.map(([name]) => name).join(","));
  t.equal(rest.length + 1, records / 2);
  t.match(
    first,
    /,req_0,\/team\/app,,test,openai,'@cf\/llama,\/v1\/chat\/completions,200,10,0,10,4,0,,,,0,,false,false,12,,'@cf\/llama,,,,,0,0,/,
  );
  t.equal((await sluice("usage", "export", "--format", "ndjson", "--to", "2026-02-28")).out, "");
});

t.test("a backup of all of it comes in many pieces, and is whole", async (t) => {
  const file = join(site.directory, "backup.mdb");
  const backup = await sluice("backup", file, "--json");
  t.equal(backup.err, "");
  const { bytes, ...report } = JSON.parse(backup.out) as { bytes: number };
  t.match(report, { verified: true, records, problems: { length: 0 } });
  t.equal(bytes, statSync(file).size);
  t.ok(bytes > 5 * 2 ** 20);
  t.equal(statSync(file).mode & 0o777, 0o600, "for its owner alone");
});

import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import t from "tap";
import { writeExport } from "../../../../bin/usage/write-export.js";
import { csvHeader, csvLine } from "../../../../shared/export/usage-csv.js";
import { anyRecord, pagesOf, usageRecord } from "../../../shared/export/usage-records.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { programPath } from "../../../support/processes/program-path.js";
import { run } from "../../command-session.js";
import { startFakeDaemon } from "../../fake-daemon.js";
import { startProgram } from "../../program-run.js";

const script = programPath("sluice");
const numbered = (index: number): ReturnType<typeof usageRecord> =>
  usageRecord({ request_id: `req_${index}` });

t.test("records survive a round trip through NDJSON, over any pages", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(anyRecord, { maxLength: 4 }), { maxLength: 4 }),
      async (pages) => {
        let text = "";
        async function* source(): AsyncGenerator<{
          readonly records: (typeof pages)[number];
          readonly progress: number;
        }> {
          for (const records of pages) yield { records, progress: 0.5 };
        }
        const count = await writeExport(source(), {
          format: "ndjson",
          write: async (more) => {
            text += more;
          },
          progress: null,
        });
        const lines = text.split("\n").slice(0, -1);
        return (
          count === lines.length &&
          JSON.stringify(lines.map((line) => JSON.parse(line) as unknown)) ===
            JSON.stringify(pages.flat())
        );
      },
    ),
    { numRuns: 100 },
  );
});

t.test("a page isn't fetched before the one before it has left", async (t) => {
  const order: string[] = [];
  async function* source(): AsyncGenerator<{
    readonly records: readonly [ReturnType<typeof usageRecord>];
    readonly progress: number;
  }> {
    for (const page of [1, 2, 3]) {
      order.push(`fetch ${page}`);
      yield { records: [numbered(page)], progress: page / 3 };
    }
  }
  const write = async (text: string): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve));
    order.push(
      `written ${text.startsWith(csvHeader) ? "header and " : ""}${/req_\d/.exec(text)?.[0]}`,
    );
  };
  await writeExport(source(), { format: "csv", write, progress: null });
  t.same(order, [
    "fetch 1",
    "written header and req_1",
    "fetch 2",
    "written req_2",
    "fetch 3",
    "written req_3",
  ]);
});

t.test("the query has the given flags, and every page is fetched in order", async (t) => {
  const daemon = await startFakeDaemon(t, { usagePage: pagesOf(2500, numbered) });
  const { exitCode, out } = await run([
    "usage",
    "export",
    "--format",
    "ndjson",
    "--path",
    "/team",
    "--from",
    "2026-02-01",
    "--socket",
    daemon.socket,
  ]);
  t.equal(exitCode, 0);
  t.same(
    out.split("\n").map((line) => (JSON.parse(line) as { request_id: string }).request_id),
    Array.from({ length: 2500 }, (_, index) => `req_${index}`),
  );
  t.same(
    daemon.calls.map(({ body }) => body),
    [null, "1000", "2000"].map((after) => ({
      user_path: "/team",
      start_date: "2026-02-01",
      limit: 1000,
      after,
    })),
  );
  await run(["usage", "export", "--format", "csv", "--days", "7", "--socket", daemon.socket], {
    nowMs: Date.parse("2026-03-01T00:00:00Z"),
  });
  t.match(daemon.calls.at(-1)?.body, {
    user_path: "/",
    start_date: "2026-02-23",
    end_date: "2026-03-01",
  });
});

t.test("an export of one of several hosts says that it is, beside the records", async (t) => {
  const pages = pagesOf(1, numbered);
  const daemon = await startFakeDaemon(t, {
    usagePage: (query) => ({ ...pages(query), scope: "this_host" }),
  });
  const { exitCode, out, err } = await run([
    ...["usage", "export", "--format", "ndjson", "--socket", daemon.socket],
  ]);
  t.equal(exitCode, 0);
  t.equal(out.split("\n").length, 1);
  t.match(err, /^note: these are the records of this host alone/);
});

t.test("an error about a file that can't be created has its own name", async (t) => {
  const daemon = await startFakeDaemon(t, { usagePage: pagesOf(1, numbered) });
  t.same(
    await run([
      "usage",
      "export",
      "--format",
      "csv",
      "--output",
      "/nope/x.csv",
      "--socket",
      daemon.socket,
    ]),
    {
      exitCode: 1,
      out: "",
      err: "error: can't write to /nope/x.csv: no such file or directory",
    },
  );
});

t.test("an export of nothing is empty, and CSV has its header", async (t) => {
  const daemon = await startFakeDaemon(t, { usagePage: pagesOf(0, numbered) });
  t.same(await run(["usage", "export", "--format", "ndjson", "--socket", daemon.socket]), {
    exitCode: 0,
    out: "",
    err: "",
  });
  t.same(await run(["usage", "export", "--format", "csv", "--socket", daemon.socket]), {
    exitCode: 0,
    out: `${csvHeader.trimEnd()}\r`,
    err: "",
  });
});

t.test("wrong flags are reported together, and nothing is sent or written", async (t) => {
  const daemon = await startFakeDaemon(t);
  const file = join(daemon.directory, "usage.csv");
  const wrong = await run([
    "usage",
    "export",
    "--format",
    "xml",
    "--by",
    "day",
    "--from",
    "2026-02-02",
    "--to",
    "2026-02-01",
    "--output",
    file,
    "--socket",
    daemon.socket,
  ]);
  t.same(
    { ...wrong, err: wrong.err.split("\n") },
    {
      exitCode: 2,
      out: "",
      err: [
        "error: --from must not be after --to: 2026-02-02 is after 2026-02-01",
        'error: --format must be ndjson or csv, not "xml"',
        "error: --by is for sluice usage: an export has every record",
      ],
    },
  );
  t.match(await run(["usage", "export", "--socket", daemon.socket]), {
    exitCode: 2,
    err: /--format/,
  });
  t.same([daemon.calls, readdirSync(daemon.directory)], [[], ["limiterd.sock"]]);
});

t.test("a file gets its name when it is complete, through a link too", async (t) => {
  const daemon = await startFakeDaemon(t, { usagePage: pagesOf(1500, numbered) });
  const file = join(daemon.directory, "usage.csv");
  const link = join(daemon.directory, "latest.csv");
  writeFileSync(file, "what was there before");
  symlinkSync(file, link);
  t.same(
    await run(["usage", "export", "--format", "csv", "--output", link, "--socket", daemon.socket]),
    { exitCode: 0, out: `exported: 1,500 records to ${link}`, err: "" },
  );
  t.equal(
    readFileSync(file, "utf8"),
    csvHeader + Array.from({ length: 1500 }, (_, index) => csvLine(numbered(index))).join(""),
  );
  t.same(readdirSync(daemon.directory).sort(), ["latest.csv", "limiterd.sock", "usage.csv"]);
});

t.test("an interrupted export keeps the old file, and leaves no partial one", async (t) => {
  const cut = pagesOf(5000, numbered);
  const daemon = await startFakeDaemon(t, {
    usagePage: (query) => (query["after"] === "3000" ? { records: "nonsense" } : cut(query)),
  });
  const file = join(daemon.directory, "usage.csv");
  writeFileSync(file, "what was there before");
  t.match(
    await run(["usage", "export", "--format", "csv", "--output", file, "--socket", daemon.socket]),
    { exitCode: 1, out: "", err: /usage records can't be read/ },
  );
  t.equal(readFileSync(file, "utf8"), "what was there before");
  t.same(readdirSync(daemon.directory).sort(), ["limiterd.sock", "usage.csv"]);
});

t.test("a daemon that gives the same page for ever is found out", async (t) => {
  const daemon = await startFakeDaemon(t, {
    usagePage: () => ({ records: [], next: "7", progress: 0 }),
  });
  t.match(await run(["usage", "export", "--format", "csv", "--socket", daemon.socket]), {
    exitCode: 1,
    err: /can't be read/,
  });
  t.equal(daemon.calls.length, 2);
});

t.test("an error about a failed write names the file", async (t) => {
  const daemon = await startFakeDaemon(t, { usagePage: pagesOf(1, numbered) });
  const directory = join(daemon.directory, "directory");
  mkdirSync(directory);
  const to = (output: string): ReturnType<typeof run> =>
    run(["usage", "export", "--format", "csv", "--output", output, "--socket", daemon.socket]);
  t.match(await to(directory), {
    exitCode: 2,
    err: `error: --output must be a regular file, and ${directory} isn't one: redirect standard output there`,
  });
  t.match(await to("/dev/null"), { exitCode: 2, err: /\/dev\/null isn't one/ });
  t.ok(statSync("/dev/null").isCharacterDevice());
  const missing = join(daemon.directory, "missing", "usage.csv");
  t.match(await to(missing), {
    exitCode: 1,
    err: new RegExp(`^error: can't write to ${missing}: no such file`),
  });
});

t.test(
  "a closed pipe ends an export without a message, with the code of a broken pipe",
  async (t) => {
    const daemon = await startFakeDaemon(t, { usagePage: pagesOf(50_000, numbered) });
    const program = startProgram(t, script, [
      "usage",
      "export",
      "--format",
      "ndjson",
      "--socket",
      daemon.socket,
    ]);
    await program.line(/req_0/);
    program.child.stdout!.destroy();
    t.match(await program.ended, { code: 141 });
    t.same(program.err, []);
    t.ok(daemon.calls.length < 50, "and the rest isn't fetched");
  },
);

t.test("Ctrl-C removes the half file and ends the program as Ctrl-C does", async (t) => {
  const pages = pagesOf(5000, numbered);
  let onAsked = (): void => {};
  const asked = new Promise<void>((resolve) => (onAsked = resolve));
  const daemon = await startFakeDaemon(t, {
    usagePage: (query) => {
      if (query["after"] !== "1000") return pages(query);
      onAsked();
      return null;
    },
  });
  const program = startProgram(t, script, [
    "usage",
    "export",
    "--format",
    "ndjson",
    "--output",
    join(daemon.directory, "usage.ndjson"),
    "--socket",
    daemon.socket,
  ]);
  await asked;
  t.match(
    readdirSync(daemon.directory),
    exactly(["limiterd.sock", /^\.usage\.ndjson\.[0-9a-f]{8}\.partial$/].sort()),
  );
  program.child.kill("SIGINT");
  t.match(await program.ended, { code: null, signal: "SIGINT" });
  t.same(readdirSync(daemon.directory), ["limiterd.sock"]);
});

t.test(
  "a full disk is reported, behind standard output too",
  { skip: existsSync("/dev/full") ? false : "there is no /dev/full" },
  async (t) => {
    const daemon = await startFakeDaemon(t, { usagePage: pagesOf(1, numbered) });
    const program = spawn(
      process.execPath,
      [script, "usage", "export", "--format", "csv", "--socket", daemon.socket],
      { stdio: ["ignore", openSync("/dev/full", "w"), "pipe"] },
    );
    let err = "";
    program.stderr!.on("data", (text: Buffer) => (err += text.toString()));
    const [code] = (await once(program, "close")) as [number];
    t.match(
      { code, err },
      { code: 1, err: /^error: can't write to standard output: no space left on device\n$/ },
    );
  },
);

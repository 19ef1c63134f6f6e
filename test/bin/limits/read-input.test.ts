import { execFileSync, spawn } from "node:child_process";
import { closeSync, existsSync, openSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { readInput } from "../../../bin/limits/read-input.js";

t.test("a file is read to its end, in UTF-8", async (t) => {
  const cwd = t.testdir({ limits: "a\u00e9".repeat(100_000), dir: {}, empty: "" });
  t.equal((await readInput("limits", cwd)).text, "a\u00e9".repeat(100_000));
  t.same(await readInput("empty", cwd), { name: "empty", text: "" });
  writeFileSync(join(cwd, "binary"), Buffer.from([0xff, 0xfe]));
  const table: readonly (readonly [file: string, why: string])[] = [
    ["nothing", "no such file or directory"],
    ["dir", "it is a directory"],
    ["binary", "it isn't UTF-8 text"],
  ];
  for (const [file, why] of table)
    await t.rejects(readInput(file, cwd), { message: new RegExp(`${file} can't be read: ${why}`) });
});

t.test("what is larger than 16 MiB, or never ends, is refused once so much was read", async (t) => {
  const cwd = t.testdir({ large: "" });
  truncateSync(join(cwd, "large"), 16 * 1024 * 1024 + 1);
  const larger = /can't be read: it is larger than 16777216 bytes/;
  await t.rejects(readInput("large", cwd), { message: larger });
  await t.rejects(readInput("/dev/zero", cwd), { message: larger });
  execFileSync("mkfifo", [join(cwd, "pipe")]);
  const writer = spawn("sh", ["-c", 'exec cat /dev/zero > "$0"', join(cwd, "pipe")]);
  await t.rejects(readInput("pipe", cwd), { message: larger });
  await new Promise((resolve) => writer.once("exit", resolve));
});

const reader = new URL("../../../bin/limits/read-input.js", import.meta.url).href;
/** As the command line does: once asked what standard input is, Node has made it non-blocking. */
const read = `
  import { readInput } from ${JSON.stringify(reader)};
  const isTerminal = process.stdin.isTTY === true;
  process.stdout.write("asks\\n");
  await readInput("-", "/").then(
    ({ name, text }) => process.stdout.write(JSON.stringify([name, text.length, isTerminal])),
    ({ message }) => process.stdout.write(message),
  );
  process.exit();`;

t.test("standard input is read to its end, however late it comes", async (t) => {
  for (const [pieces, expected] of [
    [["rate_limits: {}\n", "budgets: {}\n"], '["standard input",28,false]'],
    [[], '["standard input",0,false]'],
    [
      [Buffer.alloc(16 * 1024 * 1024 + 1)],
      /standard input can't be read: it is larger than 16777216/,
    ],
    [[Buffer.from([0xff])], /standard input can't be read: it isn't UTF-8 text/],
  ] as const) {
    const child = spawn(process.execPath, ["--input-type=module", "-e", read]);
    child.stdin.on("error", () => {});
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (piece: string) => {
      said += piece;
      if (said !== "asks\n") return;
      for (const each of pieces) child.stdin.write(each);
      child.stdin.end();
    });
    await new Promise((resolve) => child.once("close", resolve));
    t.match(said.slice("asks\n".length), expected);
  }
});

t.test("standard input that is a directory is no empty file", async (t) => {
  const directory = openSync(t.testdir({}), "r");
  const child = spawn(process.execPath, ["--input-type=module", "-e", read], {
    stdio: [directory, "pipe", "inherit"],
  });
  closeSync(directory);
  let said = "";
  child.stdout!.setEncoding("utf8").on("data", (piece: string) => {
    said += piece;
  });
  await new Promise((resolve) => child.once("close", resolve));
  t.match(said, "standard input can't be read: it is a directory");
});

const terminal = { skip: existsSync("/usr/bin/script") ? false : "script isn't installed" };
t.test("what is typed at a terminal is read until Ctrl-D", terminal, async (t) => {
  const program = `'${process.execPath}' --input-type=module -e "$READ"`;
  const child = spawn("/usr/bin/script", ["-qec", program, "/dev/null"], {
    env: { ...process.env, READ: read },
  });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => {
    if (!said.includes("asks") && (said + piece).includes("asks"))
      child.stdin.write("budgets: {}\n\u0004");
    said += piece;
  });
  await new Promise((resolve) => child.once("close", resolve));
  t.match(said, '["standard input",12,true]');
});

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import t from "tap";
import { allNodes, treeOf, wordsOfFlag } from "../../../bin/completion/command-tree.js";
import { createProgram } from "../../../bin/program.js";
import { run, sessionForTests } from "../command-session.js";
import { startFakeDaemon } from "../fake-daemon.js";

const tree = treeOf(createProgram(sessionForTests().session));
const nodes = allNodes(tree);

t.test("the scripts know every command and flag", async (t) => {
  for (const shell of ["bash", "zsh", "fish"]) {
    const { out } = await run(["completion", shell]);
    for (const { name, flags } of nodes.slice(1)) {
      t.ok(out.includes(name.slice(name.lastIndexOf(" ") + 1)), `${shell} ${name}`);
      for (const { long } of flags)
        t.ok(out.includes(shell === "fish" ? `-l ${long.slice(2)} ` : long), `${shell} ${long}`);
    }
    t.notMatch(out, /undefined|\bcomplete bash/);
    // As a file: Node's standard input is a socket, which fish doesn't read.
    const script = join(t.testdir({ script: out }), "script");
    const checked = spawnSync(shell, ["-n", script], { encoding: "utf8" });
    if (checked.error === undefined) t.equal(checked.stderr, "", shell);
    else t.comment(`${shell} isn't installed: its script isn't parsed`);
  }
  t.match(await run(["completion", "tcsh"]), { exitCode: 2, err: /bash, zsh, fish, not "tcsh"/ });
});

t.test(
  "bash completes commands, flags and values, and runs nothing that a name holds",
  async (t) => {
    const { out } = await run(["completion", "bash"]);
    const complete = (words: readonly string[]): readonly string[] => {
      const script = `sluice() { printf '%s\\n' '/team' '/$(touch evil)' '/te am'; }
${out}
COMP_WORDS=(sluice "$@"); COMP_CWORD=$#; _sluice; printf '%s\\n' "\${COMPREPLY[@]}"`;
      const cwd = t.testdir({});
      const { stdout } = spawnSync("bash", ["-c", script, "bash", ...words], {
        cwd,
        encoding: "utf8",
      });
      t.equal(spawnSync("ls", { cwd, encoding: "utf8" }).stdout, "");
      return stdout.split("\n").filter((line) => line !== "");
    };
    t.same(complete(["lim"]), ["limits"]);
    t.same(complete(["limits", "de"]), ["delete"]);
    t.same(complete(["limits", "list", "--ch"]), ["--children"]);
    t.same(complete(["explain", "--path", "/te"]), ["/team", "/te\\ am"]);
    t.same(complete(["limits", "delete", "/$"]), ["/\\$\\(touch\\ evil\\)"]);
    t.same(complete(["keys", "--socket", "x", "ro"]), ["rotate"]);
    t.same(complete(["completion", "f"]), ["fish"]);
    t.same(complete(["usage", "--by", "p"]), ["provider", "path"]);
    t.same(complete(["limits", "set", "/team", "--period", ""]), [
      ...["minute", "hour", "day", "concurrent"],
    ]);
    t.same(complete(["budgets", "set", "/team", "--scope", "l"]), ["label"]);
    t.same(complete(["up", "--log-level", "in"]), ["info"], "a setting's words");
    t.same(complete(["up", "--log-level", "t"]), ["trace"]);
    t.same(complete(["keys", "issue", "--monthly", ""]), [], "nobody knows how much");
    t.ok(complete(["usage", "--month", ""]).includes("--by"), "it may stand alone");
  },
);

t.test("zsh takes the script where its completion isn't set up yet", async (t) => {
  const { out } = await run(["completion", "zsh"]);
  const script = `compinit() { compdef() { print "$@"; } }
${out.replace("autoload -Uz compinit && ", "")}`;
  const { error, stdout, stderr } = spawnSync("zsh", ["-f"], { input: script, encoding: "utf8" });
  if (error !== undefined) return t.comment("zsh isn't installed: its script isn't run");
  t.same({ stdout, stderr }, { stdout: "_sluice sluice\n", stderr: "" });
});

t.test("the words that are offered for a flag are those that its help names", async (t) => {
  const offered = nodes.flatMap((node) =>
    node.flags.flatMap((flag) =>
      (wordsOfFlag(node, flag.long) ?? []).map((word) => ({ name: node.name, flag, word })),
    ),
  );
  t.ok(offered.length > 30);
  for (const { name, flag, word } of offered)
    if (flag.description.includes(",")) t.match(flag.description, word, `${name} ${flag.long}`);
});

t.test("fish offers files where a command or a flag takes one, and nowhere else", async (t) => {
  const { out } = await run(["completion", "fish"]);
  for (const line of [
    `complete -c sluice -n '__sluice_at "backup"' -F`,
    `complete -c sluice -n '__sluice_at "limits apply"' -F`,
    `complete -c sluice -n '__sluice_at ""' -l config -r -F`,
    `complete -c sluice -n '__sluice_at "keys issue"' -l monthly -x`,
    `complete -c sluice -n '__sluice_at "completion"' -a fish`,
    `complete -c sluice -n '__sluice_at "budgets set"' -l scope -x -a 'user_path label provider model'`,
  ])
    t.ok(out.includes(`\n${line}`), line);
});

t.test("values come from the gateway, and nothing is said when it is away or slow", async (t) => {
  const forever = new Promise<void>(() => {});
  const { socket } = await startFakeDaemon(t);
  await run(["limits", "set", "/team", "--rpm", "1", "--rph", "2", "--socket", socket]);
  const asked = await run(["complete", "subjects", "--socket", socket], { pause: () => forever });
  t.same(asked, { exitCode: 0, out: "/team", err: "" });
  const nothing = { exitCode: 0, out: "", err: "" };
  t.same(await run(["complete", "keys", "--socket", "/none"], { pause: () => forever }), nothing);
  const silent = await startFakeDaemon(t, { onAdmin: "silence" });
  t.same(await run(["complete", "subjects", "--socket", silent.socket]), nothing);
});

t.test("the manual has every command, flag and exit code", async (t) => {
  const { out } = await run(["man"]);
  t.match(out, /^\.TH SLUICE 1 /);
  for (const { name, flags, children } of nodes.slice(1)) {
    if (children.length > 0 && flags.length === 0) continue;
    t.ok(out.includes(`.SS sluice ${name.replaceAll("-", "\\-")}`), name);
    for (const { usage } of flags) t.ok(out.includes(usage.replaceAll("-", "\\-")), usage);
  }
  const lint = spawnSync("man", ["--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", "-"], {
    input: `${out}\n`,
    encoding: "utf8",
  });
  if (lint.error === undefined) t.equal(lint.stderr, "");
  else t.comment("man isn't installed: the page isn't formatted");
  t.match(out, /\.B 78\nthe configuration is wrong/);
});

t.test("the help of every command begins with examples, which are right", async (t) => {
  for (const { name, flags } of nodes) {
    const { out } = await run([...name.split(" ").filter((word) => word !== ""), "--help"]);
    if (/^(?:backup|restore|verify-store|reload)/.test(name)) continue;
    t.match(out, /^Examples:\n {2}\S/, name);
    const shown = out.slice(0, out.indexOf("\nUsage:"));
    const known = [
      ...flags,
      ...tree.flags,
      ...nodes.flatMap((node) =>
        node.name.startsWith(`${name} `) || name === "" ? node.flags : [],
      ),
    ];
    for (const long of shown.match(/--[a-z][a-z-]*/g) ?? [])
      t.ok(
        known.some((flag) => flag.long === long),
        `${name} ${long}`,
      );
  }
  t.match(await run(["exit-codes"]), { exitCode: 0, out: /^Exit codes:\n {2}0 +done/ });
});

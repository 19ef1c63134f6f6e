import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { conffile, home, packDebian } from "../debian-package.js";
import { firstAnswer } from "../first-answer.js";
import { keep, run } from "../run.js";
import { packageJson } from "../stage-tree.js";
import { verified, verifyShortly } from "../verify-files.js";

const folder = mkdtempSync(join(tmpdir(), "sluice-debian-"));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));

const file = await packDebian(folder);
keep(file);

const root = join(folder, "root");
run("dpkg-deb", ["--extract", file, root]);
const control = join(folder, "control");
run("dpkg-deb", ["--control", file, control]);

t.test("dpkg reads what it needs to know", (t) => {
  const field = (name: string): string => run("dpkg-deb", ["--field", file, name]).trim();
  t.equal(field("Package"), "sluice");
  t.ok(field("Version").startsWith(`${packageJson.version}-`));
  t.match(field("Depends"), /systemd \(>= 250\)/);
  t.ok(Number(field("Installed-Size")) > 50_000);
  t.equal(readFileSync(join(control, "conffiles"), "utf8"), `${conffile}\n`);
  for (const script of ["postinst", "prerm", "postrm"]) run("sh", ["-n", join(control, script)]);
  t.end();
});

t.test("all files belong to root, no other user may write, and only root may read secrets", (t) => {
  const lines = run("dpkg-deb", ["--contents", file]).trim().split("\n");
  t.same(
    lines.filter(
      (line) => !/^[-dl]\S+ root\/root /.test(line) || /^[-d].{4}w|^[-d].{7}w/.test(line),
    ),
    [],
  );
  const modeOf = (path: string): string | undefined =>
    lines.find((line) => line.endsWith(` .${path}`))?.slice(0, 10);
  t.equal(modeOf("/etc/sluice/"), "drwxr-x---");
  t.equal(modeOf("/etc/sluice/secrets/"), "drwx------");
  t.equal(modeOf(conffile), "-rw-r-----");
  t.equal(modeOf(`${home}/node/bin/node`), "-rwxr-xr-x");
  t.end();
});

t.test("units, user, manual and completions are where Debian looks for them", (t) => {
  const units = join(root, "usr/lib/systemd/system");
  const shipped = readdirSync("systemd").filter((name) =>
    /\.(?:service|socket|timer|target)$/.test(name),
  );
  t.same(readdirSync(units).sort(), shipped.sort());
  for (const name of shipped) {
    const text = readFileSync(join(units, name), "utf8");
    t.notMatch(text, /\/opt\/|\/usr\/bin\/node/, name);
    for (const [path] of text.matchAll(/\/usr\/lib\/sluice\/[\w./-]*\w/g))
      t.ok(run("ls", [join(root, path)]), path);
  }
  for (const path of [
    "usr/lib/sysusers.d/sluice.conf",
    "usr/lib/tmpfiles.d/sluice.conf",
    "usr/share/man/man1/sluice.1.gz",
    "usr/share/bash-completion/completions/sluice",
    "usr/share/doc/sluice/copyright",
  ])
    t.ok(readFileSync(join(root, path)).length > 100, path);
  t.end();
});

t.test("its programs run with its own Node", async (t) => {
  const program = join(root, "usr/bin/sluice");
  t.equal(run(program, ["--version"]).trim(), packageJson.version);
  const got = await firstAnswer({ program, cwd: folder });
  t.match(got, { status: 200, body: /simulator/, dashboardStatus: 200, exitCode: 0 });
});

t.test("its verify shows on this machine that limits hold", async (t) => {
  t.match(verifyShortly(join(root, "usr/bin/sluice")), verified);
});

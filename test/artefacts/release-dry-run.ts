/**
 * The workflow of a release, run as on the day: its commands in their order, with the variables
 * that GitHub would set, and nothing published. Steps that CI has run before are skipped:
 * dependencies, tests, artefacts. Actions aren't run; each is pinned to a commit.
 */
import { spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { parse } from "yaml";
import { buildBase, whyNotHere } from "./container-image.js";
import { releaseProblems } from "./release.js";
import { repository, run } from "./run.js";
import { packageJson } from "./stage-tree.js";

interface Job {
  readonly env?: Readonly<Record<string, string>>;
  readonly permissions: Readonly<Record<string, string>>;
  readonly steps: readonly {
    readonly name?: string;
    readonly uses?: string;
    readonly run?: string;
  }[];
}

const workflow = parse(readFileSync(join(repository, ".github/workflows/release.yml"), "utf8")) as {
  readonly permissions: object;
  readonly jobs: Readonly<Record<"build" | "publish", Job>>;
};
const { build, publish } = workflow.jobs;
const { version } = packageJson;
const tag = `v${version}`;

t.test("every action is pinned, and only the job that publishes may write", (t) => {
  const uses = [...build.steps, ...publish.steps].flatMap((step) => step.uses ?? []);
  t.same(
    uses.filter((name) => !/^actions\/[a-z-]+@[0-9a-f]{40}$/.test(name)),
    [],
  );
  t.same(workflow.permissions, {});
  t.same(build.permissions, { contents: "read" });
  t.end();
});

t.test("a version that package, chart, changelog and tag don't share isn't released", (t) => {
  t.match(releaseProblems("v9.9.9")[0], /the tag is v9\.9\.9, and package\.json has/);
  t.same(
    releaseProblems(tag).filter((problem) => !/unreleased|no repository/.test(problem)),
    [],
  );
  t.end();
});

const doneBefore: ReadonlySet<string> = new Set(["tools", "dependencies", "tests", "artefacts"]);
const fromGithub: Readonly<Record<string, string>> = {
  "github.token": "no-token",
  "github.repository": "owner/sluice",
  "github.ref_name": tag,
  "secrets.NPM_TOKEN": "no-token",
};

function variables({ env = {} }: Job): Record<string, string> {
  const given = Object.entries(env).map(([name, value]): [string, string] => [
    name,
    value.replace(/\$\{\{ (\S+) \}\}/g, (_, expression: string) => {
      const known = fromGithub[expression];
      if (known === undefined) throw new Error(`no value for ${expression}`);
      return known;
    }),
  ]);
  return Object.fromEntries(given);
}

const artefacts = process.env["SLUICE_ARTEFACTS"] ?? "";
const reason =
  whyNotHere() ?? (artefacts === "" ? "SLUICE_ARTEFACTS names no folder of artefacts" : null);

t.test(
  "its commands run to the end and would publish each file",
  { skip: reason ?? false },
  (t) => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-release-"));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    const out = join(folder, "out");
    mkdirSync(out);
    for (const name of readdirSync(artefacts)) cpSync(join(artefacts, name), join(out, name));
    // Images of its own.
    const storage = join(folder, "storage.conf");
    const roots = ["graphroot", "runroot"].map((name) => `${name} = "${join(folder, name)}"`);
    writeFileSync(storage, ["[storage]", 'driver = "vfs"', ...roots, ""].join("\n"));
    const env = {
      ...process.env,
      BUILDAH_ISOLATION: "chroot",
      CONTAINERS_STORAGE_CONF: storage,
      BASE: "localhost/base",
      DRY_RUN: "1",
      OUT: out,
    };
    buildBase(folder, (...args) => run("buildah", args, { env }));
    let said = "";
    for (const job of [build, publish])
      for (const { name = "", run: command } of job.steps) {
        if (command === undefined || doneBefore.has(name)) continue;
        const { status, stdout, stderr } = spawnSync("bash", ["-euo", "pipefail", "-c", command], {
          cwd: repository,
          env: { ...env, ...variables(job) },
          encoding: "utf8",
        });
        t.equal(status, 0, `${name}\n${stdout}${stderr}`);
        said += stdout;
      }
    const published = said.split("\n").filter((line) => line.startsWith("+ "));
    for (const part of [
      `npm publish --provenance --access public --tag latest ${out}/sluice-${version}.tgz`,
      `buildah manifest add sluice:${version} oci-archive:${out}/sluice-image-`,
      `docker://ghcr.io/owner/sluice:${version}`,
      `helm push ${out}/sluice-chart-${version}.tgz oci://ghcr.io/owner/charts`,
      `gh release create ${tag} --repo owner/sluice`,
    ])
      t.ok(
        published.some((line) => line.includes(part)),
        part,
      );
    const release = published.at(-1) ?? "";
    for (const name of readdirSync(out))
      if (!/NOTES|image/.test(name)) t.ok(release.includes(`${out}/${name}`), name);
    t.match(readFileSync(join(out, "NOTES.md"), "utf8"), /exact/i);
    // What a team has to pull: the layers are compressed in the registry.
    for (const name of readdirSync(out).filter((file) => file.startsWith("sluice-image-"))) {
      const bytes = readFileSync(join(out, name)).length;
      t.comment(`${name}: ${(bytes / 1e6).toFixed(0)} MB`);
      t.ok(bytes < 120e6, `${bytes}`);
    }
    t.end();
  },
);

/**
 * `npm run heavy -- release FOLDER [TAG]`: completes the folder of a release, in which the
 * artefacts are, with the chart, the checksums and the notes. Fails, and says why, unless package,
 * chart, changelog and tag name one version. docs/releasing.md says when it runs.
 */
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { ownerOf } from "./repository-owner.js";
import { repository, run } from "./run.js";
import { packageJson } from "./stage-tree.js";

const { version } = packageJson;

const read = (file: string): string => readFileSync(join(repository, file), "utf8");

/** The changelog's section of this version: its heading, and the text below. */
function changes(): { readonly heading: string; readonly text: string } | null {
  const [, ...sections] = read("CHANGELOG.md").split(/^## /m);
  const section = sections.find((text) => text.startsWith(version));
  if (section === undefined) return null;
  const [heading = "", ...lines] = section.split("\n");
  return { heading, text: lines.join("\n").trim() };
}

/** Why this version can't be released as `tag`; empty if it can. */
export function releaseProblems(tag: string): string[] {
  const chart = parse(read("deploy/helm/sluice/Chart.yaml")) as {
    readonly version: string;
    readonly appVersion: string;
  };
  const heading = changes()?.heading;
  const problems = [
    tag !== `v${version}` && `the tag is ${tag}, and package.json has the version ${version}`,
    chart.version !== version && `the chart has the version ${chart.version}, not ${version}`,
    chart.appVersion !== version && `the chart's appVersion is ${chart.appVersion}, not ${version}`,
    ownerOf(packageJson) === null && "package.json has no repository on GitHub",
    heading === undefined && `CHANGELOG.md has no section ${version}`,
    heading?.includes("unreleased") && `CHANGELOG.md calls ${version} unreleased: give it a date`,
  ];
  return problems.filter((problem) => typeof problem === "string");
}

/**
 * The chart as helm packages it, with `image` as its default image: the repository in the tree
 * names an image that a team builds itself.
 */
function packChart(into: string, image: string): void {
  const work = mkdtempSync(join(tmpdir(), "sluice-chart-"));
  run("cp", ["-r", join(repository, "deploy/helm/sluice"), work]);
  const values = join(work, "sluice/values.yaml");
  const text = readFileSync(values, "utf8");
  const named = text.replace(/^( +repository: ).*$/m, `$1${image}`);
  if (named === text) throw new Error("the chart's values name no image");
  writeFileSync(values, named);
  const owner = ["--owner=0", "--group=0", "--numeric-owner", "--sort=name"];
  const file = join(into, `sluice-chart-${version}.tgz`);
  run("tar", [...owner, "-czf", file, "-C", work, "sluice"]);
  rmSync(work, { recursive: true });
}

function writeChecksums(folder: string): void {
  const names = readdirSync(folder).filter((name) => /\.(?:tgz|xz|deb|tar|json)$/.test(name));
  const lines = names.sort().map((name) => {
    const digest = createHash("sha256").update(readFileSync(join(folder, name)));
    return `${digest.digest("hex")}  ${name}\n`;
  });
  writeFileSync(join(folder, "SHA256SUMS"), lines.join(""));
}

/** Completes the folder. `image`: where this version's image will be, without a tag. */
export function completeRelease(folder: string, image: string): void {
  packChart(folder, image);
  writeChecksums(folder);
  const links = [
    `npm install sluice@${version}`,
    `docker run ${image}:${version}`,
    `helm install sluice oci://${image.slice(0, image.lastIndexOf("/"))}/charts/sluice --version ${version}`,
  ];
  const install = ["```sh", ...links, "```"].join("\n");
  writeFileSync(join(folder, "NOTES.md"), `${changes()?.text ?? ""}\n\n${install}\n`);
}

if (process.argv[1] === import.meta.filename) {
  const [folder, tag = `v${version}`] = process.argv.slice(2);
  if (folder === undefined) throw new Error("usage: npm run heavy -- release FOLDER [TAG]");
  const problems = releaseProblems(tag);
  for (const problem of problems) process.stderr.write(`release: ${problem}\n`);
  const isDryRun = (process.env["DRY_RUN"] ?? "") !== "";
  if (problems.length > 0 && !isDryRun) process.exitCode = 1;
  else completeRelease(folder, `ghcr.io/${process.env["REPOSITORY"] ?? "nobody/sluice"}`);
}

/**
 * The Debian package: the tree of `stage-tree.ts` in `/usr/lib/sluice`, and beside it what a Debian
 * looks for elsewhere: units, user, configuration, completions, manual.
 */
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { repository, run } from "./run.js";
import { packageJson, stageTree } from "./stage-tree.js";

export const home = "/usr/lib/sluice";
export const conffile = "/etc/sluice/sluice.yaml";

/** Debian's. */
export const debianVersion = `${packageJson.version}-1`;
const architecture = process.arch === "x64" ? "amd64" : process.arch;

/** Where the scripts are that dpkg runs. */
const scripts = join(repository, "systemd/debian");
const completions = [
  ["bash", "usr/share/bash-completion/completions/sluice"],
  ["zsh", "usr/share/zsh/vendor-completions/_sluice"],
  ["fish", "usr/share/fish/vendor_completions.d/sluice.fish"],
] as const;

/** The package's file, in the folder `into`, where its tree is made too. */
export async function packDebian(into: string): Promise<string> {
  const tree = join(into, "tree");
  await stageTree(tree);
  const root = join(into, "debian");
  const lib = join(root, home);
  mkdirSync(join(root, "usr/lib"), { recursive: true });
  renameSync(tree, lib);
  placeUnits(lib, root);
  placeConfiguration(lib, root);
  placePrograms(lib, root);
  placeDocuments(lib, root);
  rmSync(join(lib, "systemd/debian"), { recursive: true, force: true });
  withModes(root);
  // Root's alone until `postinst` gives it to the group.
  chmodSync(join(root, "etc/sluice"), 0o750);
  chmodSync(join(root, "etc/sluice/secrets"), 0o700);
  chmodSync(join(root, conffile), 0o640);
  writeControl(root);
  const file = join(into, `sluice_${debianVersion}_${architecture}.deb`);
  // Quick: most of it is Node, which a slow preset makes little smaller.
  run("dpkg-deb", ["--build", "--root-owner-group", "-Zxz", "-z1", root, file]);
  rmSync(root, { recursive: true });
  return file;
}

/** The same package with another version, to upgrade to, and whatever `change` does to its tree. */
export function repackDebian(
  file: string,
  into: string,
  version: string,
  change: (root: string) => void = () => {},
): string {
  const root = join(into, "repacked");
  run("dpkg-deb", ["--raw-extract", file, root]);
  change(root);
  const control = join(root, "DEBIAN/control");
  const text = readFileSync(control, "utf8");
  writeFileSync(control, text.replace(/^Version: .*$/m, `Version: ${version}`));
  const repacked = join(into, `sluice_${version}_${architecture}.deb`);
  run("dpkg-deb", ["--build", "--root-owner-group", "-Znone", root, repacked]);
  rmSync(root, { recursive: true });
  return repacked;
}

function place(root: string, at: string, text: string | Uint8Array): void {
  const file = join(root, at);
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(file, text);
}

/** The units as they are shipped elsewhere, with the paths of this package. */
export function debianUnit(text: string): string {
  return text
    .replaceAll(/\/usr\/bin\/node((?: --\S+)*) \/opt\/sluice/g, `${home}/node/bin/node$1 ${home}`)
    .replaceAll("/opt/sluice", home);
}

function placeUnits(lib: string, root: string): void {
  for (const name of readdirSync(join(lib, "systemd"), { recursive: true, encoding: "utf8" })) {
    const file = join(lib, "systemd", name);
    if (!statSync(file).isFile() || name.startsWith("debian/")) continue;
    const text = readFileSync(file, "utf8");
    if (/\.(?:service|socket|timer|target)$|\.service\.d\//.test(name)) {
      const unit = debianUnit(text);
      writeFileSync(file, unit);
      // Drop-ins are for administrators to take.
      if (!name.includes("/")) place(root, `usr/lib/systemd/system/${name}`, unit);
    }
    if (name === "sluice.sysusers.conf") place(root, "usr/lib/sysusers.d/sluice.conf", text);
    if (name === "sluice.tmpfiles.conf") place(root, "usr/lib/tmpfiles.d/sluice.conf", text);
  }
}

function placeConfiguration(lib: string, root: string): void {
  place(root, conffile, readFileSync(join(lib, "systemd/sluice.yaml"), "utf8"));
  mkdirSync(join(root, "etc/sluice/secrets"));
}

function placePrograms(lib: string, root: string): void {
  mkdirSync(join(root, "usr/bin"), { recursive: true });
  for (const name of Object.keys(packageJson.bin))
    symlinkSync(`../lib/sluice/bin/${name}`, join(root, "usr/bin", name));
  const sluice = join(lib, "bin/sluice");
  for (const [shell, at] of completions) place(root, at, run(sluice, ["completion", shell]));
  place(root, "usr/share/man/man1/sluice.1.gz", zipped(run(sluice, ["man"])));
}

function placeDocuments(lib: string, root: string): void {
  const changelog = `sluice (${debianVersion}) stable; urgency=medium

  * See ${home}/docs and the project's CHANGELOG.

 -- ${maintainer}  ${new Date(Number(process.env["SOURCE_DATE_EPOCH"] ?? 0) * 1000).toUTCString().replace("GMT", "+0000")}
`;
  place(root, "usr/share/doc/sluice/changelog.Debian.gz", zipped(changelog));
  const licence = readFileSync(join(lib, "LICENSE"), "utf8");
  place(
    root,
    "usr/share/doc/sluice/copyright",
    `${licence}\nThe licences of the packages that come with it, in the folder node_modules of ${home}, are in\n${home}/docs/third-party-licenses.txt, and those of Node in ${home}/node/LICENSE.\n`,
  );
}

/** Without a time: the same input gives the same package. */
function zipped(text: string): Uint8Array {
  return gzipSync(text, { level: 9 });
}

/** Whatever the umask was: everybody reads, root alone writes. */
function withModes(root: string): void {
  run("chmod", ["-R", "u=rwX,go=rX", root]);
}

const maintainer = "The Sluice authors <sluice@localhost>";

function writeControl(root: string): void {
  const sizeKiB = Number(/^\d+/.exec(run("du", ["-sk", "--apparent-size", root]))![0]);
  place(
    root,
    "DEBIAN/control",
    `${[
      "Package: sluice",
      `Version: ${debianVersion}`,
      `Architecture: ${architecture}`,
      `Maintainer: ${maintainer}`,
      `Installed-Size: ${sizeKiB}`,
      // Node's own build asks for these; the units for that systemd.
      "Depends: libc6 (>= 2.28), libstdc++6, init-system-helpers (>= 1.54), systemd (>= 250)",
      "Section: net",
      "Priority: optional",
      "Description: LLM gateway with exact limits",
      ` ${packageJson.description}`,
      " .",
      " It brings the Node that it runs on.",
    ].join("\n")}\n`,
  );
  place(root, "DEBIAN/conffiles", `${conffile}\n`);
  for (const name of ["postinst", "prerm", "postrm"]) {
    place(root, `DEBIAN/${name}`, readFileSync(join(scripts, name), "utf8"));
    chmodSync(join(root, "DEBIAN", name), 0o755);
  }
}

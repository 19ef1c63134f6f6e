/** Node's own build, from its npm package: the one that artefacts bring, and the newest tested. */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { run } from "./run.js";

/** Of the release line that is supported longest. */
const version = "24.21.0";

/** The SHA-512 of its package, by processor. */
const digests: Readonly<Record<string, string>> = {
  x64: "3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==",
  arm64: "FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==",
};

/** Makes `bin/node` and `LICENSE` in this directory. */
export function unpackNode(at: string): void {
  const spec = `node-linux-${process.arch}@${version}`;
  mkdirSync(join(at, "bin"), { recursive: true });
  const packed = run("npm", ["pack", "--silent", spec, "--pack-destination", at]).trim();
  const file = join(at, basename(packed));
  const sha512 = createHash("sha512").update(readFileSync(file)).digest("base64");
  if (sha512 !== digests[process.arch])
    throw new Error(`${spec} isn't what it was: sha512-${sha512}`);
  const wanted = ["package/bin/node", "package/LICENSE"];
  run("tar", ["-xzf", file, "-C", at, "--strip-components=1", ...wanted]);
  rmSync(file);
}

/**
 * A host with a network of its own, for tests: a namespace of Linux with two wires to the test's,
 * one for its callers and one to the engine, which can be cut. Root and `ip` are needed.
 */
import { spawnSync } from "node:child_process";
import type { Test } from "tap";

export interface NetworkNamespace {
  readonly name: string;
  /** The host's, for its callers. */
  readonly address: string;
  /** The test's, on the wire to the engine. */
  readonly engineAddress: string;
  /** Nothing passes between the host and the engine any more, and nobody is told. */
  cut(): void;
  join(): void;
}

/** Why there can be none here; false: there can. */
export function noNamespaces(): string | false {
  const name = `sluice-${process.pid}-probe`;
  const made = spawnSync("ip", ["netns", "add", name]);
  if (made.error !== undefined) return "needs ip (Debian: iproute2)";
  if (made.status !== 0) return "needs root, who may make network namespaces";
  const wire = spawnSync("ip", ["-n", name, "link", "add", "probe", "type", "veth"]);
  spawnSync("ip", ["netns", "del", name]);
  return wire.status === 0 ? false : "needs a kernel with veth, for wires between networks";
}

const uses = ["callers", "engine"] as const;

/** `number`: from 0, another one for each host of the test. It ends with the test. */
export function makeNamespace(t: Pick<Test, "teardown">, number: number): NetworkNamespace {
  const name = `sluice-${process.pid}-${number}`;
  // Of the range for tests between networks; another one for each process.
  const block = ((process.pid % 64) * 4 + number * 2) % 256;
  ip("netns", "add", name);
  t.teardown(() => {
    // With the namespace they would go a moment later, and the next test has the same names.
    for (const use of uses) spawnSync("ip", ["link", "del", deviceOf(use, number)]);
    spawnSync("ip", ["netns", "del", name]);
  });
  ip("-n", name, "link", "set", "lo", "up");
  const wire = (
    use: (typeof uses)[number],
    network: number,
  ): readonly [ours: string, theirs: string] => {
    const [ours, theirs] = [`198.18.${network}.1`, `198.18.${network}.2`];
    const device = deviceOf(use, number);
    ip("link", "add", device, "type", "veth", "peer", "name", use, "netns", name);
    ip("addr", "add", `${ours}/24`, "dev", device);
    ip("link", "set", device, "up");
    ip("-n", name, "addr", "add", `${theirs}/24`, "dev", use);
    ip("-n", name, "link", "set", use, "up");
    return [ours, theirs];
  };
  const [, address] = wire("callers", block);
  const [engineAddress] = wire("engine", block + 1);
  // The host's own device stays up: what it sends is dropped, as behind a switch that has died.
  const device = deviceOf("engine", number);
  return {
    name,
    address,
    engineAddress,
    cut: () => ip("link", "set", device, "down"),
    join: () => ip("link", "set", device, "up"),
  };
}

/** Of the test's end of a wire: a name of at most 15 characters. */
function deviceOf(use: string, number: number): string {
  return `s${process.pid}${use[0]}${number}`;
}

function ip(...words: readonly string[]): void {
  const { status, stderr } = spawnSync("ip", words, { encoding: "utf8" });
  if (status !== 0) throw new Error(`ip ${words.join(" ")}: ${stderr}`);
}

/**
 * What the head of a report says of the machine and the versions, and the numbers that a command
 * line takes.
 */
import { createRequire } from "node:module";
import os from "node:os";
import { InvalidArgumentError } from "commander";
import { cpuSource } from "../measure/process-stat.js";
import type { GatewaySetUp } from "../overshoot/gateways/gateway.js";
import { findProgram, programVersion } from "../peers/installed-peers.js";
import type { Head } from "./report.js";

/** `gateways`: those that take part where they are installed, by name. */
export function describeRun(
  { rounds, seconds }: { readonly rounds: number; readonly seconds: number },
  gateways: Readonly<Record<string, Pick<GatewaySetUp, "find" | "version">>>,
): Head {
  const cpus = os.cpus();
  const require = createRequire(import.meta.url);
  const ofPackage = (name: string): string =>
    (require(`${name}/package.json`) as { version: string }).version;
  const versions: Record<string, string> = {
    undici: ofPackage("undici"),
    "http-proxy": ofPackage("http-proxy"),
  };
  for (const [name, program, flag] of [
    ["nginx", "nginx", "-v"],
    ["Redis", "redis-server", "--version"],
  ] as const) {
    const file = findProgram(program);
    if (file !== null) versions[name] = programVersion(file, flag);
  }
  for (const [name, gateway] of Object.entries(gateways)) {
    const file = gateway.find();
    if (file !== null) versions[name] = gateway.version(file);
  }
  return {
    date: new Date().toISOString(),
    node: process.versions.node,
    cpu: cpus[0]?.model.trim() ?? "unknown CPU",
    cores: cpus.length,
    kernel: os.release(),
    loadBefore: os.loadavg()[0] ?? 0,
    cpuSource: `/proc (${cpuSource()})`,
    rounds,
    seconds,
    versions,
  };
}

/** For commander. */
export function atLeastOne(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new InvalidArgumentError("It must be a whole number from 1 up.");
  return value;
}

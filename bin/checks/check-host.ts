/** The doctor's findings on the host: files, disk, limits. Pure. */
import type { Config } from "../../shared/config/config.js";
import { openBeyondLoopback } from "../../shared/config/open-gateway.js";
import { append } from "../../shared/long-lists.js";
import { type Finding, failedFinding, ok, warning } from "./finding.js";
import type { HostFacts, PlaceFacts } from "./host-facts.js";
import type { InstalledUnits } from "./installed-units.js";

const othersMask = 0o007;
const gibibyte = 1024 ** 3;
const diskFreeMin = gibibyte;
const diskShareMin = 0.05;
/** Node's default backlog is 511 connections, unless the system allows fewer. */
const backlogMin = 511;
/** Files in addition to connections: the store, logs, sockets. */
const filesBesides = 200;

export function checkHost(config: Pick<Config, "server">, facts: HostFacts): readonly Finding[] {
  const { nodeVersion, filesMax, backlogMax, configFile, dataDir, secretFiles } = facts;
  const { disk, trialWrite } = facts;
  const { server } = config;
  const findings = [ok("node", nodeVersion), ...checkOpen(config)];
  if (configFile !== null) findings.push(checkReadable("configuration file", configFile));
  if (dataDir !== null) findings.push(checkReadable("data directory", dataDir));
  for (const file of secretFiles) findings.push(checkReadable("secret", file));
  if (disk !== null) {
    const { freeBytes, totalBytes, fileSystem } = disk;
    const free = `${(freeBytes / gibibyte).toFixed(1)} GiB free`;
    const isScarce = freeBytes < diskFreeMin || freeBytes < totalBytes * diskShareMin;
    findings.push(
      isScarce
        ? warning("disk", `${free}: without room the daemon can't keep what it counts`)
        : ok("disk", free),
    );
    if (fileSystem !== null)
      findings.push(
        failedFinding(
          "file system",
          `the store is on ${fileSystem}, where its locks don't hold: use a local disk`,
        ),
      );
  }
  if (trialWrite !== null)
    findings.push(
      trialWrite === ""
        ? ok("trial write", "the data directory takes files")
        : failedFinding(
            "trial write",
            `the data directory takes no file: ${trialWrite}: make room, or see why the disk is read-only`,
          ),
    );
  append(findings, checkUnits(facts.units));
  if (filesMax !== null) {
    // A request has a connection to its client and one to its provider.
    const needed = 2 * server.connectionsMax + filesBesides;
    findings.push(
      filesMax < needed
        ? warning(
            "open files",
            `${filesMax} may be open, and ${needed} can be needed: ulimit -n, or LimitNOFILE=`,
          )
        : ok("open files", String(filesMax)),
    );
  }
  if (backlogMax !== null)
    findings.push(
      backlogMax < backlogMin
        ? warning(
            "backlog",
            `net.core.somaxconn is ${backlogMax}: bursts of connections are refused; ${backlogMin} or more`,
          )
        : ok("backlog", String(backlogMax)),
    );
  return findings;
}

function checkUnits({ units, dropIns }: InstalledUnits): readonly Finding[] {
  if (units.length === 0) return [];
  const edited = units.filter(({ isShipped }) => !isShipped);
  const changed = dropIns.length === 0 ? "" : `, changed by ${dropIns.join(", ")}`;
  return edited.length === 0
    ? [ok("units", `${units.length} as shipped${changed}`)]
    : edited.map(({ path }) =>
        warning(
          "units",
          `${path} isn't this release's: keep changes in a drop-in (systemctl edit), install the unit of systemd/ again, systemctl daemon-reload`,
        ),
      );
}

function checkOpen(config: Pick<Config, "server">): readonly Finding[] {
  const { masterKey, masterKeyFile } = config.server;
  if (masterKey !== null) return [ok("master key", "set")];
  if (masterKeyFile !== null) return [ok("master key", `in ${masterKeyFile}`)];
  const refused = openBeyondLoopback(config as Config);
  return [
    refused === null
      ? warning(
          "master key",
          "not set here: unless the gateway has one in its own environment, or a managed key closes it, anyone who reaches the address may do everything",
        )
      : warning("master key", refused),
  ];
}

function checkReadable(check: string, { path, mode }: PlaceFacts): Finding {
  const octal = mode.toString(8).padStart(4, "0");
  return (mode & othersMask) === 0
    ? ok(check, `${path} (${octal})`)
    : warning(check, `every user of this host can look into ${path} (${octal}): chmod o= ${path}`);
}

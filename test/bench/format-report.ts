/** A report as text for a terminal: the tables, the ratios, the reach. Pure. */
import type { Ratio, Report, Row } from "./report.js";

const labels: Readonly<Record<string, string>> = {
  "sluice": "Sluice proxy, 2 rules",
  "sluice-unlimited": "Sluice proxy, no rules",
  "undici": "undici forwarder",
  "http-proxy": "http-proxy forwarder",
  "nginx": "nginx, 1 worker",
  "daemon": "Sluice, limits alone",
  "daemon+usage": "Sluice, usage recorded",
  "redis": "Redis, Lua",
};

export function formatReport(report: Report): string {
  const sections = [
    formatHead(report),
    report.complaints.length > 0 ? ["!!! THIS RUN ISN'T SOUND", ...report.complaints.map((line) => `!!! ${line}`)] : [],
    report.proxy.length > 0 ? ["HTTP, one chat completion per request", ...formatTable(httpHead, report.proxy.map(httpCells))] : [],
    report.daemon.length > 0 ? ["Admission + settle, 5 of 10,000 rules match", ...formatTable(admissionHead, report.daemon.map(admissionCells))] : [],
    Object.entries(report.skipped).map(([name, reason]) => `not measured: ${labels[name] ?? name} (${reason})`),
    formatStart(report),
    report.ratios.length > 0 ? ["Ratios, median over the rounds [lowest – highest]", ...formatTable(null, report.ratios.map(ratioCells))] : [],
    ["Reach", ...formatTable(null, report.reach.map(({ claim, isMet }) => [claim, isMet === null ? "not measured" : isMet ? "met" : "NOT MET"]))],
  ];
  return sections.filter((lines) => lines.length > 0).map((lines) => lines.join("\n")).join("\n\n");
}

function formatHead({ head }: Report): string[] {
  const versions = Object.entries(head.versions).map(([name, version]) => `${name} ${version}`);
  return [
    `Sluice benchmark, ${head.date}`,
    `Node ${head.node} on ${head.cores} × ${head.cpu}, Linux ${head.kernel}, load ${head.loadBefore.toFixed(2)} before the run; ${versions.join(", ")}`,
    `${head.rounds} rounds of ${head.seconds} s per line after one of warm-up, medians; ${head.connections} connections; CPU is user + system of the process, from ${head.cpuSource}`,
  ];
}

const httpHead = ["", "req/s", "p50 ms", "p99 ms", "CPU µs/req", "daemon µs/req", "generator", "errors"];

function httpCells(row: Row): string[] {
  return [labels[row.name] ?? row.name, whole(row.perSecond), milli(row.p50Us), milli(row.p99Us), micro(row.cpuUs), row.besideCpuUs > 0 ? micro(row.besideCpuUs) : "", percent(row.generatorShare), String(row.errors)];
}

const admissionHead = ["", "in flight", "adm/s", "p50 ms", "p99 ms", "CPU µs/adm", "generator", "errors"];

function admissionCells(row: Row): string[] {
  const [name = "", inFlight = ""] = row.name.split(" ");
  return [labels[name] ?? name, inFlight, whole(row.perSecond), milli(row.p50Us), milli(row.p99Us), micro(row.cpuUs), percent(row.generatorShare), String(row.errors)];
}

function ratioCells({ name, median, lowest, highest, unit }: Ratio): string[] {
  const show = (value: number): string => value.toFixed(unit === "µs" ? 1 : 2);
  return [name, `${show(median)} ${unit}`, `[${show(lowest)} – ${show(highest)}]`];
}

function formatStart({ start }: Report): string[] {
  if (start === null) return [];
  return [
    "Start and rest",
    ...formatTable(null, [
      ["daemon and proxy ready, both started at once", `${whole(start.readyMs)} ms`, `slowest ${whole(start.slowestReadyMs)} ms`],
      ["idle memory (RSS)", `${whole(start.idleMb)} MB`, `proxy ${whole(start.proxyIdleMb)}, daemon ${whole(start.daemonIdleMb)}`],
    ]),
  ];
}

/** Columns in line: the first to the left, the others to the right. */
function formatTable(head: readonly string[] | null, cells: readonly (readonly string[])[]): string[] {
  const lines = head === null ? cells : [head, ...cells];
  const widths = lines.reduce<number[]>((known, line) => line.map((cell, column) => Math.max(cell.length, known[column] ?? 0)), []);
  return lines.map((line) => `  ${line.map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!))).join("  ")}`.trimEnd());
}

function whole(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

function milli(us: number): string {
  return (us / 1000).toFixed(us < 10_000 ? 2 : 1);
}

function micro(us: number): string {
  return us.toFixed(1);
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

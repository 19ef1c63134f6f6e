/** A report as text for a terminal: the tables, the ratios, the reach. Pure. */
import type { ReachLine, Report, Row } from "./report.js";
import { formatTable, micro, milli, percent, ratioCells, whole } from "./table.js";

const labels: Readonly<Record<string, string>> = {
  sluice: "Sluice proxy, 2 rules",
  "sluice-unlimited": "Sluice proxy, no rules",
  undici: "undici forwarder",
  "http-proxy": "http-proxy forwarder",
  nginx: "nginx, 1 worker",
  daemon: "Sluice, limits alone",
  "daemon+usage": "Sluice, usage recorded",
  redis: "Redis, Lua",
};

export function formatReport(report: Report): string {
  const sections = [
    formatHead(report),
    report.complaints.length > 0
      ? ["!!! THIS RUN ISN'T SOUND", ...report.complaints.map((line) => `!!! ${line}`)]
      : [],
    report.proxy.length > 0
      ? [
          "HTTP, one chat completion per request",
          ...formatTable(httpHead, report.proxy.map(httpCells)),
        ]
      : [],
    report.daemon.length > 0
      ? [
          "Admission + settle, 5 of 10,000 rules match",
          ...formatTable(admissionHead, report.daemon.map(admissionCells)),
        ]
      : [],
    Object.entries(report.skipped).map(
      ([name, reason]) => `not measured: ${labels[name] ?? name} (${reason})`,
    ),
    formatRest(report),
    report.ratios.length > 0
      ? [
          "Ratios, median over the rounds [lowest – highest]",
          ...formatTable(null, report.ratios.map(ratioCells)),
        ]
      : [],
    ["Reach", ...formatTable(["", "measured", "at most", ""], report.reach.map(reachCells))],
  ];
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join("\n"))
    .join("\n\n");
}

/** What ran where, and how often. */
export function formatHead({ head }: Pick<Report, "head">): string[] {
  const versions = Object.entries(head.versions).map(([name, version]) => `${name} ${version}`);
  return [
    `Sluice benchmark, ${head.date}`,
    `Node ${head.node} on ${head.cores} × ${head.cpu}, Linux ${head.kernel}, load ${head.loadBefore.toFixed(2)} before the run; ${versions.join(", ")}`,
    `${head.rounds} rounds of ${head.seconds} s per line after one of warm-up, medians; ${head.connections} connections; CPU is user + system of the process, from ${head.cpuSource}`,
  ];
}

const httpHead = [
  "",
  "req/s",
  "p50 ms",
  "p99 ms",
  "CPU µs/req",
  "daemon µs/req",
  "generator",
  "errors",
];

function httpCells(row: Row): string[] {
  return [
    labels[row.name] ?? row.name,
    whole(row.perSecond),
    milli(row.p50Us),
    milli(row.p99Us),
    micro(row.cpuUs),
    row.besideCpuUs > 0 ? micro(row.besideCpuUs) : "",
    percent(row.generatorShare),
    String(row.errors),
  ];
}

const admissionHead = [
  "",
  "in flight",
  "adm/s",
  "p50 ms",
  "p99 ms",
  "CPU µs/adm",
  "generator",
  "errors",
];

function admissionCells(row: Row): string[] {
  const [name = "", inFlight = ""] = row.name.split(" ");
  return [
    labels[name] ?? name,
    inFlight,
    whole(row.perSecond),
    milli(row.p50Us),
    milli(row.p99Us),
    micro(row.cpuUs),
    percent(row.generatorShare),
    String(row.errors),
  ];
}

const restHead = ["", "first answer", "slowest", "RSS", "PSS", "PSS after the load"];

function formatRest({ rest, statusMs }: Report): string[] {
  if (rest.length === 0) return [];
  return [
    "Start and memory of all processes; PSS counts a shared page once",
    ...formatTable(
      restHead,
      rest.map((row) => [
        restLabels[row.name] ?? labels[row.name] ?? row.name,
        `${whole(row.firstAnswerMs)} ms`,
        `${whole(row.slowestAnswerMs)} ms`,
        `${whole(row.residentMb)} MB`,
        `${whole(row.ownMb)} MB`,
        `${whole(row.ownAfterLoadMb)} MB`,
      ]),
    ),
    ...(statusMs === null ? [] : [`  sluice status takes ${whole(statusMs)} ms`]),
  ];
}

const restLabels: Readonly<Record<string, string>> = {
  up: "sluice up",
  pair: "Sluice proxy and daemon",
};

function reachCells({ name, measured, atMost, unit }: ReachLine): string[] {
  const show = (value: number): string => (unit === "×" ? value.toFixed(2) : whole(value));
  return [
    name,
    measured === null ? "not measured" : `${show(measured)} ${unit}`,
    `${show(atMost)} ${unit}`,
    measured === null ? "" : measured <= atMost ? "met" : "NOT MET",
  ];
}

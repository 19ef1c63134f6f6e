/** Which faults strike a soak, and when. Pure. */

export type Fault =
  /** kill −9 of the process of this name. */
  | { readonly kind: "kill"; readonly process: string }
  /** SIGTERM, after which the supervisor starts it again. */
  | { readonly kind: "stop"; readonly process: string }
  /** Nothing more fits on the store's file system for so many seconds. */
  | { readonly kind: "full disk"; readonly seconds: number }
  /** SIGSTOP, and SIGCONT after so many seconds. */
  | { readonly kind: "pause"; readonly process: string; readonly seconds: number }
  | {
      readonly kind: "weather";
      readonly weather: "fails" | "limits" | "breaks" | "hangs";
      readonly seconds: number;
    }
  | { readonly kind: "reload" | "backup" | "idle connections" | "broken requests" };

export interface PlannedFault {
  readonly atS: number;
  readonly fault: Fault;
}

/** In this part of a soak whose memory is watched live long: daemon and all proxies but one. */
export const watchedFrom = 0.45;
export const watchedTo = 0.9;

/** Two faults don't meet: each is over before the next one. */
const apartS = { min: 6, max: 75 };

/** One after the other, each kind again and again, first and last the ones that end processes. */
export function planFaults(seconds: number, proxies: number): readonly PlannedFault[] {
  const proxy = (i: number): string => (proxies === 1 ? "proxy" : `proxy-${1 + (i % proxies)}`);
  const deadly: readonly Fault[] = [
    { kind: "kill", process: "limiterd" },
    { kind: "kill", process: proxy(1) },
    { kind: "reload" },
    { kind: "stop", process: "limiterd" },
    { kind: "kill", process: proxy(2) },
  ];
  const weather = (kind: "fails" | "limits" | "breaks" | "hangs"): Fault => ({
    kind: "weather",
    weather: kind,
    seconds: 5,
  });
  const others: readonly Fault[] = [
    { kind: "pause", process: "limiterd", seconds: 3 },
    weather("breaks"),
    { kind: "kill", process: proxy(0) },
    weather("limits"),
    { kind: "idle connections" },
    { kind: "full disk", seconds: 5 },
    { kind: "pause", process: proxy(1), seconds: 3 },
    { kind: "stop", process: proxy(0) },
    weather("fails"),
    { kind: "backup" },
    { kind: "broken requests" },
    weather("hangs"),
    { kind: "pause", process: proxy(2), seconds: 3 },
  ];
  const apart = Math.min(apartS.max, Math.max(apartS.min, seconds / 40));
  const plan: PlannedFault[] = [];
  let [deaths, rest] = [0, 0];
  for (let atS = apart; atS <= seconds - apart; atS += apart) {
    const isWatched = atS > seconds * (watchedFrom - 0.05) && atS < seconds * watchedTo;
    const isDeadly = !isWatched && (plan.length % 2 === 0 || atS >= seconds * watchedTo);
    const fault = isDeadly ? deadly[deaths++ % deadly.length]! : others[rest++ % others.length]!;
    plan.push({ atS, fault });
  }
  return plan;
}

export function faultText(fault: Fault): string {
  switch (fault.kind) {
    case "kill":
      return `kill −9 of ${fault.process}`;
    case "stop":
      return `SIGTERM to ${fault.process}`;
    case "full disk":
      return `the disk is full for ${fault.seconds} s`;
    case "pause":
      return `${fault.process} stands still for ${fault.seconds} s`;
    case "weather":
      return `every second call of the provider ${fault.weather} for ${fault.seconds} s`;
    default:
      return fault.kind;
  }
}
